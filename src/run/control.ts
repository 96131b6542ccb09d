import { setMaxListeners } from 'node:events';
import { followSignal, type StopSignals } from '../process/signals.ts';
import { afterRequest, asksToStop, type ControlCommand, requestId, type Requested } from '../ralph/control.ts';
import type { Emit } from '../ralph/events.ts';
import { isWorking, type RunView } from '../ralph/view.ts';
import { type ReceivedRequest, watchControl } from '../store/control.ts';
import type { Project } from '../store/project.ts';
import type { Batch } from './services.ts';

/** What other processes and signals ask of a run. */
export interface RunControl extends StopSignals {
  /** Whether the run is asked to pause before its next iteration. */
  isPauseRequested(): boolean;
  /** Called before an iteration counts as finished: what was sent until now may come from its agent. */
  takeRequests(): void;
  /** Resolves after `ms`, or as soon as something is requested. */
  wait(ms: number): Promise<void>;
  /** Called when the run has started. Until then nothing is emitted, since the run is not recorded yet. */
  started(): void;
}

interface ControlledRun {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
  readonly emit: Emit;
  readonly view: () => RunView;
  readonly batch: Batch | undefined;
}

/** Adds the requests of other processes to the signals that stop a run. The run must hold the lock of its change. */
export const withControl = (signals: StopSignals, run: ControlledRun): RunControl => {
  const { emit, view, batch } = run;
  const [stop, kill] = [new AbortController(), new AbortController()];
  const disposed = new AbortController();
  const waits = createWaits();
  // Every process of the run adds a listener.
  setMaxListeners(0, stop.signal, kill.signal);
  followSignal(signals.stop, stop, disposed.signal);
  followSignal(signals.kill, kill, disposed.signal);
  stop.signal.addEventListener('abort', waits.endAll, { signal: disposed.signal });

  let requested: Requested = batch?.requested() ?? null;
  let hasStarted = false;
  const announce = (command: ControlCommand, id: string): void => {
    // An agent may have written anything.
    const known = requestId.test(id) ? { id } : {};
    if (hasStarted) emit({ type: 'requested', command, ...known, at: new Date().toISOString() });
  };
  /** An agent can send any number of requests: one that changes nothing is not announced. */
  const handle = ({ command, isPersonal, wholeBatch, id }: ReceivedRequest): void => {
    const mayResume = isPersonal || !isWorking(view());
    if (wholeBatch) batch?.request({ command, mayResume });
    const before = requested;
    requested = afterRequest(before, { command, mayResume });
    if (command === 'stop' && stop.signal.aborted) return kill.abort();
    if (requested === before) return;
    announce(command, id);
    if (requested === 'stop') stop.abort();
    waits.endAll();
  };
  const watch = watchControl(run, {
    onRequest: handle,
    onProblem: (problem) => emit({ type: 'notice', text: `Requests cannot be read: ${problem}` }),
  });
  return {
    stop: stop.signal,
    kill: kill.signal,
    received: () => signals.received() ?? (asksToStop(requested) ? 'request' : null),
    isPauseRequested: () => {
      watch.look();
      return requested === 'pause';
    },
    takeRequests: watch.look,
    wait: async (ms) => {
      if (!stop.signal.aborted) await waits.add(ms);
    },
    started: () => {
      hasStarted = true;
      if (requested !== null) announce(requested, '');
    },
    dispose: () => {
      watch.dispose();
      disposed.abort();
      signals.dispose();
    },
  };
};

interface Waiting {
  /** Resolves after this time, or earlier. */
  readonly wait: (ms: number) => Promise<void>;
  readonly mayWait: () => boolean;
}

/** Waits for a time of day, in short steps, because the clock may be set and the machine may sleep. */
export const waitUntil = async (ms: number, { wait, mayWait }: Waiting): Promise<void> => {
  while (Date.now() < ms && mayWait()) await wait(Math.min(ms - Date.now(), 1000));
};

/** Waits that can all be ended early. */
const createWaits = () => {
  const open = new Set<() => void>();
  return {
    add: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          open.delete(end);
          resolve();
        };
        const timer = setTimeout(end, Math.max(1, ms));
        open.add(end);
      }),
    endAll: (): void => open.forEach((end) => end()),
  };
};

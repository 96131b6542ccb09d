import { setMaxListeners } from 'node:events';
import type { StopSignals } from '../process/signals.ts';
import type { Emit } from '../ralph/events.ts';
import { type ControlCommand, watchControl } from '../store/control.ts';
import type { Project } from '../store/project.ts';

interface ControlledRun {
  readonly project: Project;
  readonly change: string;
  readonly emit: Emit;
}

/** Adds stop requests of other processes to the signals that stop a run. The run must hold the lock of its change. */
export const withControl = (signals: StopSignals, { project, change, emit }: ControlledRun): StopSignals => {
  const [stop, kill] = [new AbortController(), new AbortController()];
  const disposed = new AbortController();
  // Every process of the run adds a listener.
  setMaxListeners(0, stop.signal, kill.signal);
  const follow = (signal: AbortSignal, controller: AbortController): void => {
    if (signal.aborted) controller.abort();
    else signal.addEventListener('abort', () => controller.abort(), { signal: disposed.signal });
  };
  follow(signals.stop, stop);
  follow(signals.kill, kill);
  let isRequested = false;
  const said = new Set<string>();
  /** An agent can send any number of requests, so each text is shown once. */
  const notice = (text: string): void => {
    if (said.has(text)) return;
    said.add(text);
    emit({ type: 'notice', text });
  };
  const handle = (command: ControlCommand): void => {
    switch (command) {
      case 'stop':
        isRequested = true;
        if (stop.signal.aborted) return kill.abort();
        notice('Stop requested: stopping the agent. A second request kills it.');
        return stop.abort();
      case 'stop-after-iteration':
        isRequested = true;
        return notice('Stop requested: the run stops after this iteration.');
      case 'pause':
      case 'resume':
        return notice(`Ignored a request to ${command}: this version of Spool cannot pause a run.`);
    }
  };
  const watch = watchControl(project, change, {
    onRequest: handle,
    onProblem: (problem) => notice(`This run takes no requests: ${problem}`),
  });
  return {
    stop: stop.signal,
    kill: kill.signal,
    received: () => signals.received() ?? (isRequested ? 'request' : null),
    dispose: () => {
      watch.dispose();
      disposed.abort();
      signals.dispose();
    },
  };
};

import { setMaxListeners } from 'node:events';
import { userError } from '../errors.ts';
import { limitGit } from '../git/deadline.ts';
import type { Limits } from '../ralph/events.ts';
import { exitCodeOf, type StopSignals } from '../process/signals.ts';

/** When a run has to end, for git, which must not outlast it. */
export interface RunDeadline {
  /** Aborted when it has to end. */
  readonly stop: AbortSignal;
  /** The limits hold from now on. */
  within(limits: Pick<Limits, 'maxDurationMs' | 'untilMs'>, elapsedMs: number): void;
  /** A signal ends it as well. */
  endWith(stopSignals: StopSignals): void;
  /** From now on there is work to record: git may finish what it does within this time. */
  giveGrace(ms: number): void;
  /** Rethrows; but what failed because the run had to end, before it began, is told as that. */
  readonly rethrow: (error: unknown) => never;
  dispose(): void;
}

/** Node's timers do not go further. */
const longestTimerMs = 2 ** 31 - 1;
const exitCodeOfLimit = 3;

export const createRunDeadline = (): RunDeadline => {
  const stop = new AbortController();
  const kill = new AbortController();
  setMaxListeners(0, stop.signal, kill.signal);
  let graceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let received: StopSignals['received'] = () => null;
  const disposed = new AbortController();
  /** Runs that were started together have their signals in common: one may have come already. */
  const follow = (signal: AbortSignal, controller: AbortController): void => {
    if (signal.aborted) controller.abort();
    else signal.addEventListener('abort', () => controller.abort(), { signal: disposed.signal });
  };
  const release = limitGit({ stop: stop.signal, kill: kill.signal, graceMs: () => graceMs });
  return {
    stop: stop.signal,
    within: ({ maxDurationMs, untilMs }, elapsedMs) => {
      const leftMs = Math.min(maxDurationMs - elapsedMs, untilMs - Date.now());
      clearTimeout(timer);
      if (leftMs < longestTimerMs) timer = setTimeout(() => stop.abort(), Math.max(leftMs, 0)).unref();
    },
    endWith: (stopSignals) => {
      received = stopSignals.received;
      follow(stopSignals.stop, stop);
      follow(stopSignals.kill, kill);
    },
    giveGrace: (ms) => {
      graceMs = ms;
    },
    rethrow: (error) => {
      if (!stop.signal.aborted) throw error;
      const signal = received();
      throw userError('interrupted', signal ? exitCodeOf(signal) : exitCodeOfLimit, 'nothing was started');
    },
    dispose: () => {
      clearTimeout(timer);
      disposed.abort();
      release();
    },
  };
};

import { setMaxListeners } from 'node:events';
import { exitCodes, userError } from '../errors.ts';
import { limitGit } from '../git/call/deadline.ts';
import { timeLeft } from '../ralph/limits.ts';
import type { Limits } from '../ralph/plan.ts';
import { exitCodeOf, followSignal, type StopSignals } from '../process/signals.ts';
import { maxTimerMs } from '../process/timers.ts';

/** The time at which a run has to end. git commands are limited by it. */
export interface RunDeadline {
  /** Aborted when the run has to end. */
  readonly stop: AbortSignal;
  /** Replaces the limits. `elapsedMs` is the running time, without that in which the process is suspended. */
  setLimits(limits: Pick<Limits, 'maxDurationMs' | 'untilMs'>, elapsedMs: () => number): void;
  /** Ends the run on a signal as well. */
  followSignals(stopSignals: StopSignals): void;
  /** Gives git this much time to finish after the deadline, because there is work to record. */
  giveGrace(ms: number): void;
  /** Rethrows the error; throws `interrupted` instead if the run had to end before it began. */
  readonly rethrow: (error: unknown) => never;
  dispose(): void;
}

interface Limited {
  readonly plan: { readonly limits: Pick<Limits, 'maxDurationMs' | 'untilMs'> };
  readonly elapsedMs: () => number;
}

/** Returns how many milliseconds the limits of a run leave now. */
export const timeLeftNow = ({ plan, elapsedMs }: Limited): number =>
  timeLeft(plan.limits, { elapsedMs: elapsedMs(), nowMs: Date.now() });

export const createRunDeadline = (): RunDeadline => {
  const stop = new AbortController();
  const kill = new AbortController();
  setMaxListeners(0, stop.signal, kill.signal);
  let graceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let received: StopSignals['received'] = () => null;
  const disposed = new AbortController();
  const release = limitGit({ stop: stop.signal, kill: kill.signal, graceMs: () => graceMs });
  return {
    stop: stop.signal,
    setLimits: (limits, elapsedMs) => {
      const leftMs = () => timeLeftNow({ plan: { limits }, elapsedMs });
      // A timer does not stop while the process is suspended, so it may be early.
      const check = () => (leftMs() <= 0 ? stop.abort() : wait());
      const wait = () => {
        timer = setTimeout(check, Math.min(Math.max(Math.ceil(leftMs()), 0), maxTimerMs)).unref();
      };
      clearTimeout(timer);
      if (leftMs() < Infinity) wait();
    },
    followSignals: (stopSignals) => {
      received = stopSignals.received;
      // The runs of a batch share their signals, so one may be aborted already.
      followSignal(stopSignals.stop, stop, disposed.signal);
      followSignal(stopSignals.kill, kill, disposed.signal);
    },
    giveGrace: (ms) => {
      graceMs = ms;
    },
    rethrow: (error) => {
      if (!stop.signal.aborted) throw error;
      const signal = received();
      throw userError('interrupted', signal ? exitCodeOf(signal) : exitCodes.limit, 'nothing was started');
    },
    dispose: () => {
      clearTimeout(timer);
      disposed.abort();
      release();
    },
  };
};

import type { AbortReason } from '../ralph/agent-events.ts';
import type { Deadlines } from '../ralph/limits.ts';
import { countTime } from './timers.ts';

export interface Watchdog {
  /** Called when the agent prints something. */
  alive(): void;
  /** Stops the idle time while `work` runs: the agent's output is blocked by it. */
  busy<Result>(work: Promise<Result>): Promise<Result>;
  dispose(): void;
}

/**
 * Calls `abort` when an agent reaches a deadline. Time in which the machine sleeps, or this process is suspended, does not
 * count. Only --until follows the wall clock.
 */
export const createWatchdog = (deadlines: Deadlines, abort: (reason: AbortReason) => void): Watchdog => {
  const { iterationMs, idleMs, leftMs, untilMs } = deadlines;
  let totalMs = 0;
  let idleForMs = 0;
  let blockedCount = 0;

  const stop = countTime(Math.min(iterationMs, idleMs, leftMs), (passedMs) => {
    totalMs += passedMs;
    idleForMs = blockedCount > 0 ? 0 : idleForMs + passedMs;
    const why = reason();
    if (why === null) return;
    stop();
    abort(why);
  });

  const reason = (): AbortReason | null => {
    if (totalMs >= leftMs) return { end: 'out-of-budget', why: '--max-duration reached' };
    if (Date.now() >= untilMs) return { end: 'out-of-budget', why: '--until reached' };
    if (totalMs >= iterationMs) return { end: 'timed-out', why: 'timed out (--iteration-timeout)' };
    if (idleForMs >= idleMs) return { end: 'timed-out', why: 'no output for --idle-timeout' };
    return null;
  };

  return {
    alive: () => {
      idleForMs = 0;
    },
    busy: async (work) => {
      blockedCount++;
      try {
        return await work;
      } finally {
        blockedCount--;
      }
    },
    dispose: stop,
  };
};

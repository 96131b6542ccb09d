import type { AbortReason } from '../ralph/agent-events.ts';
import type { Deadlines } from '../ralph/limits.ts';

/** The longest interval between two checks. */
const tickMs = 1000;

export interface Watchdog {
  /** Called when the agent prints something. */
  alive(): void;
  /** Stops the idle time while `work` runs: the agent's output is blocked by it. */
  busy<Result>(work: Promise<Result>): Promise<Result>;
  dispose(): void;
}

/**
 * Calls `abort` when an agent reaches a deadline. Time is counted tick by tick. If the machine sleeps, or this process is
 * suspended, a tick comes late and the missing time does not count. Only --until follows the wall clock.
 */
export const createWatchdog = (deadlines: Deadlines, abort: (reason: AbortReason) => void): Watchdog => {
  const { iterationMs, idleMs, leftMs, untilMs } = deadlines;
  const intervalMs = Math.max(10, Math.min(tickMs, iterationMs / 4, idleMs / 4, leftMs / 4));
  let last = performance.now();
  let totalMs = 0;
  let idleForMs = 0;
  let blockedCount = 0;

  const timer = setInterval(() => {
    const now = performance.now();
    const passedMs = Math.min(now - last, 3 * intervalMs);
    last = now;
    totalMs += passedMs;
    idleForMs = blockedCount > 0 ? 0 : idleForMs + passedMs;
    const why = reason();
    if (why === null) return;
    clearInterval(timer);
    abort(why);
  }, intervalMs);
  timer.unref();

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
    dispose: () => clearInterval(timer),
  };
};

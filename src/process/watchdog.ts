import type { AbortReason } from '../ralph/events.ts';
import type { Deadlines } from '../ralph/limits.ts';

/** How often the time is looked at; less often than the shortest deadline. */
const beatMs = 1000;

export interface Watchdog {
  /** Something came from the agent. */
  alive(): void;
  /** Nothing can come from it now: its output waits for somebody else. */
  busy<Result>(work: Promise<Result>): Promise<Result>;
  dispose(): void;
}

/**
 * Watches an agent's time. It counts the time that it sees go by, beat by beat: when the machine sleeps, or this
 * process is stopped, a beat comes late, and what is missing does not count. Only --until goes by the clock.
 */
export const createWatchdog = (deadlines: Deadlines, halt: (halt: AbortReason) => void): Watchdog => {
  const { iterationMs, idleMs, leftMs, untilMs } = deadlines;
  const every = Math.max(10, Math.min(beatMs, iterationMs / 4, idleMs / 4, leftMs / 4));
  let last = performance.now();
  let total = 0;
  let idle = 0;
  let others = 0;

  const timer = setInterval(() => {
    const now = performance.now();
    const passed = Math.min(now - last, 3 * every);
    last = now;
    total += passed;
    idle = others > 0 ? 0 : idle + passed;
    const why = reason();
    if (why === null) return;
    clearInterval(timer);
    halt(why);
  }, every);
  timer.unref();

  const reason = (): AbortReason | null => {
    if (total >= leftMs) return { end: 'out-of-budget', why: '--max-duration reached' };
    if (Date.now() >= untilMs) return { end: 'out-of-budget', why: '--until reached' };
    if (total >= iterationMs) return { end: 'timed-out', why: 'it worked for longer than --iteration-timeout' };
    if (idle >= idleMs) return { end: 'timed-out', why: 'it printed nothing for as long as --idle-timeout' };
    return null;
  };

  return {
    alive: () => {
      idle = 0;
    },
    busy: async (work) => {
      others++;
      try {
        return await work;
      } finally {
        others--;
      }
    },
    dispose: () => clearInterval(timer),
  };
};

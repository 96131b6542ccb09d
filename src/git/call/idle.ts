import { groupActivity } from '../../process/activity.ts';

/** How long git may wait without doing anything. A slow disk does not count as waiting. */
const maxIdleMs = 20_000;
const lookMs = 2000;

/**
 * Calls `end` if git only waits: for the other end of a named pipe, a terminal, or a lock that is never released. Works
 * regardless of what git waits for, even if no search finds the file. Call the returned function when git has exited.
 */
export const watchIdle = (group: number, end: () => void): (() => void) => {
  let [last, since]: [string | null, number] = [null, performance.now()];
  const timer = setInterval(() => {
    const now = groupActivity(group, 'git');
    if (now === null || now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since >= maxIdleMs) end();
  }, lookMs);
  return () => clearInterval(timer);
};

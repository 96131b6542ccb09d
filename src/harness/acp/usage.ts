import type { Usage } from '../../ralph/agent-events.ts';

/** What was used since the last report; null if nothing was. */
export const usageSince = (before: Usage, now: Usage): Usage | null => {
  const keys = Object.keys(now) as (keyof Usage)[];
  const since = Object.fromEntries(
    keys.map((key) => [key, now[key] === null ? null : Math.max(0, now[key] - (before[key] ?? 0))]),
  ) as unknown as Usage;
  return keys.every((key) => now[key] === before[key]) ? null : since;
};

import type { Action } from '../api.ts';
import { Refused } from '../http/refusal.ts';

/** Decides which commands about a change run at the same time. */
export interface Concurrency {
  /** Refuses if an action on the change is running: two commands would only refuse each other. */
  alone<Result>(action: Action, work: () => Promise<Result>): Promise<Result>;
  /** Dry runs of a change run one after the other. They do not delay actions on it. */
  dryRun<Result>(action: Action, work: () => Promise<Result>): Promise<Result>;
}

export const createConcurrency = (): Concurrency => {
  const busy = new Set<string>();
  /** The last dry run of each change. */
  const dryRuns = new Map<string, Promise<unknown>>();
  return {
    alone: async ({ change }, work) => {
      if (busy.has(change))
        throw new Refused({ status: 409, code: 'busy', message: `Another action on ${change} is running.` });
      busy.add(change);
      try {
        return await work();
      } finally {
        busy.delete(change);
      }
    },
    dryRun: async ({ change }, work) => {
      const before = dryRuns.get(change) ?? Promise.resolve();
      const own = before.catch(() => {}).then(work);
      dryRuns.set(change, own);
      try {
        return await own;
      } finally {
        if (dryRuns.get(change) === own) dryRuns.delete(change);
      }
    },
  };
};

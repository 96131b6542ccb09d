import { sleep } from '../process/timers.ts';

/** Wakes a loop that waits. A call while it does not wait ends its next wait at once. */
export interface Wake {
  now(): void;
  /** Calls `now` later. Calls until then are one. */
  after(ms: number): void;
  /** Resolves when it is woken, after this time, or when `stop` is aborted. */
  within(ms: number): Promise<void>;
}

export const createWake = (stop: AbortSignal | null = null): Wake => {
  let waking = new AbortController();
  let pending: NodeJS.Timeout | null = null;
  const now = (): void => waking.abort();
  return {
    now,
    after: (ms) => {
      pending ??= setTimeout(() => {
        pending = null;
        now();
      }, ms).unref();
    },
    within: async (ms) => {
      const signal = stop === null ? waking.signal : AbortSignal.any([stop, waking.signal]);
      await sleep(ms, signal);
      waking = new AbortController();
    },
  };
};

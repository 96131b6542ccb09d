import { setTimeout as delay } from 'node:timers/promises';

export interface Repeated {
  /** Resolves when the last call has ended. */
  stop(): Promise<void>;
}

/** Calls `work` again and again until it is stopped. Errors are those of the database, which may come back. */
export const repeat = (everyMs: number, work: () => Promise<void>): Repeated => {
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      await work().catch(() => {});
      await delay(everyMs, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  })();
  return {
    stop: () => {
      stopped.abort();
      return loop;
    },
  };
};

/** Repeats what the database could not do. Returns null when stopped. */
export const retry = async <Result>(work: () => Promise<Result>, stop: AbortSignal | null): Promise<Result | null> => {
  for (;;) {
    try {
      return await work();
    } catch {
      if (stop?.aborted) return null;
      await delay(500, undefined, { ...(stop && { signal: stop }), ref: false }).catch(() => {});
    }
  }
};

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

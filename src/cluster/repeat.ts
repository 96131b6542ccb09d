import { setTimeout as delay } from 'node:timers/promises';
import { sleep } from '../process/timers.ts';

export interface Repeated {
  /** Resolves when the last call has ended. */
  stop(): Promise<void>;
}

export interface RepeatOptions {
  /** The time from the end of a call to the next one. */
  readonly everyMs: number;
  /** Counts `everyMs` from the start of a call instead. */
  readonly fromStart?: boolean;
  /** Errors are those of the database, which may come back. By default they are ignored. */
  readonly onError?: (error: unknown) => void;
}

/** The shortest pause between two calls. */
const minPauseMs = 50;

/** Calls `work` at once and then repeatedly until it is stopped, one call at a time. */
export const repeat = (work: () => Promise<void>, options: RepeatOptions): Repeated => {
  const { everyMs, fromStart = false, onError = () => {} } = options;
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const startedMs = performance.now();
      await work().catch(onError);
      const passedMs = fromStart ? performance.now() - startedMs : 0;
      const pauseMs = Math.max(minPauseMs, everyMs - passedMs);
      await sleep(pauseMs, stopped.signal, { ref: false });
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

import { sleep } from '../../process/timers.ts';

/** Work that is done only while it is wanted, and never twice at a time. */
export interface OnDemandLoop {
  start(): void;
  stop(): void;
}

/**
 * `work` is called while it is wanted, again when it has resolved. Its signal is aborted when it is wanted no longer. What
 * it rejects with is passed to `onError`, and it is called again after a while.
 */
export const createOnDemandLoop = (
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): OnDemandLoop => {
  let isWanted = false;
  let isRunning = false;
  let controller = new AbortController();
  const loop = async () => {
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      controller = new AbortController();
      const { signal } = controller;
      await work(signal).catch((error: unknown) => {
        onError(error);
        return sleep(retryMs, signal);
      });
    }
    isRunning = false;
  };
  return {
    start: () => {
      isWanted = true;
      void loop();
    },
    stop: () => {
      isWanted = false;
      controller.abort();
    },
  };
};

const retryMs = 2000;

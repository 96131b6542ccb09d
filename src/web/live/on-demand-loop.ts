import { sleep } from '../../process/timers.ts';

/** Repeats work between `start` and `stop`, one call at a time. */
export interface OnDemandLoop {
  start(): void;
  stop(): void;
}

/**
 * Calls `work` repeatedly after `start`. `stop` aborts the signal of the current call. If `work` rejects, the error is
 * passed to `onError` and the next call is delayed.
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

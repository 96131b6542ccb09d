import { setTimeout as delay } from 'node:timers/promises';

/** The longest delay that the timers of Node support. */
export const maxTimerMs = 2 ** 31 - 1;

/** The longest interval between two checks. */
const tickMs = 1000;

/** How many intervals count at most if a tick comes late. On a busy machine, a tick is late as well. */
const maxTicks = 3;

/**
 * Calls `onPassed` after each interval with the time that has passed. If the machine sleeps, or this process is suspended,
 * a tick comes late and the missing time does not count. Returns a function that ends it.
 */
export const countTime = (shortestMs: number, onPassed: (ms: number) => void): (() => void) => {
  const intervalMs = Math.max(10, Math.min(tickMs, shortestMs / 4));
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const passedMs = Math.min(now - last, maxTicks * intervalMs);
    last = now;
    onPassed(passedMs);
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
};

export interface Stopwatch {
  readonly elapsedMs: () => number;
  readonly dispose: () => void;
}

/** Measures the time from now on without that in which the machine sleeps or this process is suspended, as `countTime`. */
export const startStopwatch = (): Stopwatch => {
  let countedMs = 0;
  let last = performance.now();
  const sinceLast = () => Math.min(performance.now() - last, maxTicks * tickMs);
  const timer = setInterval(() => {
    countedMs += sinceLast();
    last = performance.now();
  }, tickMs).unref();
  return { elapsedMs: () => countedMs + sinceLast(), dispose: () => clearInterval(timer) };
};

/**
 * Resolves after a time, or when the signal is aborted. Never rejects. With `ref: false` it does not keep the process
 * running.
 */
export const sleep = (
  ms: number,
  signal?: AbortSignal,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<void> => delay(ms, undefined, { ...(signal && { signal }), ref }).catch(() => {});

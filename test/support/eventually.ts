import { setTimeout as delay } from 'node:timers/promises';

/** Polls until a condition is true. Fails with what it waited for. */
export const eventually = async (
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 120_000,
): Promise<void> => {
  const deadline = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`);
    await delay(10);
  }
};

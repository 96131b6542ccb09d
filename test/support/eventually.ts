import { setTimeout as delay } from 'node:timers/promises';

/** Waits until something is true, looking again and again; fails with what it waited for. */
export const eventually = async (isTrue: () => boolean, what: string, limitMs = 120_000): Promise<void> => {
  const deadline = performance.now() + limitMs;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`);
    await delay(10);
  }
};

import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file in which trials record their results. */
    trialsFile: string;
    seed: number;
  }
}

export interface Trial {
  readonly what: string;
  /** The number of trials. */
  readonly trials: number;
  /** What was counted, with numbers. */
  readonly found: string;
}

/** Random numbers from 0 to 1 that depend only on the seed, which is that of this run, and the name. */
export const createRandom = (name: string, seed: number = inject('seed')): (() => number) => {
  let state = [...name].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 16_777_619), seed | 0);
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Adds a row to the table that is printed at the end and is part of docs/reliability.md. */
export const report = (trial: Trial): void => appendFileSync(inject('trialsFile'), `${JSON.stringify(trial)}\n`);

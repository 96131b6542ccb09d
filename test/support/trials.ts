import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the trials write down what they found. */
    trialsFile: string;
    seed: number;
  }
}

export interface Trial {
  readonly what: string;
  /** How often it was tried. */
  readonly trials: number;
  /** What was counted, and how much of it there was. */
  readonly found: string;
}

/** Numbers from 0 to 1 that depend on the seed of this run, and on nothing else. */
export const createRandom = (name: string): (() => number) => {
  let state = [...name].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 16_777_619), inject('seed') | 0);
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Puts a line into the table that is printed at the end, and that stands in docs/reliability.md. */
export const report = (trial: Trial): void => appendFileSync(inject('trialsFile'), `${JSON.stringify(trial)}\n`);

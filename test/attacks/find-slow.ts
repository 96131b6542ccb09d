import { createContext, Script } from 'node:vm';
import { type Attack, attacksOn, attackText, type Pattern } from './regexp-attacks.ts';

/** The attack on which a pattern is slow. Times are Infinity if it did not finish. */
export interface Slow {
  readonly attack: Attack;
  readonly msAtN: number;
  readonly msAt4N: number;
}

/** Large enough to show quadratic time, small enough to check all patterns in seconds. Only the slowest are measured. */
const glance = { size: 1000, most: 20 };
const smallestN = 4000;
const largestN = 64_000;
/** Linear work takes 4 times as long for 4 n. The factor of 8 allows for caches. */
const tooMuch = 8;
/** Shorter times are not compared: on a busy machine they vary. They are measured again with a larger n. */
const comparableMs = 40;
/** Work that takes less time for 4 n is not quadratic on any machine. */
const negligibleMs = 1;
/** For patterns that take exponential time. */
const limitMs = 3000;

const context = {
  pattern: /(?:)/,
  texts: [] as readonly string[],
  /** The time that each text took. */
  took: [] as number[],
  now: () => performance.now(),
};
createContext(context);
/** As in src: from every position where a match can start. */
const searchAll = new Script(`
  for (const text of texts) {
    const start = now();
    pattern.lastIndex = 0;
    if (pattern.global) text.replace(pattern, '');
    else pattern.exec(text);
    took.push(now() - start);
  }
`);

/** The first attack on which a pattern is not linear, or null. */
export const findSlow = ({ source, flags }: Pattern): Slow | null => {
  context.pattern = new RegExp(source, flags.replace('y', 'g'));
  const attacks = attacksOn({ source, flags });
  const took = glanceAt(attacks);
  const unended = attacks[took.length];
  if (unended !== undefined) return { attack: unended, msAtN: Infinity, msAt4N: Infinity };
  const slowest = attacks
    .map((attack, index) => ({ attack, ms: took[index]! }))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, glance.most);
  for (const { attack } of slowest) {
    const slow = slowOn(attack);
    if (slow !== null) return slow;
  }
  return null;
};

/** A fast machine needs a larger n to take a comparable time. */
const slowOn = (attack: Attack): Slow | null => {
  for (let n = smallestN; n <= largestN; n *= 4) {
    const text = attackText(attack, 4 * n);
    const msAtOnce = cpuMs(text);
    if (msAtOnce < negligibleMs) return null;
    if (msAtOnce < comparableMs) continue;
    const msAtN = bestCpuMs(attackText(attack, n));
    const isTooMuch = (ms: number) => ms === Infinity || (ms > comparableMs && ms > tooMuch * msAtN);
    // Further attempts can only be faster.
    if (!isTooMuch(msAtOnce)) return null;
    const msAt4N = Math.min(msAtOnce, bestCpuMs(text, 2));
    return isTooMuch(msAt4N) ? { attack, msAtN, msAt4N } : null;
  }
  return null;
};

/**
 * In batches with a time limit each. On a busy machine a batch may exceed it although no text is slow, so the first text
 * that was not reached gets a longer time for itself.
 */
const glanceAt = (attacks: readonly Attack[]): number[] => {
  const texts = attacks.map((attack) => attackText(attack, glance.size));
  const took: number[] = [];
  while (took.length < texts.length) {
    const batch = texts.slice(took.length, took.length + batchSize);
    const found = search(batch);
    took.push(...found);
    if (found.length === batch.length) continue;
    const alone = search(batch.slice(found.length, found.length + 1), 5 * limitMs);
    if (alone.length === 0) break;
    took.push(...alone);
  }
  return took;
};

const batchSize = 100;

/** The time of each search that finished within the limit. */
const search = (texts: readonly string[], timeout = limitMs): readonly number[] => {
  context.texts = texts;
  context.took = [];
  try {
    searchAll.runInContext(context, { timeout });
  } catch {
    // The caller sees which texts were not searched.
  }
  return context.took;
};

/** The best of a few, because other processes run at the same time. */
const bestCpuMs = (text: string, times = 3): number => Math.min(...Array.from({ length: times }, () => cpuMs(text)));

const cpuMs = (text: string): number => {
  const start = process.cpuUsage();
  if (search([text]).length === 0) return Infinity;
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
};

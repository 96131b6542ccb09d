// Times of child processes, as ratios against a floor that was measured in the same round.
import { spawnSync } from 'node:child_process';

/**
 * @typedef {object} Work
 * @property {string} command
 * @property {readonly string[]} args
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {readonly number[]} [codes] Exit codes that are as they should be; 0 when not given.
 */

/**
 * How long a process took, in milliseconds.
 * @param {Work} work
 */
export const timeOf = ({ command, args, cwd, env, codes = [0] }) => {
  const began = performance.now();
  const { status, stderr, error } = spawnSync(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const took = performance.now() - began;
  if (status === null || !codes.includes(status))
    throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${error?.message ?? stderr}`);
  return took;
};

/**
 * Measures the floor and what is compared with it in turns, so that a busy machine slows down both.
 * @template {string} Name
 * @param {number} rounds
 * @param {Record<Name, () => number>} contestants
 * @returns {Record<Name, number[]>}
 */
export const inTurns = (rounds, contestants) => {
  const names = /** @type {Name[]} */ (Object.keys(contestants));
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(names.map((name) => [name, []]));
  // The first round warms the caches, and does not count.
  for (let round = 0; round <= rounds; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const value = contestants[name]();
      if (round > 0) times[name]?.push(value);
    }
  return times;
};

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5);

/**
 * @param {readonly number[]} values
 * @param {number} share
 */
const quantile = (values, share) => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)] ?? NaN, sorted[Math.ceil(at)] ?? NaN];
  return low + (high - low) * (at - Math.floor(at));
};

/**
 * The ratio of two medians, and the middle half of the ratios of the rounds.
 * @param {readonly number[]} values
 * @param {readonly number[]} floors
 */
export const ratioOf = (values, floors) => {
  const ratios = values.map((value, round) => value / (floors[round] ?? NaN));
  return {
    ratio: median(values) / median(floors),
    low: quantile(ratios, 0.25),
    high: quantile(ratios, 0.75),
    value: median(values),
    floor: median(floors),
  };
};

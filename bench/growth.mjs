// How cost grows with iterations, files, output and changes.
import { median, timeOf } from './measure.mjs';
import { makeHistory, makeProject, makeRepository, shareHistory } from './places.mjs';
import { pipeLoop, makeOutput, outputLoop, perIteration, resumedIteration, spoolLoop, spoolWork } from './work.mjs';

/**
 * @typedef {object} Series
 * @property {string} title
 * @property {string} across What the sizes are.
 * @property {string} up What the values are.
 * @property {readonly number[]} sizes
 * @property {readonly { name: string; values: readonly number[] }[]} lines
 */

/** @param {import('./rows.mjs').Setting} setting @returns {Series[]} */
export const measureGrowth = ({ base, say }) => {
  say('growth …');
  return [ofHistory(base), ofFiles(base), ofOutput(base), ofChanges(base)];
};

/** @param {() => number} measure */
const thrice = (measure) => median([measure(), measure(), measure()]);

/** @param {string} base @returns {Series} */
const ofHistory = (base) => {
  const sizes = [10, 100, 1000, 10_000, 100_000];
  const place = makeProject(base, 'growing-history');
  const values = sizes.map((size) => {
    const putBack = makeHistory(place, size);
    return thrice(() => resumedIteration(place, size, 30, putBack));
  });
  return {
    title: 'One iteration',
    across: 'iterations before it',
    up: 'ms',
    sizes,
    lines: [{ name: 'Spool', values }],
  };
};

/** @param {string} base @returns {Series} */
const ofFiles = (base) => {
  const sizes = [100, 1000, 10_000, 50_000];
  const both = sizes.map((size) => {
    const place = makeProject(base, `growing-files-${size}`);
    makeRepository(place, size);
    const status = { command: 'git', args: ['status', '--porcelain'], cwd: place.folder, env: place.env };
    return [thrice(() => perIteration(10, (count) => spoolLoop(place, count))), thrice(() => timeOf(status))];
  });
  return {
    title: 'One iteration',
    across: 'files in the repository',
    up: 'ms',
    sizes,
    lines: against(both, 'git status'),
  };
};

/** @param {string} base @returns {Series} */
const ofOutput = (base) => {
  const sizes = [1, 10, 100, 500];
  const place = makeProject(base, 'growing-output');
  const both = sizes.map((size) => {
    const output = makeOutput(base, size, 'lines');
    return [thrice(() => outputLoop(place, output)), thrice(() => pipeLoop(place, output))];
  });
  return {
    title: 'What output adds to an iteration',
    across: 'MB of output',
    up: 'ms',
    sizes,
    lines: against(both, 'a pipe to a file'),
  };
};

/** @param {string} base @returns {Series} */
const ofChanges = (base) => {
  const sizes = [1, 10, 50];
  const values = sizes.map((changes) => {
    const place = makeProject(base, `growing-changes-${changes}`, { changes });
    makeHistory(place, 10_000);
    shareHistory(place, changes);
    return thrice(() => timeOf(spoolWork(place, ['list'])));
  });
  return {
    title: 'spool list',
    across: 'changes of 10,000 iterations',
    up: 'ms',
    sizes,
    lines: [{ name: 'Spool', values }],
  };
};

/** @param {readonly (readonly number[])[]} both @param {string} floor */
const against = (both, floor) => [
  { name: 'Spool', values: both.map(([own = NaN]) => own) },
  { name: floor, values: both.map(([, other = NaN]) => other) },
];

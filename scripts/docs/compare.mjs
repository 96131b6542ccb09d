// Whether two outputs differ only in what differs from run to run.

/** Replaces times, durations, ids, versions, and bars that depend on them. @param {string} text */
const withoutVariables = (text) =>
  text
    // A run looks at its tasks once a second.
    .replace(/^\{"type":"tasks-changed".*\n/gm, '')
    .replace(/\d{8}-\d{6}-[0-9a-f]{8}/g, 'RUN')
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b/g, 'COMMIT')
    .replace(/just now|\d+[mhd] ago/g, 'AGO')
    .replace(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\b\d?\d:\d\d(?::\d\d)?\b/g, 'TIME')
    .replace(/\d+(?:\.\d+)?(?:ms|s|m|h)\b(?: ?\d+s\b)?/g, 'DURATION')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/token=[\w-]+/g, 'TOKEN')
    .replace(/git version [\d.]+/g, 'GIT')
    .replace(/\bpid \d+|\bprocess \d+/gi, 'PROCESS')
    .replace(/[─▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░]+/g, 'BAR');

/** The lines of an output, each with its cells, which are separated by two or more blanks. @param {string} text */
const cellsOf = (text) =>
  withoutVariables(text)
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));

const ellipsis = '…';

/** How much of a cell fits depends on the cells before it. @param {string} a @param {string} b */
const isSameCell = (a, b) => {
  const start = (/** @type {string} */ cell) => cell.slice(0, -ellipsis.length).trimEnd();
  if (a === b) return true;
  if (a.endsWith(ellipsis) && b.startsWith(start(a))) return true;
  return b.endsWith(ellipsis) && a.startsWith(start(b));
};

/** @param {string} a @param {string} b */
const hasSameCells = (a, b) => {
  const [lines, others] = [cellsOf(a), cellsOf(b)];
  return (
    lines.length === others.length &&
    lines.every((cells, row) => {
      const other = others[row] ?? [];
      return cells.length === other.length && cells.every((cell, at) => isSameCell(cell, other[at] ?? ''));
    })
  );
};

/** Where a line is wrapped depends on the durations in it. @param {string} a @param {string} b */
const hasSameWords = (a, b) => {
  const words = (/** @type {string} */ text) => withoutVariables(text).trim().split(/\s+/).join(' ');
  return words(a) === words(b);
};

/** @param {string} a @param {string} b */
export const isSameOutput = (a, b) => hasSameCells(a, b) || hasSameWords(a, b);

/** Lines of context around a change. */
const context = 3;

/** More changed lines are shown as one block. */
const maxEdits = 2000;

interface Edit {
  readonly kind: ' ' | '-' | '+';
  readonly line: string;
}

/**
 * The difference between two texts as `diff -u` prints it; empty if there is none. null is a file that does not exist.
 */
export const unifiedDiff = (path: string, before: string | null, after: string | null): string => {
  const edits = editsBetween(linesOf(before), linesOf(after));
  const hunks = hunksIn(edits);
  if (hunks.length === 0) return '';
  const names = [before === null ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`];
  return [`--- ${names[0]}`, `+++ ${names[1]}`, ...hunks, ''].join('\n');
};

/** A last line without an ending is marked like diff does. */
const linesOf = (text: string | null): string[] => {
  if (text === null || text === '') return [];
  const lines = text.split('\n');
  return lines.at(-1) === ''
    ? lines.slice(0, -1)
    : [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`];
};

const editsBetween = (before: readonly string[], after: readonly string[]): Edit[] => {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start++;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++;
  const kept = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: ' ', line }));
  return [
    ...kept(before.slice(0, start)),
    ...changedPart(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...kept(before.slice(before.length - end)),
  ];
};

/** The shortest list of edits (Myers), found by the furthest positions that any number of edits reaches. */
const changedPart = (before: readonly string[], after: readonly string[]): Edit[] => {
  const trace: Map<number, number>[] = [];
  const furthest = new Map([[1, 0]]);
  for (let count = 0; count <= Math.min(before.length + after.length, maxEdits); count++) {
    trace.push(new Map(furthest));
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let x = isDown(furthest, diagonal, count) ? furthest.get(diagonal + 1)! : furthest.get(diagonal - 1)! + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      furthest.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return pathBack(trace, before, after);
    }
  }
  return [...before.map((line): Edit => ({ kind: '-', line })), ...after.map((line): Edit => ({ kind: '+', line }))];
};

const isDown = (furthest: ReadonlyMap<number, number>, diagonal: number, count: number): boolean =>
  diagonal === -count ||
  (diagonal !== count && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1));

const pathBack = (
  trace: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): Edit[] => {
  const edits: Edit[] = [];
  let [x, y] = [before.length, after.length];
  for (let count = trace.length - 1; count >= 0; count--) {
    const furthest = trace[count]!;
    const diagonal = x - y;
    const previous = isDown(furthest, diagonal, count) ? diagonal + 1 : diagonal - 1;
    const fromX = count === 0 ? 0 : furthest.get(previous)!;
    const fromY = count === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) [x, y] = [x - 1, (edits.push({ kind: ' ', line: before[x - 1]! }), y - 1)];
    if (count > 0 && x === fromX) edits.push({ kind: '+', line: after[fromY]! });
    else if (count > 0) edits.push({ kind: '-', line: before[fromX]! });
    [x, y] = [fromX, fromY];
  }
  return edits.toReversed();
};

const hunksIn = (edits: readonly Edit[]): string[] => {
  const changed = edits.flatMap(({ kind }, index) => (kind === ' ' ? [] : [index]));
  const ranges: [number, number][] = [];
  for (const index of changed) {
    const last = ranges.at(-1);
    if (last !== undefined && index - context <= last[1]) last[1] = index + context + 1;
    else ranges.push([Math.max(0, index - context), index + context + 1]);
  }
  let [oldLine, newLine, at] = [1, 1, 0];
  return ranges.flatMap(([start, end]) => {
    for (; at < start; at++) [oldLine, newLine] = advanced(edits[at]!, oldLine, newLine);
    const hunk = edits.slice(start, end);
    const head = `@@ -${rangeOf(hunk, '+', oldLine)} +${rangeOf(hunk, '-', newLine)} @@`;
    for (; at < Math.min(end, edits.length); at++) [oldLine, newLine] = advanced(edits[at]!, oldLine, newLine);
    return [head, ...hunk.map(({ kind, line }) => `${kind}${line}`)];
  });
};

const advanced = ({ kind }: Edit, oldLine: number, newLine: number): [number, number] => [
  oldLine + (kind === '+' ? 0 : 1),
  newLine + (kind === '-' ? 0 : 1),
];

const rangeOf = (hunk: readonly Edit[], without: Edit['kind'], line: number): string => {
  const count = hunk.filter(({ kind }) => kind !== without).length;
  return `${count === 0 ? line - 1 : line},${count}`;
};

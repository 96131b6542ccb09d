import type { DiffHunk, DiffLine } from '../../../api.ts';

export interface NumberedLine extends DiffLine {
  readonly oldNumber: number | null;
  readonly newNumber: number | null;
  /** The part that differs from the line that it replaces, or that replaces it. */
  readonly changed: readonly [start: number, end: number] | null;
}

/** Two lines beside each other; null where one side has none. */
export type Pair = readonly [left: NumberedLine | null, right: NumberedLine | null];

/** Numbers the lines of a hunk, and pairs removed lines with the added ones that follow them. */
export const pairsOf = (hunk: DiffHunk): readonly Pair[] => {
  const pairs: Pair[] = [];
  let [oldNumber, newNumber] = [hunk.oldStart, hunk.newStart];
  let [removed, added]: [NumberedLine[], NumberedLine[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push(withChanged(removed[at] ?? null, added[at] ?? null));
    [removed, added] = [[], []];
  };
  for (const line of hunk.lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push({ ...line, oldNumber: oldNumber++, newNumber: null, changed: null });
      continue;
    }
    if (line.kind === 'added') {
      added.push({ ...line, oldNumber: null, newNumber: newNumber++, changed: null });
      continue;
    }
    flush();
    const same: NumberedLine = { ...line, oldNumber: oldNumber++, newNumber: newNumber++, changed: null };
    pairs.push([same, same]);
  }
  flush();
  return pairs;
};

/** In the order of a unified diff: of each block, what is removed comes first. */
export const unifiedOf = (pairs: readonly Pair[]): readonly NumberedLine[] => {
  const lines: NumberedLine[] = [];
  let added: NumberedLine[] = [];
  for (const [left, right] of pairs) {
    if (left !== null && left === right) {
      lines.push(...added, left);
      added = [];
      continue;
    }
    // A new block: nothing was removed opposite to what was added last.
    if (left !== null) lines.push(left);
    if (right !== null) added.push(right);
  }
  return [...lines, ...added];
};

const maxCompared = 1000;

const withChanged = (left: NumberedLine | null, right: NumberedLine | null): Pair => {
  if (left === null || right === null) return [left, right];
  const [a, b] = [left.text, right.text];
  if (a.length > maxCompared || b.length > maxCompared) return [left, right];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  // Lines that have little in common are two lines.
  if (start + end < 0.3 * Math.max(a.length, b.length)) return [left, right];
  return [
    { ...left, changed: [start, a.length - end] },
    { ...right, changed: [start, b.length - end] },
  ];
};

/** Where the work of agents begins and ends: two commits. */
export interface WorkRange {
  readonly run: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Returns what agents did, from checkpoints in the order in which they were taken. `0` and `before-7` are as people left
 * the files, numbers as an iteration left them, and `gate-7` as the commands of its gate did, which run what agents have
 * written. What differs between two ranges was changed by people.
 */
export const rangesOf = (
  checkpoints: readonly { readonly run: string; readonly name: string; readonly commit: string }[],
): WorkRange[] => {
  const ranges: WorkRange[] = [];
  for (const { run, name, commit } of checkpoints) {
    const last = ranges.at(-1);
    if (name === '0' || name.startsWith('before-')) ranges.push({ run, from: commit, to: commit });
    else if (last !== undefined && /^(?:gate-)?[1-9]\d*$/.test(name))
      ranges[ranges.length - 1] = { ...last, to: commit };
  }
  return ranges.filter(({ from, to }) => from !== to);
};

/** A file that agents have changed. Contents are identified by their hashes; null if there is no file. */
export interface Touched {
  readonly before: string | null;
  readonly after: string | null;
  /** A commit with the version before. */
  readonly from: string;
}

interface RangeChanges {
  readonly from: string;
  readonly changes: ReadonlyMap<string, Pick<Touched, 'before' | 'after'>>;
}

/**
 * Returns what agents have changed in all ranges together, by path. Where a person has changed a file in between, the
 * person's version is the one before.
 */
export const touchedIn = (ranges: readonly RangeChanges[]): ReadonlyMap<string, Touched> => {
  const touched = new Map<string, Touched>();
  for (const { from, changes } of ranges)
    for (const [path, { before, after }] of changes) {
      const known = touched.get(path);
      touched.set(path, known?.after === before ? { ...known, after } : { before, after, from });
    }
  return new Map([...touched].filter(([, { before, after }]) => before !== after));
};

/** Where the work of agents begins and ends: two commits. */
export type WorkRange = readonly [from: string, to: string];

/**
 * Returns what agents did, from checkpoints in the order in which they were taken. `0` and `before-7` are as people left
 * the files, numbers as an iteration left them. What differs between two ranges was changed by people.
 */
export const rangesOf = (checkpoints: readonly { readonly name: string; readonly commit: string }[]): WorkRange[] => {
  const ranges: WorkRange[] = [];
  for (const { name, commit } of checkpoints) {
    const last = ranges.at(-1);
    if (name === '0' || name.startsWith('before-')) ranges.push([commit, commit]);
    else if (last !== undefined && /^[1-9]\d*$/.test(name)) ranges[ranges.length - 1] = [last[0], commit];
  }
  return ranges.filter(([from, to]) => from !== to);
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

import { object, oneOf, required, type Shape, text, validItems, droppedIfInvalid } from '../../text/shape.ts';

/**
 * A path that is in no tree that Spool writes: not counted, not in checkpoints, not committed, not deleted by a rewind.
 */
export interface SkippedPath {
  /** As git printed it. A folder ends with a slash and stands for everything in it. */
  readonly name: string;
  readonly kind: SkipReason;
  readonly why: string;
  /** The first tree without it; missing if it existed before the first tree. */
  readonly since?: string;
  /** The first tree for which it was gone, or no longer skipped. */
  readonly until?: string;
}

export type SkipReason =
  /** It existed and was ignored before the ignore rules changed. */
  | 'ignored'
  /** Spool's own output goes to it. */
  | 'output'
  /** It is untracked and too large to be copied into the repository. */
  | 'large'
  /** git cannot add it. */
  | 'refused'
  /** It looks like a secret, and its version in HEAD does not: checkpoints can be pushed. */
  | 'secret';

export const covers = ({ name }: SkippedPath, path: string): boolean =>
  name.endsWith('/') ? path.startsWith(name) : path === name;

/** The maximum number of former entries that are stored. */
const maxEnded = 1000;

/** Merges the list with earlier entries: since when and until when paths were skipped. */
export const withTimes = (
  earlier: readonly SkippedPath[],
  now: readonly SkippedPath[],
  { treeId, isThere }: { treeId: string; isThere: (name: string) => boolean },
): SkippedPath[] => {
  const known = new Map(earlier.map((each) => [each.name, each]));
  const names = new Set(now.map(({ name }) => name));
  const ended = earlier
    .filter(({ name }) => !names.has(name))
    .map((each) => ({ ...each, until: each.until ?? treeId }))
    .slice(-maxEnded);
  return [
    ...now.map(({ name, kind, why }): SkippedPath => {
      const old = known.get(name);
      if (!isThere(name)) return { ...old, name, kind, why, until: old?.until ?? treeId };
      if (old && old.until === undefined) return { ...old, kind, why };
      return kind === 'ignored' ? { name, kind, why } : { name, kind, why, since: treeId };
    }),
    ...ended,
  ];
};

/**
 * Returns the entries that are still skipped. Paths that were ignored are skipped for the rest of a run, existing or
 * not.
 */
export const stillSkipped = (list: readonly SkippedPath[]): SkippedPath[] =>
  list.filter(({ kind, until }) => kind === 'ignored' || until === undefined);

/** Returns pathspecs that make `git add` skip these names literally, even with `*` or `:`. */
export const skipping = (names: readonly string[]): string =>
  names.map((name) => `:(exclude,top,literal)${name}`).join('\0');

/** Returns a predicate that is fast for many paths. */
export const coveredByAny = (list: readonly SkippedPath[]): ((path: string) => boolean) => {
  const names = new Set(list.map(({ name }) => name));
  const folders = list.filter(({ name }) => name.endsWith('/'));
  return (path) => names.has(path) || folders.some((each) => covers(each, path));
};

/** The number of files per folder, and in total, above which a folder represents its files. */
const namedLimits = { inFolder: 1000, inAll: 2000 };

/**
 * Shortens a list: a large folder that contains none of `others` represents its files. Files of smaller folders are
 * listed, so that they can be distinguished from new files.
 */
export const inFolders = (names: readonly string[], others: Iterable<string>, limits = namedLimits): string[] => {
  const own = new Set(names);
  const shared = new Set<string>();
  for (const name of others) if (!own.has(name)) for (const folder of foldersOf(name)) shared.add(folder);
  const groups = new Map<string, string[]>();
  for (const name of own) {
    const group = foldersOf(name).find((folder) => !shared.has(folder)) ?? name;
    const inside = groups.get(group);
    if (inside) inside.push(name);
    else groups.set(group, [name]);
  }
  const whole = new Set<string>();
  let named = 0;
  for (const [group, { length }] of [...groups].toSorted(([, a], [, b]) => a.length - b.length)) {
    const isFolder = group.endsWith('/');
    if (isFolder && (length > limits.inFolder || named + length > limits.inAll)) whole.add(group);
    else if (isFolder) named += length;
  }
  return [...groups].flatMap(([group, inside]) => (whole.has(group) ? [group] : inside));
};

/** Returns `a/` and `a/b/` for `a/b/c`. */
const foldersOf = (name: string): string[] => {
  const folders: string[] = [];
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) folders.push(name.slice(0, at + 1));
  return folders;
};

/** Parses a saved list. Returns an empty one if there is none or it is damaged. */
export const parseSkipped = (saved: unknown): SkippedPath[] => {
  const list = validItems(skipped)(saved) ?? [];
  return list.filter(({ name }) => isBelow(name));
};

/**
 * The list of a run on another machine comes with the project: no name may represent the whole work tree or lead out of
 * it.
 */
const isBelow = (name: string): boolean =>
  name
    .replace(/\/$/, '')
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');

const skipped: Shape<SkippedPath> = object<SkippedPath>({
  name: required(text),
  kind: required(oneOf(['ignored', 'output', 'large', 'refused', 'secret'])),
  why: required(text),
  since: droppedIfInvalid(text),
  until: droppedIfInvalid(text),
});

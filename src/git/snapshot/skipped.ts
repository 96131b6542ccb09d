import { object, oneOf, required, type Shape, text, validItems, droppedIfInvalid } from '../../text/shape.ts';

/** A file or folder that is in no tree that Spool takes: not counted, in no checkpoint, not committed, not deleted by a rewind. */
export interface SkippedPath {
  /** As git gave it. A folder ends with a slash, and stands for all that is in it. */
  readonly name: string;
  readonly kind: SkipReason;
  readonly why: string;
  /** The tree with which it was left out first; missing where it was there before any. */
  readonly since?: string;
  /** The tree with which it was gone, or was not left out any more. */
  readonly until?: string;
}

export type SkipReason =
  /** It was there and ignored before the ignore rules changed. */
  | 'ignored'
  /** Spool's own output goes to it. */
  | 'output'
  /** It is untracked and too large to be copied into the repository. */
  | 'large'
  /** git cannot add it. */
  | 'refused'
  /** It looks like a secret, and is not in HEAD as one: checkpoints can be pushed. */
  | 'secret';

export const covers = ({ name }: SkippedPath, path: string): boolean =>
  name.endsWith('/') ? path.startsWith(name) : path === name;

/** How many are remembered that are not left out any more. */
const mostEnded = 1000;

/** The list with what was on it before: since when, and until when, files were left out. */
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
    .slice(-mostEnded);
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

/** Those that are left out still. What was ignored is so for the rest of a run, whether it is there or not. */
export const stillSkipped = (list: readonly SkippedPath[]): SkippedPath[] =>
  list.filter(({ kind, until }) => kind === 'ignored' || until === undefined);

/** What `git add` takes in to skip them, whatever `*` or `:` they hold. */
export const skipping = (names: readonly string[]): string =>
  names.map((name) => `:(exclude,top,literal)${name}`).join('\0');

/** Tells of many paths whether one of these covers them. */
export const coveredByAny = (list: readonly SkippedPath[]): ((path: string) => boolean) => {
  const names = new Set(list.map(({ name }) => name));
  const folders = list.filter(({ name }) => name.endsWith('/'));
  return (path) => names.has(path) || folders.some((each) => covers(each, path));
};

/** How many files of one folder, and of all folders, are named before a folder stands for its files. */
const mostNamed = { inFolder: 1000, inAll: 2000 };

/**
 * The same files with fewer names: a large folder in which there is none of the others stands for its files. Files of
 * smaller folders keep their names, so that they can be told from what is created there later.
 */
export const inFolders = (names: readonly string[], others: Iterable<string>, most = mostNamed): string[] => {
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
    if (isFolder && (length > most.inFolder || named + length > most.inAll)) whole.add(group);
    else if (isFolder) named += length;
  }
  return [...groups].flatMap(([group, inside]) => (whole.has(group) ? [group] : inside));
};

/** `a/b/c` is in `a/` and `a/b/`. */
const foldersOf = (name: string): string[] => {
  const folders: string[] = [];
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) folders.push(name.slice(0, at + 1));
  return folders;
};

/** A list as it was saved; nothing where there is none, or where it is damaged. */
export const parseSkipped = (saved: unknown): SkippedPath[] => {
  const list = validItems(leftOut)(saved) ?? [];
  return list.filter(({ name }) => isBelow(name));
};

/** That of a run of another machine is from the project: one name must not stand for the whole work tree, or lead out of it. */
const isBelow = (name: string): boolean =>
  name
    .replace(/\/$/, '')
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');

const leftOut: Shape<SkippedPath> = object<SkippedPath>({
  name: required(text),
  kind: required(oneOf(['ignored', 'output', 'large', 'refused', 'secret'])),
  why: required(text),
  since: droppedIfInvalid(text),
  until: droppedIfInvalid(text),
});

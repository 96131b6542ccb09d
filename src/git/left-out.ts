import { readFileSync, writeFileSync } from 'node:fs';

/** A file or folder that is in no tree that Spool takes: not counted, in no checkpoint, not committed, not deleted by a rewind. */
export interface LeftOut {
  /** As git gave it. A folder ends with a slash, and stands for all that is in it. */
  readonly name: string;
  readonly kind: LeftOutKind;
  readonly why: string;
}

export type LeftOutKind =
  /** It was there and ignored before the ignore rules changed. */
  | 'ignored'
  /** Spool's own output goes to it. */
  | 'output'
  /** It is untracked and too large to be copied into the repository. */
  | 'large'
  /** git cannot add it. */
  | 'refused';

export const covers = ({ name }: LeftOut, path: string): boolean =>
  name.endsWith('/') ? path.startsWith(name) : path === name;

/** What `git add` takes in to skip them, whatever `*` or `:` they hold. */
export const skipping = (names: readonly string[]): string =>
  names.map((name) => `:(exclude,top,literal)${name}`).join('\0');

/** The same files with fewer names: a folder in which there is none of the others stands for its files. */
export const inFolders = (names: readonly string[], others: Iterable<string>): string[] => {
  const own = new Set(names);
  const shared = new Set<string>();
  for (const name of others) if (!own.has(name)) for (const folder of foldersOf(name)) shared.add(folder);
  return [...new Set(names.map((name) => foldersOf(name).find((folder) => !shared.has(folder)) ?? name))];
};

/** `a/b/c` is in `a/` and `a/b/`. */
const foldersOf = (name: string): string[] => {
  const folders: string[] = [];
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) folders.push(name.slice(0, at + 1));
  return folders;
};

/** Nothing where there is no list, or where it is damaged. */
export const readLeftOut = (file: string): LeftOut[] => {
  try {
    const list: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(list) ? list.filter(isLeftOut) : [];
  } catch {
    return [];
  }
};

const isLeftOut = (value: Partial<LeftOut> | null): value is LeftOut =>
  typeof value?.name === 'string' &&
  isBelow(value.name) &&
  typeof value.why === 'string' &&
  value.kind !== undefined &&
  value.kind in kinds;

/** An agent can write to the list: one name must not stand for the whole work tree, or lead out of it. */
const isBelow = (name: string): boolean =>
  name
    .replace(/\/$/, '')
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');

const kinds = { ignored: true, output: true, large: true, refused: true } satisfies Record<LeftOutKind, true>;

export const writeLeftOut = (file: string, list: readonly LeftOut[]): void =>
  writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`, { mode: 0o600 });

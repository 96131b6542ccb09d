import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, renameSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { foldersUp } from '../git/call/program.ts';
import { isWithin } from '../process/which.ts';
import { commandLine } from '../text/shell-words.ts';

/** The files as they are now, by path: whether one was replaced since can be told. */
export const identitiesOf = (paths: readonly string[]): ReadonlyMap<string, number> =>
  new Map(paths.flatMap((path) => (statOf(path)?.isFile() ? [[path, statOf(path)!.ino] as const] : [])));

/** A file that somebody outside replaces can be written inside from then on: a line for each that was. */
export const replacedSince = (before: ReadonlyMap<string, number>): string[] =>
  [...before]
    .filter(([path, ino]) => statOf(path)?.ino !== ino)
    .map(
      ([path]) =>
        `${path} was replaced while something ran in the sandbox, which could write to it from then on: look at it.`,
    );

/** Those that are there, links included. */
export const existing = (paths: readonly string[]): string[] => paths.filter(isThere);

/** A path that is not there, and what on the way to it a process inside could put a link in the place of. */
export interface AbsentPath {
  readonly path: string;
  /** The folders on the way, outermost first; those that lead elsewhere already are not among them. */
  readonly way: readonly string[];
}

export const absentPath = (path: string, writable: readonly string[]): AbsentPath => {
  const way = writable
    .filter((folder) => folder !== path && isWithin(path, folder))
    .map((folder) => foldersBetween(folder, path))
    .toSorted((one, other) => other.length - one.length)[0];
  return { path, way: (way ?? []).filter((folder) => !isLink(folder)) };
};

/** Below the first one, above the second one. */
const foldersBetween = (folder: string, path: string): string[] => {
  const parent = dirname(path);
  return parent === folder || parent === path ? [] : [...foldersBetween(folder, parent), parent];
};

/** Moves away what was created inside although it is protected; answers with a line for each. */
export const setPlantedAside = (absent: readonly AbsentPath[]): string[] =>
  absent.flatMap(({ path, way }) => {
    // What is behind a link is not in the sandbox: the link itself is what was planted.
    const planted = way.find(isLink) ?? path;
    if (!isThere(planted)) return [];
    const aside = `${planted}.from-sandbox-${randomBytes(4).toString('hex')}`;
    rename(planted, aside);
    const back = commandLine('mv', aside, planted);
    return [`The sandbox protects ${path}: what was created there is now ${aside}. If it is your own: ${back}`];
  });

/** Also where the rights of folders were taken away. */
const rename = (from: string, to: string): void =>
  reaching(from, () => withRights(dirname(from), 0o300, () => renameSync(from, to)));

const isLink = (path: string): boolean => statOf(path)?.isSymbolicLink() ?? false;

const isThere = (path: string): boolean => statOf(path) !== null;

/** null when nothing is there. What a folder without rights hides is there. */
const statOf = (path: string): Stats | null => {
  try {
    return lstatSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return null;
    return reaching(path, () => lstatSync(path, { throwIfNoEntry: false }) ?? null);
  }
};

/** With all folders above a path open, as far as they are ours. */
const reaching = <Result>(path: string, work: () => Result): Result =>
  foldersUp(dirname(path)).reduce((inner, folder) => () => withRights(folder, 0o100, inner), work)();

/** Gives a folder these rights for its owner while something is done; links are left alone. */
const withRights = <Result>(folder: string, rights: number, work: () => Result): Result => {
  const stats = lstatSync(folder);
  const { mode } = stats;
  if ((mode & rights) === rights || !stats.isDirectory() || stats.uid !== process.getuid?.()) return work();
  chmodSync(folder, mode | rights);
  try {
    return work();
  } finally {
    chmodSync(folder, mode);
  }
};

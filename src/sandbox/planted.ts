import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, renameSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { foldersUp } from '../process/trusted-path.ts';
import { isWithin } from '../process/which.ts';
import { commandLine } from '../text/shell-words.ts';

/** Returns the inodes of files by path, to detect replaced ones later. */
export const identitiesOf = (paths: readonly string[]): ReadonlyMap<string, number> =>
  new Map(paths.flatMap((path) => (statOf(path)?.isFile() ? [[path, statOf(path)!.ino] as const] : [])));

/**
 * Returns a line for each replaced file. A file that a process outside replaces is writable in the sandbox from then
 * on.
 */
export const replacedSince = (before: ReadonlyMap<string, number>): string[] =>
  [...before]
    .filter(([path, ino]) => statOf(path)?.ino !== ino)
    .map(
      ([path]) =>
        `${path} was replaced while a command ran in the sandbox, which could write to it from then on: check its contents.`,
    );

/** Returns the paths that exist, including dangling links. */
export const existing = (paths: readonly string[]): string[] => paths.filter(isThere);

/** A path that does not exist, and its parent folders that a process in the sandbox could replace with a link. */
export interface AbsentPath {
  readonly path: string;
  /** Parent folders, outermost first, except existing links. */
  readonly way: readonly string[];
}

export const absentPath = (path: string, writable: readonly string[]): AbsentPath => {
  const way = writable
    .filter((folder) => folder !== path && isWithin(path, folder))
    .map((folder) => foldersBetween(folder, path))
    .toSorted((one, other) => other.length - one.length)[0];
  return { path, way: (way ?? []).filter((folder) => !isLink(folder)) };
};

/** Returns the folders below `folder` and above `path`. */
const foldersBetween = (folder: string, path: string): string[] => {
  const parent = dirname(path);
  return parent === folder || parent === path ? [] : [...foldersBetween(folder, parent), parent];
};

/** Moves away protected paths that were created in the sandbox. Returns a line for each. */
export const quarantinePlanted = (absent: readonly AbsentPath[]): string[] =>
  absent.flatMap(({ path, way }) => {
    // What is behind a link is not in the sandbox: the link itself was planted.
    const planted = way.find(isLink) ?? path;
    if (!isThere(planted)) return [];
    const quarantined = `${planted}.from-sandbox-${randomBytes(4).toString('hex')}`;
    rename(planted, quarantined);
    const back = commandLine('mv', quarantined, planted);
    return [`The sandbox protects ${path}: what was created there is now ${quarantined}. If it is your own: ${back}`];
  });

/** Works even if permissions of folders were removed. */
const rename = (from: string, to: string): void =>
  withReachable(from, () => withPermissions(dirname(from), 0o300, () => renameSync(from, to)));

const isLink = (path: string): boolean => statOf(path)?.isSymbolicLink() ?? false;

const isThere = (path: string): boolean => statOf(path) !== null;

/** Returns null if nothing exists. Also finds paths in folders without permissions. */
const statOf = (path: string): Stats | null => {
  try {
    return lstatSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return null;
    return withReachable(path, () => lstatSync(path, { throwIfNoEntry: false }) ?? null);
  }
};

/** Grants search permission on all parent folders of the current user during `work`. */
const withReachable = <Result>(path: string, work: () => Result): Result =>
  foldersUp(dirname(path)).reduce((inner, folder) => () => withPermissions(folder, 0o100, inner), work)();

/** Grants a folder these permissions for its owner during `work`. Links are left alone. */
const withPermissions = <Result>(folder: string, permissions: number, work: () => Result): Result => {
  const stats = lstatSync(folder);
  const { mode } = stats;
  if ((mode & permissions) === permissions || !stats.isDirectory() || stats.uid !== process.getuid?.()) return work();
  chmodSync(folder, mode | permissions);
  try {
    return work();
  } finally {
    chmodSync(folder, mode);
  }
};

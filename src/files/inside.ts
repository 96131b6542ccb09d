import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { atPath, UserError, userError } from '../errors.ts';
import {
  checkFolder,
  isBelow,
  isLink,
  isMissing,
  lookAt,
  lookBelow,
  O_NOFOLLOW,
  O_NONBLOCK,
  unsafe,
  unsafeKind,
  unsafeLink,
  type Wanted,
} from './checks.ts';
import { filesBelow } from './folders.ts';
import { folderNames, ignoredFolderNames } from './read.ts';
import { maxText, readSafely } from './safe.ts';

/*
 * Reads files of a project or a worktree that a clone or an agent may have written, such as specifications. No link below
 * the root is followed: one that leads out of the project would put a private file into a prompt. `write-inside.ts` writes
 * such files.
 */

/** Returns the text of a file; null if it does not exist. Throws if it is a link, not a regular file, or too large. */
export const readInside = (root: string, path: string, limit = maxText): Buffer | null => {
  const file = join(root, path);
  if (isBelow(file)) return readSafely(file, limit);
  const stats = statsInside(root, path, 'file');
  if (stats === null) return null;
  if (!stats.isFile()) throw unsafeKind(file, 'file');
  try {
    return readOpen(file, limit);
  } catch (error) {
    if (isMissing(error)) return null;
    return atPath(file)(error);
  }
};

const readOpen = (path: string, limit: number): Buffer => {
  const file = openSync(path, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || (O_NOFOLLOW === 0 && isLink(path))) throw unsafeKind(path, 'file');
    if (stats.size > limit) throw userError('too-large', path, limit);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
};

export const textInside = (root: string, path: string, limit?: number): string | null =>
  readInside(root, path, limit)?.toString('utf8') ?? null;

/** The names of the folders in a folder, sorted; empty if it is not there. Hidden ones and links are left out. */
export const foldersInside = (root: string, path: string): string[] =>
  isFolderInside(root, path) ? folderNames(join(root, path)) : [];

/** Folders in a folder that `foldersInside` leaves out because of the form of their names. */
export const ignoredFoldersInside = (root: string, path: string): string[] =>
  isFolderInside(root, path) ? ignoredFolderNames(join(root, path)) : [];

/** The sorted paths of all files below a folder, relative to it, with `/`. Links are skipped. */
export const filesInside = (root: string, path: string): string[] =>
  isFolderInside(root, path) ? filesBelow(join(root, path)) : [];

/** Throws if a path exists and is not a folder, or if a link is on the way to it. An empty path is the root. */
export const checkFolderInside = (root: string, path: string): void => {
  const stats = statsInside(root, path, 'folder');
  if (stats !== null && !stats.isDirectory()) throw unsafeKind(join(root, path), 'folder');
};

export const isFolderInside = (root: string, path: string): boolean =>
  statsInside(root, path, 'folder')?.isDirectory() ?? false;

/** Whether anything has this path, even a link or what cannot be looked at. */
export const isPresentInside = (root: string, path: string): boolean => {
  try {
    return statsInside(root, path, null) !== null;
  } catch {
    return true;
  }
};

/** Throws if a path exists and is not a regular file, or if a link is on the way to it. */
export const checkFileInside = (root: string, path: string): void => {
  const stats = statsInside(root, path, 'file');
  if (stats !== null && !stats.isFile()) throw unsafeKind(join(root, path), 'file');
};

export const isFileInside = (root: string, path: string): boolean => statsInside(root, path, 'file')?.isFile() ?? false;

const insideOnly = 'Use a path in the project.';

/** Throws if a path, or a folder on the way to it, is a link, or if it has ".." in it: it could lead out of the project. */
export const checkInside = (root: string, path: string): void => {
  if (namesOf(path).some((name) => name === '' || name === '.')) throw unsafe(path, 'leads elsewhere', insideOnly);
  statsInside(root, path, null);
};

/** Like lstat; returns null if the path does not exist, or only behind a link. */
export const statsIfInside = (root: string, path: string): Stats | null => {
  try {
    return lookInside(root, path);
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
};

/** Returns null if the path does not exist. Throws if it, or a folder on the way to it, is a link. */
const statsInside = (root: string, path: string, wanted: Wanted | null): Stats | null => {
  const stats = lookInside(root, path);
  if (stats?.isSymbolicLink()) throw unsafeLink(join(root, path), wanted);
  return stats;
};

/** The same, but the path itself may be a link. */
export const lookInside = (root: string, path: string): Stats | null => {
  const parts = partsInside(root, path);
  const file = parts.at(-1) ?? root;
  if (isBelow(file)) return lookBelow(file);
  checkFolder(root);
  let stats: Stats | null = null;
  for (const part of parts.length === 0 ? [root] : parts) {
    if (stats?.isSymbolicLink()) throw unsafeLink(dirname(part), 'folder');
    stats = lookAt(part);
    if (stats === null) return null;
  }
  return stats;
};

/**
 * Returns the paths from the root down, without the root. An agent can replace everything in a worktree with a link, also
 * the folder of the project in it: there, the paths begin with that of the worktree.
 */
export const partsInside = (root: string, path: string): string[] => {
  const names = namesOf(path);
  if (names.includes('..')) throw unsafe(path, 'leads elsewhere', insideOnly);
  const above = root.split(sep);
  const worktree = above.findLastIndex((name, index) => name === 'worktrees' && above[index - 1] === '.spool');
  const start = worktree === -1 ? above.length : Math.min(worktree + 1, above.length);
  const all = [...above, ...names.filter((name) => name !== '' && name !== '.')];
  return all.slice(start).map((_, index) => all.slice(0, start + index + 1).join(sep));
};

/** On most systems, a name may have a backslash in it. */
const namesOf = (path: string): string[] => path.split(sep === '/' ? '/' : /[/\\]/);

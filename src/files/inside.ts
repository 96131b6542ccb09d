import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { atPath, userError } from '../errors.ts';
import { isBelow, isLink, isMissing, O_NOFOLLOW, O_NONBLOCK, unsafe } from './checks.ts';
import { filesBelow } from './folders.ts';
import { folderNames } from './read.ts';
import { longestText, readSafely } from './safe.ts';

/*
 * Reads files of a project that a clone or an agent may have written, such as specifications. No link below the root is
 * followed: one that leads out of the project would put a private file into a prompt.
 */

/** Returns the text of a file; null if it does not exist. Throws if it is a link, not a regular file, or too large. */
export const readInside = (root: string, path: string, limit = longestText): Buffer | null => {
  const file = join(root, path);
  if (isBelow(file)) return readSafely(file, limit);
  const stats = statsInside(root, path);
  if (stats === null) return null;
  if (!stats.isFile()) throw unsafe(file, 'is not a regular file');
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
    if (!stats.isFile() || (O_NOFOLLOW === 0 && isLink(path))) throw unsafe(path, 'is not a regular file');
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

/** The sorted paths of all files below a folder, relative to it, with `/`. Links are skipped. */
export const filesInside = (root: string, path: string): string[] =>
  isFolderInside(root, path) ? filesBelow(join(root, path)) : [];

export const isFolderInside = (root: string, path: string): boolean => statsInside(root, path)?.isDirectory() ?? false;

/** Whether anything has this path, even a link or what cannot be looked at. */
export const isPresentInside = (root: string, path: string): boolean => {
  try {
    return statsInside(root, path) !== null;
  } catch {
    return true;
  }
};

/** Throws if a path exists and is not a regular file, or if a link is on the way to it. */
export const checkFileInside = (root: string, path: string): void => {
  const stats = statsInside(root, path);
  if (stats !== null && !stats.isFile()) throw unsafe(join(root, path), 'is not a regular file');
};

export const isFileInside = (root: string, path: string): boolean => statsInside(root, path)?.isFile() ?? false;

/** Throws if a path, or a folder on the way to it, is a link, or if it has ".." in it: it could lead out of the project. */
export const checkInside = (root: string, path: string): void => {
  if (path.split(/[/\\]/).some((name) => name === '' || name === '.' || name === '..'))
    throw unsafe(path, 'leads elsewhere');
  statsInside(root, path);
};

/** Returns null if the path does not exist. Throws if it, or a folder on the way to it, is a link. */
const statsInside = (root: string, path: string): Stats | null => {
  const names = path.split(/[/\\]/);
  let stats: Stats | null = null;
  for (let end = 1; end <= names.length; end++) {
    const part = join(root, ...names.slice(0, end));
    try {
      stats = lstatSync(part, { throwIfNoEntry: false }) ?? null;
    } catch (error) {
      if (isMissing(error)) return null;
      return atPath(part)(error);
    }
    if (stats === null) return null;
    if (stats.isSymbolicLink()) throw unsafe(part, 'is a symbolic link');
  }
  return stats;
};

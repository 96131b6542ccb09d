import { lstatSync, type Stats } from 'node:fs';
import { entriesOf } from './folders.ts';
import { readSafely } from './safe.ts';
import { parseJson } from '../text/shape.ts';

/** Returns the text of a file; null if it does not exist. */
export const readText = (path: string, limit?: number): string | null =>
  readSafely(path, limit)?.toString('utf8') ?? null;

/** Parses a JSON file; returns undefined if it cannot be read or is invalid. */
export const readJson = (path: string): unknown => {
  try {
    return parseJson(readSafely(path)?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
};

/**
 * The names of the folders in a folder, sorted; empty if it is not there. Hidden ones and links are left out, and names
 * that a command line takes for an option, such as `--allow-all`, or that have control characters, such as a line break.
 */
export const folderNames = (path: string): string[] => foldersIn(path).filter((name) => !isIgnored(name));

/** The names that `folderNames` leaves out because of their form. Hidden folders are left out of both. */
export const ignoredFolderNames = (path: string): string[] => foldersIn(path).filter(isIgnored);

/** Neither printable ASCII nor U+00A0 and above: a control character. `\p{Cc}` is slow to create. */
const isIgnored = (name: string): boolean => /^-|[^ -~\u00a0-\uffff]/.test(name);

const foldersIn = (path: string): string[] =>
  entriesOf(path)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .toSorted();

/** Like lstat; returns undefined if the path does not exist or is not accessible. */
export const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

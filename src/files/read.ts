import { lstatSync, type Stats } from 'node:fs';
import { systemProblem, UserError, userError } from '../errors.ts';
import { copyOwn, entriesOf, readOwn } from './own.ts';
import { parseJson } from '../text/shape.ts';

/** The text of a file, null when there is no such file. They are small: going through the thread pool takes longer than reading. */
export const readIfThere = async (path: string, limit?: number): Promise<string | null> =>
  readOwn(path, limit)?.toString('utf8') ?? null;

/** What is in a JSON file; undefined when it cannot be read, or is damaged. */
export const readJson = (path: string): unknown => {
  try {
    return parseJson(readOwn(path)?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
};

/** The names of the folders in a folder, sorted; empty when it is not there. Hidden ones and links are left out. */
export const folderNames = (path: string): string[] =>
  entriesOf(path)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .toSorted();

/** What lstat tells of a path; undefined when nothing is there, or it is out of reach. */
export const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** Copies a file or a folder over what is there. */
export const copy = (from: string, to: string): void => {
  try {
    copyOwn(from, to);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw userError('io', to, systemProblem(error));
  }
};

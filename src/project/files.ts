import { cpSync, type Dirent, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { atPath, systemProblem, userError } from '../errors.ts';
import { parseJson } from './shape.ts';

/** The text of a file, null when there is no such file. They are small: going through the thread pool takes longer than reading. */
export const readIfThere = async (path: string): Promise<string | null> => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return atPath(path)(error);
  }
};

/** What is in a JSON file; undefined when it cannot be read, or is damaged. */
export const readJson = (path: string): unknown => {
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
};

/** The names of the folders in a folder, sorted; empty when it is not there. Hidden ones and links are left out. */
export const folderNames = async (path: string): Promise<string[]> => {
  return entriesOf(path)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .toSorted();
};

/** The files below a folder, with `/` between the parts of their names, sorted; links are left out. Empty when it is not there. */
export const filesBelow = (folder: string): string[] => {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .toSorted();
  } catch {
    return [];
  }
};

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
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to, { recursive: true, force: true });
  } catch (error) {
    throw userError('io', to, systemProblem(error));
  }
};

const entriesOf = (path: string): Dirent[] => {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};

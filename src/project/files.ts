import { readdir, readFile } from 'node:fs/promises';
import { atPath } from '../errors.ts';

/** The answer about a file, null when there is no such file. */
export const ifThere = async <Answer>(answer: Promise<Answer>): Promise<Answer | null> =>
  answer.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

export const readIfThere = (path: string): Promise<string | null> =>
  ifThere(readFile(path, 'utf8').catch(atPath(path)));

/** The names of the folders in a folder, sorted; empty when it is not there. Hidden ones and links are left out. */
export const folderNames = async (path: string): Promise<string[]> => {
  const entries = (await ifThere(readdir(path, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .toSorted();
};

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { atPath } from '../errors.ts';

/** The answer about a file, null when there is no such file. */
export const ifThere = async <Answer>(answer: Promise<Answer>): Promise<Answer | null> =>
  answer.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

/** The text of a file, null when there is no such file. They are small: going through the thread pool takes longer than reading. */
export const readIfThere = async (path: string): Promise<string | null> => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return atPath(path)(error);
  }
};

/** The names of the folders in a folder, sorted; empty when it is not there. Hidden ones and links are left out. */
export const folderNames = async (path: string): Promise<string[]> => {
  const entries = (await ifThere(readdir(path, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .toSorted();
};

import { readFile } from 'node:fs/promises';

/** A file that the user names in a command: it may be a pipe or a link as well. */
export const readGiven = (path: string): Promise<string> => readFile(path, 'utf8');

import { readFile } from 'node:fs/promises';

/** Reads a file that the user names in a command. Pipes and links are allowed. */
export const readUserFile = (path: string): Promise<string> => readFile(path, 'utf8');

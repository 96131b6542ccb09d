import { readFile } from 'node:fs';
import { promisify } from 'node:util';

/** Reads a file that the user names in a command. Pipes and links are allowed. */
export const readUserFile = (path: string): Promise<string> =>
  // `node:fs/promises` takes longer to load than the file takes to read.
  promisify(readFile)(path, 'utf8');

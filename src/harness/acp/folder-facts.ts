import { statSync } from 'node:fs';
import { byteEntries, latin1Path } from '../../files/bytes.ts';
import { isSecret } from '../permissions/decide.ts';

/** Returns false if there is nothing at the path. */
export const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** Folders with more entries are not read to the end. */
const maxEntries = 50_000;

/** Returns whether a folder contains an `.env` file, or may. Installed packages and what git stores do not count. */
export const mayHoldSecrets = (folder: string): boolean => {
  const open = [latin1Path(folder)];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entries = entriesOf(next);
    count += entries?.length ?? 0;
    if (entries === null || count > maxEntries) return true;
    for (const { name, path, kind } of entries) {
      if (isSecret(path)) return true;
      if (kind === 'folder' && name !== 'node_modules' && name !== '.git') open.push(path);
    }
  }
  return false;
};

const entriesOf = (folder: string) => {
  try {
    return byteEntries(folder);
  } catch {
    return null;
  }
};

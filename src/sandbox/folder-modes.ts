import { chmodSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { foldersUp } from '../process/trusted-path.ts';

/** Adds these bits to the mode of a folder of the current user. Links and folders of others are left alone. */
export type Grant = (folder: string | Buffer, bits: number) => void;

/** Calls `work` with a function that adds bits to modes, which are restored at the end. */
export const withGrants = <Result>(work: (grant: Grant) => Result): Result => {
  const granted: { folder: string | Buffer; mode: number }[] = [];
  try {
    return work((folder, bits) => {
      const stats = lstatSync(folder);
      const { mode } = stats;
      if ((mode & bits) === bits || !stats.isDirectory() || stats.uid !== process.getuid?.()) return;
      chmodSync(folder, mode | bits);
      granted.push({ folder, mode });
    });
  } finally {
    // Inner folders first, while they can be reached.
    for (const { folder, mode } of granted.toReversed()) restoreMode(folder, mode);
  }
};

/** Grants search permission on all parent folders. */
export const grantReach = (path: string, grant: Grant): void => {
  for (const folder of foldersUp(dirname(path)).toReversed()) grant(folder, 0o100);
};

/** The folder may be gone. */
const restoreMode = (folder: string | Buffer, mode: number): void => {
  try {
    chmodSync(folder, mode);
  } catch {
    // Nothing is left to restore.
  }
};

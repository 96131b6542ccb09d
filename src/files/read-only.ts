import { chmodSync, lstatSync } from 'node:fs';

/** Makes a file read-only. Folders and links are left alone. */
export const makeReadOnly = (file: Buffer): void => {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile()) chmodSync(file, stats.mode & 0o555);
};

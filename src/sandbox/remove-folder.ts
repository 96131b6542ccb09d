import { chmodSync, rmSync } from 'node:fs';
import { byteEntries, latin1Path, pathBytes } from '../files/bytes.ts';

/** Deletes a folder, even if a process removed permissions. What cannot be deleted stays. */
export const removeFolder = (folder: string): void => {
  if (tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))) return;
  tryTo(() => restorePermissions(latin1Path(folder)));
  tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
};

/** `folder` is in latin1, like the names in it. */
const restorePermissions = (folder: string): void => {
  chmodSync(pathBytes(folder), 0o700);
  for (const { kind, path } of byteEntries(folder)) if (kind === 'folder') tryTo(() => restorePermissions(path));
};

const tryTo = (work: () => void): boolean => {
  try {
    work();
    return true;
  } catch {
    return false;
  }
};

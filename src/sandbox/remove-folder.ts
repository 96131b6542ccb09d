import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Deletes a folder, even if a process removed permissions. What cannot be deleted stays. */
export const removeFolder = (folder: string): void => {
  if (tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))) return;
  tryTo(() => restorePermissions(folder));
  tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
};

const restorePermissions = (folder: string): void => {
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isDirectory()) tryTo(() => restorePermissions(path));
  }
};

const tryTo = (work: () => void): boolean => {
  try {
    work();
    return true;
  } catch {
    return false;
  }
};

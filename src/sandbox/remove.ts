import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Deletes a folder, also where a process has taken the rights away; what cannot be deleted stays. */
export const removeFolder = (folder: string): void => {
  if (tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))) return;
  tryTo(() => giveRights(folder));
  tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
};

const giveRights = (folder: string): void => {
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isDirectory()) tryTo(() => giveRights(path));
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

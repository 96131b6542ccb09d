import { chownSync } from 'node:fs';

/** Makes another user the owner of a file or folder. */
export const giveTo = (path: string, uid: number): void => chownSync(path, uid, uid);

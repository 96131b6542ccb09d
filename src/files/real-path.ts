import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { unsafe } from './checks.ts';

/** Throws if a path below a root, or a folder on the way to it, is a link: it could lead out of the project. */
export const checkRealPath = (root: string, path: string): void => {
  const names = path.split(/[/\\]/);
  if (names.some((name) => name === '' || name === '.' || name === '..')) throw unsafe(path, 'leads elsewhere');
  for (let end = 1; end <= names.length; end++) {
    const part = join(root, ...names.slice(0, end));
    const stats = lstatSync(part, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (stats.isSymbolicLink()) throw unsafe(part, 'is a symbolic link');
  }
};

import { existsSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isObject, parseJson } from '../text/shape.ts';
import { readSafely } from './safe.ts';

/**
 * Creates the links that an npm package lists in a file, as its install script would: packages cannot contain links, and
 * scripts may be disabled. Links only lead to files in the same folder.
 */
export const restoreLinks = (folder: string, list: string): void => {
  const links = parseJson(readSafely(join(folder, list))?.toString('utf8') ?? '');
  if (!Array.isArray(links)) return;
  for (const link of links as unknown[]) {
    if (!isObject(link) || typeof link.source !== 'string' || typeof link.target !== 'string') continue;
    const to = join(folder, link.target);
    if (dirname(link.source) !== dirname(link.target) || existsSync(to)) continue;
    try {
      symlinkSync(basename(link.source), to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
};

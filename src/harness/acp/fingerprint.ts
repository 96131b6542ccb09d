import { createHash } from 'node:crypto';
import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { anyPath, namesIn } from '../../files/bytes.ts';
import { readRegular } from '../../files/regular.ts';

/**
 * Returns a text that changes when one of these files or folders changes, is created or is deleted. Relative names are
 * below `folder`. A folder stands for all that is in it. An empty folder counts as missing. A link stands for where it
 * leads and for what is there, once; links inside a folder are not followed. Large files and files that are not regular
 * count by size and time.
 */
export const fingerprintOf = (folder: string, files: readonly string[]): string => {
  const hash = createHash('sha256');
  const budget = { entries: maxEntries, bytes: maxBytes };
  for (const file of files) add(join(file.startsWith('/') ? '/' : folder, file), { hash, budget, depth: 0 });
  return hash.digest('hex');
};

/** A folder of settings with more than this is not one. */
const maxEntries = 2000;
const maxBytes = 16 * 1024 * 1024;
const maxFile = 1024 * 1024;
const maxDepth = 8;

/** Folders of dependencies and histories, which agents do not read as settings. */
const skipped = new Set(['node_modules', '.git']);

interface Walk {
  readonly hash: ReturnType<typeof createHash>;
  readonly budget: { entries: number; bytes: number };
  readonly depth: number;
}

const add = (path: string, walk: Walk): void => {
  const stats = skipped.has(basename(path)) ? null : lstat(path);
  if (stats === null || walk.budget.entries-- <= 0) return;
  // Not of a folder: agents create empty ones when they start.
  if (!stats.isDirectory()) walk.hash.update(`\0${path}\0`);
  if (stats.isSymbolicLink()) {
    walk.hash.update(`link ${linkTarget(path)}`);
    // A file that a link leads to is read; a folder would have to be walked, possibly in a circle.
    if (walk.depth === 0) walk.hash.update(contentOf(path, walk));
    return;
  }
  if (!stats.isDirectory()) {
    walk.hash.update(stats.isFile() && stats.size <= maxFile ? contentOf(path, walk) : signOf(stats));
    return;
  }
  if (walk.depth >= maxDepth) return;
  for (const name of sortedNames(path))
    if (!skipped.has(name)) add(join(path, name), { ...walk, depth: walk.depth + 1 });
};

const lstat = (path: string): Stats | null => {
  try {
    return lstatSync(anyPath(path), { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
};

const linkTarget = (path: string): string => {
  try {
    return readlinkSync(anyPath(path));
  } catch {
    return '';
  }
};

const signOf = ({ size, mtimeMs, ino }: Stats): string => `${size} ${mtimeMs} ${ino}`;

const contentOf = (path: string, { budget }: Walk): Buffer | string => {
  try {
    const bytes = budget.bytes <= 0 ? null : readRegular(anyPath(path), { limit: maxFile });
    if (bytes === null) return 'not read';
    budget.bytes -= bytes.length;
    return /\.jsonc?$/.test(path) ? withoutSchema(bytes) : bytes;
  } catch {
    return 'unreadable';
  }
};

/** OpenCode adds its schema to a file of settings that has none when it starts. */
const withoutSchema = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replaceAll(/\s/g, '')
    .replace(/"\$schema":"[^"]*",?/, '');

const sortedNames = (path: string): string[] => {
  try {
    return namesIn(path).toSorted();
  } catch {
    return [];
  }
};

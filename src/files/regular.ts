import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { isMissing, O_NONBLOCK } from './checks.ts';
import { maxText } from './safe.ts';

/**
 * Reads a file of the user or of git, from a byte offset. Returns null if it does not exist, is not a regular file, or is
 * larger than `limit`. Reads at most `length` bytes. Follows links.
 */
export const readRegular = (
  path: string | Buffer,
  { from = 0, limit = Infinity, length = Infinity } = {},
): Buffer | null => {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENXIO') return null;
    throw error;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size - from > limit) return null;
    const rest = Math.max(stats.size - from, 0);
    return from === 0 && rest <= length ? readFileSync(file) : readFrom(file, from, Math.min(rest, length));
  } finally {
    closeSync(file);
  }
};

/** Returns the text of a file of the user or of git; empty if it cannot be read, or is larger than any real text. */
export const textIfReadable = (path: string): string => {
  try {
    return readRegular(path, { limit: maxText })?.toString('utf8') ?? '';
  } catch {
    return '';
  }
};

const readFrom = (file: number, from: number, size: number): Buffer => {
  const bytes = Buffer.allocUnsafe(size);
  return bytes.subarray(0, readSync(file, bytes, 0, size, from));
};

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

interface ReadOptions {
  readonly flags?: number;
  readonly isAllowed?: (stats: Stats) => boolean;
}

/**
 * Returns null if the file is not allowed, or becomes shorter while it is read. `readFileSync` does the same, but Node
 * would have to compile more of itself.
 */
export const readFile = (
  path: string,
  { flags = constants.O_RDONLY, isAllowed = () => true }: ReadOptions = {},
): Buffer | null => {
  const file = openSync(path, flags);
  try {
    const stats = fstatSync(file);
    if (!isAllowed(stats)) return null;
    const bytes = Buffer.allocUnsafeSlow(stats.size);
    return readSync(file, bytes) === stats.size ? bytes : null;
  } finally {
    closeSync(file);
  }
};

import { closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { openSafely, readSafely, writeAll } from '../../files/safe.ts';

/** Appends a line in one write. */
export const appendLine = (path: string, line: string): void => {
  createFolder(dirname(path));
  const file = openSafely(path, 'append');
  try {
    writeAll(file, line);
  } finally {
    closeSync(file);
  }
};

export const linesIn = (path: string): string[] =>
  readSafely(path, Infinity)?.toString('utf8').split('\n').filter(Boolean) ?? [];

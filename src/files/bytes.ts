import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Names of files may be any bytes. Decoded as UTF-8, a name that is none leads to no file. Paths are in latin1 here,
 * which preserves every byte, so that they are strings with the same separators.
 */

/** Converts a path of Node. */
export const latin1Path = (path: string): string => Buffer.from(path).toString('latin1');

/** Converts a path for a call of the file system. */
export const pathBytes = (path: string): Buffer => Buffer.from(path, 'latin1');

/** Converts a path for display: bytes that are not UTF-8 are lost. */
export const displayPath = (path: string): string => pathBytes(path).toString('utf8');

export interface ByteEntry {
  readonly name: string;
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

/** Returns the entries of a folder, which may be any folder of the user. Follows no link in them. */
export const byteEntries = (folder: string): ByteEntry[] =>
  readdirSync(pathBytes(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => {
    const name = (entry.name as unknown as Buffer).toString('latin1');
    const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other';
    return { name, path: join(folder, name), kind };
  });

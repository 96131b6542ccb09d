import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Names of files may be any bytes. Decoded as UTF-8, a name that is not UTF-8 cannot be opened. Paths are in latin1 here,
 * which preserves every byte, so that they are strings with the same separators.
 */

/** Converts a path of Node. */
export const latin1Path = (path: string): string => Buffer.from(path).toString('latin1');

/** Converts a path for a call of the file system. */
export const pathBytes = (path: string): Buffer => Buffer.from(path, 'latin1');

/** Converts a path for display: bytes that are not UTF-8 are lost. */
export const displayPath = (path: string): string => pathBytes(path).toString('utf8');

/**
 * Converts a name to a string from which `anyPath` makes the same bytes. A name that is not UTF-8 gets a lone surrogate for
 * each byte that is not ASCII, which no name in UTF-8 has.
 */
const anyName = (bytes: Buffer): string => {
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  return bytes
    .toString('latin1')
    .replaceAll(/[\x80-\xff]/g, (char) => String.fromCharCode(0xdc00 + char.charCodeAt(0)));
};

/** Converts a path that consists of names of `anyName`. */
export const anyPath = (path: string): string | Buffer => {
  if (!loneSurrogate.test(path)) return path;
  const names = path.split('/').map((name) => Buffer.from(name, loneSurrogate.test(name) ? 'latin1' : 'utf8'));
  return Buffer.concat(names.flatMap((name, index) => (index === 0 ? [name] : [slash, name])));
};

const loneSurrogate = /[\udc80-\udcff]/u;
const slash = Buffer.from('/');

export interface ByteEntry {
  readonly name: string;
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

/** Returns the names in a folder for `anyPath`. */
export const namesIn = (folder: string): string[] => readdirSync(anyPath(folder), { encoding: 'buffer' }).map(anyName);

/** Returns the entries of a folder, which may be any folder of the user. Follows no link in them. */
export const byteEntries = (folder: string): ByteEntry[] =>
  readdirSync(pathBytes(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => {
    const name = (entry.name as unknown as Buffer).toString('latin1');
    const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other';
    return { name, path: join(folder, name), kind };
  });

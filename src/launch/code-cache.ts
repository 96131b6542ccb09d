import { constants, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { nodeKey } from './node-key.ts';
import { readFile } from './read-file.ts';
import { packCode, unpackCode, type StoredCode } from './stored-code.ts';

interface CodeToStore {
  readonly path: string;
  readonly source: Buffer;
  readonly code: Buffer;
  /** How many processes have stored code of this file. */
  readonly writes: number;
}

export interface CodeCache {
  readonly isWritable: boolean;
  /** Returns null if there is no code for exactly this source. */
  read(path: string, source: Buffer): StoredCode | null;
  /** Never fails. What cannot be written is not stored. */
  write(codes: () => Iterable<CodeToStore>): void;
}

/**
 * The compiled code of the program, in a folder beside it. V8 runs what is in such a file without checking it, so only
 * files of the program's owner that no one else can write are read: the owner can change the program as well.
 * Returns null where code is not stored: on Windows, which does not tell the owner, and if Node has unusual options.
 */
export const openCodeCache = (program: string): CodeCache | null => {
  const key = nodeKey();
  const user = process.geteuid?.();
  if (key === null || user === undefined) return null;
  const { uid: owner, ino: inode } = statSync(program);
  const all = join(program, 'cache');
  const folder = join(all, key);
  const fileOf = (path: string) => join(folder, `${basename(path)}.bin`);
  return {
    isWritable: owner === user,
    read: (path, source) => {
      const bytes = readOwned(fileOf(path), owner);
      return bytes && unpackCode(bytes, source);
    },
    write: (codes) => {
      try {
        // A process may outlive its program, which is replaced by an update.
        if (statSync(program).ino !== inode || !makeFolder(all, user)) return;
        removeOldest(all, key);
        if (!makeFolder(folder, user)) return;
        for (const { path, ...parts } of codes()) replace(fileOf(path), packCode(parts));
      } catch {
        // The program works without.
      }
    },
  };
};

const writableByOthers = 0o022;
const maxBytes = 16 * 1024 * 1024;

const readOwned = (path: string, owner: number): Buffer | null => {
  try {
    return readFile(path, {
      flags: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      isAllowed: ({ uid, mode, size }) =>
        (mode & constants.S_IFMT) === constants.S_IFREG &&
        uid === owner &&
        !(mode & writableByOthers) &&
        size <= maxBytes,
    });
  } catch {
    return null;
  }
};

/** Returns whether it is a folder of this user that no one else can write. */
const makeFolder = (path: string, user: number): boolean => {
  try {
    mkdirSync(path, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  const stats = lstatSync(path);
  return stats.isDirectory() && stats.uid === user && !(stats.mode & writableByOthers);
};

/** Versions and options of Node whose code is kept. */
const maxFolders = 4;

const removeOldest = (all: string, key: string): void => {
  const names = readdirSync(all);
  if (names.includes(key)) return;
  const byAge = names.map((name) => join(all, name)).toSorted((a, b) => lstatSync(b).mtimeMs - lstatSync(a).mtimeMs);
  for (const path of byAge.slice(maxFolders - 1)) rmSync(path, { recursive: true, force: true });
};

/** After this time, a process that left its temporary file was killed. */
const abandonedMs = 60_000;

const replace = (path: string, bytes: Buffer): void => {
  const temporary = `${path}.tmp`;
  try {
    writeFileSync(temporary, bytes, { flag: 'wx', mode: 0o644 });
    renameSync(temporary, path);
  } catch (error) {
    const isOfAnother = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (isOfAnother && Date.now() - lstatSync(temporary).mtimeMs < abandonedMs) return;
    rmSync(temporary, { recursive: true, force: true });
  }
};

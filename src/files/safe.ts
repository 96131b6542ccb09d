import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { atPath, userError } from '../errors.ts';
import {
  checkFolder,
  isBelow,
  isLink,
  isMissing,
  isOurs,
  isPrivate,
  modeOfFile,
  O_NOFOLLOW,
  O_NONBLOCK,
  unsafe,
  unsafeKind,
  unsafeLink,
  unsafeOwner,
} from './checks.ts';

/*
 * Safe access to files below `.spool`, where agents and clones can write too. Links below `.spool` are not followed. Only
 * regular files are read, and only files of the user without a second hard link are written. No call blocks on a pipe or
 * device. A lint rule prevents other modules from accessing such files directly. Outside of `.spool` the folders on the
 * way to a file are not checked: `inside.ts` and `write-inside.ts` access other files of a project or worktree.
 */

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND } = constants;

/** Maximum size of a file that is read; real texts are much shorter. */
export const maxText = 16 * 1024 * 1024;

export type Access = 'read' | 'write' | 'append' | 'update' | 'create';

const flagsFor: Readonly<Record<Access, number>> = {
  read: O_RDONLY,
  write: O_WRONLY | O_CREAT,
  append: O_RDWR | O_CREAT | O_APPEND,
  update: O_RDWR | O_CREAT,
  create: O_WRONLY | O_CREAT | O_EXCL,
};

/** Returns a file descriptor, without truncating the file. Throws like `openSync` if it is missing or not accessible. */
export const openSafely = (path: string, access: Access): number => openWithSize(path, access).file;

interface Opened {
  readonly file: number;
  readonly size: number;
}

const openWithSize = (path: string, access: Access): Opened => {
  checkFolder(dirname(path));
  const file = open(path, access);
  try {
    const stats = fstatSync(file);
    checkFile(path, stats, access);
    return { file, size: stats.size };
  } catch (error) {
    closeSync(file);
    throw error;
  }
};

/**
 * Opens a file for new contents. An empty file is not truncated: ext4 starts to write a truncated file to the disk as soon
 * as it is closed, and the close waits for that.
 */
export const openEmpty = (path: string, access: 'write' | 'create' = 'write'): number => {
  const { file, size } = openWithSize(path, access);
  try {
    if (size > 0) ftruncateSync(file);
    return file;
  } catch (error) {
    closeSync(file);
    return atPath(path)(error);
  }
};

const open = (path: string, access: Access): number => {
  try {
    const noFollow = access !== 'read' || isBelow(path) ? O_NOFOLLOW : 0;
    return openSync(path, flagsFor[access] | O_NONBLOCK | noFollow, modeOfFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'EMLINK') throw unsafeLink(path, 'file');
    if (code === 'ENXIO') throw unsafeKind(path, 'file');
    throw error;
  }
};

const checkFile = (path: string, stats: Stats, access: Access): void => {
  if (stats.isDirectory())
    throw Object.assign(new Error('EISDIR: illegal operation on a directory'), {
      code: 'EISDIR',
      syscall: 'read',
      path,
    });
  if (!stats.isFile()) throw unsafeKind(path, 'file');
  if (O_NOFOLLOW === 0 && isBelow(path) && isLink(path)) throw unsafeLink(path, 'file');
  if (isPrivate(path) && !isOurs(stats)) throw unsafeOwner(path, stats);
  if (access !== 'read' && stats.nlink > 1)
    throw unsafe(path, 'has a second name elsewhere (a hard link)', 'Replace it with a copy.');
};

/** Files that existed when they were last read. Others are looked for first, which is much faster than an exception. */
const existing = new Set<string>();

/** Returns the contents of a file; null if it does not exist. Throws if it is larger than `limit`. */
export const readSafely = (path: string, limit = maxText): Buffer | null => {
  let opened: Opened;
  try {
    if (!existing.has(path) && lstatSync(path, { throwIfNoEntry: false }) === undefined && checkFolder(dirname(path)))
      return null;
    opened = openWithSize(path, 'read');
    existing.add(path);
  } catch (error) {
    existing.delete(path);
    if (isMissing(error)) return null;
    return atPath(path)(error);
  }
  try {
    if (opened.size > limit) throw userError('too-large', path, limit);
    return readUpTo(opened.file, opened.size);
  } finally {
    closeSync(opened.file);
  }
};

/** Unlike `readFileSync`, does not stat the file again. */
const readUpTo = (file: number, size: number): Buffer => {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for (let read = -1; read !== 0 && length < size; length += read)
    read = readSync(file, bytes, length, size - length, null);
  return bytes.subarray(0, length);
};

/** Reads an open file to its end. */
export const readAll = (file: number): Buffer => readFileSync(file);

/** Writes all data at the current position of an open file. */
export const writeAll = (file: number, data: string | Uint8Array): void => writeFileSync(file, data);

/** Writes a file, replacing its contents. */
export const writeSafely = (path: string, data: string | Uint8Array, access: 'write' | 'create' = 'write'): void => {
  const file = openEmpty(path, access);
  try {
    writeFileSync(file, data);
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

/** Replaces a file atomically: a reader, or a crash, sees the old or the new file. The old one may be anything. */
export const replaceSafely = (path: string, data: string | Uint8Array): void => {
  const draft = `${path}.${crypto.randomUUID()}`;
  const file = openSafely(draft, 'create');
  try {
    writeFileSync(file, data);
    copyMode(file, path);
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

/** Preserves the mode of a file of the user. */
const copyMode = (file: number, path: string): void => {
  const before = isPrivate(path) ? undefined : lstatSync(path, { throwIfNoEntry: false });
  if (before?.isFile()) fchmodSync(file, before.mode & 0o777);
};

export const renameSafely = (from: string, to: string): void => {
  checkFolder(dirname(from));
  checkFolder(dirname(to));
  renameSync(from, to);
};

/** Creates a hard link; throws EEXIST if the target exists. */
export const linkSafely = (from: string, to: string): void => {
  checkFolder(dirname(from));
  checkFolder(dirname(to));
  linkSync(from, to);
};

/** Updates the modification time. */
export const touchSafely = (path: string): void => {
  checkFolder(dirname(path));
  if (isLink(path)) throw unsafeLink(path, 'file');
  const now = new Date();
  utimesSync(path, now, now);
};

/** Deletes a file, or a folder recursively, without following links. */
export const removeSafely = (path: string): void => {
  checkFolder(dirname(path));
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
};

import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  type Dirent,
  type Stats,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { atPath, systemProblem, userError } from '../errors.ts';

/*
 * Safe access to files below `.spool`, where agents and clones can write too. Links below `.spool` are not followed. Only
 * regular files are read, and only files of the user without a second hard link are written. No call blocks on a pipe or
 * device. A lint rule prevents other modules from accessing such files directly.
 */

/** The last two are missing on Windows, where creating a link needs a privilege that agents rarely have. */
const {
  O_RDONLY,
  O_WRONLY,
  O_RDWR,
  O_CREAT,
  O_EXCL,
  O_APPEND,
  COPYFILE_EXCL,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
} = constants;

/** Maximum size of a file that is read; real texts are much shorter. */
export const longestText = 16 * 1024 * 1024;

const privateFile = 0o600;
const privateFolder = 0o700;
const sharedFile = 0o666;
const sharedFolder = 0o777;

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

const openWithSize = (path: string, access: Access): { readonly file: number; readonly size: number } => {
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

const open = (path: string, access: Access): number => {
  try {
    const mode = isPrivate(path) ? privateFile : sharedFile;
    return openSync(path, flagsFor[access] | O_NONBLOCK | (isBelow(path) ? O_NOFOLLOW : 0), mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'EMLINK') throw unsafe(path, 'is a symbolic link');
    if (code === 'ENXIO') throw unsafe(path, 'is not a regular file');
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
  if (!stats.isFile()) throw unsafe(path, 'is not a regular file');
  if (O_NOFOLLOW === 0 && isBelow(path) && isLink(path)) throw unsafe(path, 'is a symbolic link');
  if (isPrivate(path) && !isOurs(stats)) throw unsafe(path, `belongs to another user (${stats.uid})`);
  if (access !== 'read' && stats.nlink > 1) throw unsafe(path, 'has a second name elsewhere (a hard link)');
};

/** Returns the contents of a file; null if it does not exist. Throws if it is larger than `limit`. */
export const readSafely = (path: string, limit = longestText): Buffer | null => {
  let opened: { readonly file: number; readonly size: number };
  try {
    // A stat is much faster than an exception.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined && checkFolder(dirname(path))) return null;
    opened = openWithSize(path, 'read');
  } catch (error) {
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

/**
 * Reads a file of the user or of git, from a byte offset. Returns null if it does not exist, is not a regular file, or is
 * larger than `limit`. Follows links.
 */
export const readRegular = (path: string | Buffer, { from = 0, limit = Infinity } = {}): Buffer | null => {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENXIO') return null;
    throw error;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size - from > limit) return null;
    return from === 0 ? readFileSync(file) : readFrom(file, from, Math.max(stats.size - from, 0));
  } finally {
    closeSync(file);
  }
};

const readFrom = (file: number, from: number, size: number): Buffer => {
  const bytes = Buffer.allocUnsafe(size);
  return bytes.subarray(0, readSync(file, bytes, 0, size, from));
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
  const file = openSafely(path, access);
  try {
    ftruncateSync(file);
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
  if (isLink(path)) throw unsafe(path, 'is a symbolic link');
  const now = new Date();
  utimesSync(path, now, now);
};

/** Deletes a file, or a folder recursively, without following links. */
export const removeSafely = (path: string): void => {
  checkFolder(dirname(path));
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
};

/** Creates a folder and its parents. Returns whether it was missing. Folders below `.state` are private to the user. */
export const createFolder = (path: string): boolean => {
  if (created.has(path) && isThere(path)) return false;
  created.add(path);
  if (!isBelow(path))
    return mkdirSync(path, { recursive: true, mode: isPrivate(path) ? privateFolder : sharedFolder }) !== undefined;
  let isNew = false;
  for (const part of partsOf(path)) isNew = createOne(part);
  checkFolder(path);
  return isNew;
};

/** Creates a folder below `parent` that only the user can open; its name begins with `prefix` and cannot be guessed. */
export const createPrivateFolder = (parent: string, prefix: string): string => {
  createFolder(parent);
  return mkdtempSync(join(parent, prefix));
};

/** Folders that this process has created, or whose mode it has set. */
const created = new Set<string>();

const isThere = (folder: string): boolean => {
  const identity = identityOf(folder);
  return isOutside(folder) ? identity !== null : isChecked(folder, identity);
};

const createOne = (path: string): boolean => {
  const mode = isPrivate(path) ? privateFolder : sharedFolder;
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const stats = lstatSync(path);
  checkOneFolder(path, stats);
  if (isPrivate(path) && process.platform !== 'win32' && (stats.mode & 0o077) !== 0) chmodSync(path, mode);
  return false;
};

/**
 * Copies a file or folder, replacing the target. Links are copied as links; none on the path to the target is followed,
 * not even in a worktree. Anything but files, folders and links is skipped.
 */
export const copySafely = (from: string, to: string): void => {
  const stats = lstatSync(from);
  if (stats.isDirectory()) {
    createReal(to);
    for (const name of readdirSync(from)) copySafely(join(from, name), join(to, name));
    return;
  }
  createReal(dirname(to));
  rmSync(to, { recursive: true, force: true });
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (stats.isFile()) copyFileSync(from, to, COPYFILE_EXCL);
};

/** Creates a folder and its parents, none of which may be a link. */
const createReal = (path: string): void => {
  const names = path.split(sep);
  const first = names.indexOf('.spool');
  if (first === -1) mkdirSync(path, { recursive: true });
  else for (let end = first + 1; end <= names.length; end++) createOne(names.slice(0, end).join(sep));
};

/** Returns the entries of a folder; empty if it does not exist. */
export const entriesOf = (folder: string): Dirent[] => {
  if (!checkFolder(folder)) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

/** Returns the sorted paths of all files below a folder, relative to it, with `/`. Links are skipped. */
export const filesBelow = (folder: string): string[] =>
  entriesOf(folder)
    .flatMap((entry) => {
      if (entry.isFile()) return [entry.name];
      return entry.isDirectory() ? filesBelow(join(folder, entry.name)).map((name) => `${entry.name}/${name}`) : [];
    })
    .toSorted();

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Folders that were checked from `.spool` down, with their identity at that time. */
const checked = new Map<string, string>();

/** Returns false if a folder below `.spool` does not exist. Throws if it or a parent is not a folder of the user. */
const checkFolder = (folder: string): boolean => {
  if (isOutside(folder)) return true;
  const identity = identityOf(folder);
  if (identity === null && lstatSync(folder, { throwIfNoEntry: false }) === undefined && isBelow(dirname(folder))) {
    checkFolder(dirname(folder));
    return false;
  }
  if (isChecked(folder, identity)) return true;
  for (const part of partsOf(folder)) {
    const stats = lstatSync(part, { throwIfNoEntry: false });
    if (stats === undefined) return false;
    checkOneFolder(part, stats);
  }
  if (identity !== null) checked.set(folder, identity);
  return identity !== null;
};

const isChecked = (folder: string, identity: string | null): boolean =>
  identity !== null && checked.get(folder) === identity;

const identityOf = (folder: string): string | null => {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    return stats ? `${stats.dev}/${stats.ino}` : null;
  } catch (error) {
    if (isMissing(error)) return null;
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw unsafe(folder, 'is a symbolic link');
    return atPath(folder)(error);
  }
};

const checkOneFolder = (path: string, stats: Stats): void => {
  if (stats.isSymbolicLink()) throw unsafe(path, 'is a symbolic link');
  if (!stats.isDirectory()) throw userError('io', path, systemProblem({ code: 'ENOTDIR' }));
  if (!isOurs(stats)) throw unsafe(path, `belongs to another user (${stats.uid})`);
};

/**
 * Returns the paths from the first `.spool` down; empty for a path outside of `.spool`. The contents of a worktree are the
 * user's code, which may contain links, except for a `.spool` there.
 */
const partsOf = (path: string): string[] => {
  const names = path.split(sep);
  const [first, last] = [names.indexOf('.spool'), names.lastIndexOf('.spool')];
  if (first === -1) return [];
  if (names.includes('..', first)) throw unsafe(path, 'has ".." in it');
  const end = names[last + 1] === 'worktrees' ? last + 3 : names.length;
  return names.slice(first, end).map((_, index) => names.slice(0, first + index + 1).join(sep));
};

const spoolFolder = `${sep}.spool${sep}`;
const worktrees = `worktrees${sep}`;

/** Whether a file belongs to Spool, rather than to the user's code in a worktree. */
const isBelow = (path: string): boolean => {
  const start = `${path}${sep}`.lastIndexOf(spoolFolder);
  if (start === -1) return false;
  const below = start + spoolFolder.length;
  return !path.startsWith(worktrees, below) || !path.includes(sep, below + worktrees.length);
};

/** The state, and files outside of projects, are private to the user. */
const isPrivate = (path: string): boolean => path.includes(`${spoolFolder}.state`) || isOutside(path);

const isOutside = (path: string): boolean => !`${path}${sep}`.includes(spoolFolder);

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const uidOfProcess = process.getuid?.();

/** Files of root are accepted, as root can do anything anyway, and with sudo those of the original user. */
export const isOurs = ({ uid }: Pick<Stats, 'uid'>): boolean => {
  if (uidOfProcess === undefined || uid === uidOfProcess || uid === 0) return true;
  const others = [process.env.SPOOL_OWNER, uidOfProcess === 0 ? process.env.SUDO_UID : undefined];
  return others.some((other) => other !== undefined && other === String(uid));
};

const unsafe = (path: string, why: string) => userError('unsafe-file', path, why);

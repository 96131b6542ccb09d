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
 * The one way to files below `.spool`, where agents and clones can write as well. No link is followed from `.spool`
 * down. A file is a regular one, and one that is written to is our own and has no second name. Nothing blocks, whatever
 * somebody has put there. A lint rule keeps the rest of Spool from opening, writing and deleting such files by itself.
 */

/** Missing on Windows, where making a link needs rights that agents seldom have. */
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

/** For reading: texts that people and agents write are much shorter. */
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

/** The descriptor of a file; it is not truncated. Fails like `openSync` when it is missing or out of reach. */
export const openOwn = (path: string, access: Access): number => openWithSize(path, access).file;

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

/** What a file holds; null when there is none. One that is longer than `limit` is an error. */
export const readOwn = (path: string, limit = longestText): Buffer | null => {
  let opened: { readonly file: number; readonly size: number };
  try {
    // An error takes much longer than a question.
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
 * What a file of the user's, or of git's, holds from a byte on; null when there is none, or something that is no regular
 * file, or more than `limit`. Links are followed.
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

/** Asks for the size no second time, as `readFileSync` does. */
const readUpTo = (file: number, size: number): Buffer => {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for (let read = -1; read !== 0 && length < size; length += read)
    read = readSync(file, bytes, length, size - length, null);
  return bytes.subarray(0, length);
};

/** All that an open file holds. */
export const readAll = (file: number): Buffer => readFileSync(file);

/** Writes all of it where the file stands. */
export const writeAll = (file: number, data: string | Uint8Array): void => writeFileSync(file, data);

/** Writes a file, over what it held before. */
export const writeOwn = (path: string, data: string | Uint8Array, access: 'write' | 'create' = 'write'): void => {
  const file = openOwn(path, access);
  try {
    ftruncateSync(file);
    writeFileSync(file, data);
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

/** Replaces a file as a whole: a reader, or a crash, sees the old or the new one. What was there may be anything. */
export const replaceOwn = (path: string, data: string | Uint8Array): void => {
  const draft = `${path}.${crypto.randomUUID()}`;
  const file = openOwn(draft, 'create');
  try {
    writeFileSync(file, data);
    keepMode(file, path);
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

/** A file of the user's keeps the mode that it had. */
const keepMode = (file: number, path: string): void => {
  const before = isPrivate(path) ? undefined : lstatSync(path, { throwIfNoEntry: false });
  if (before?.isFile()) fchmodSync(file, before.mode & 0o777);
};

export const renameOwn = (from: string, to: string): void => {
  checkFolder(dirname(from));
  checkFolder(dirname(to));
  renameSync(from, to);
};

/** Gives a file a second name; fails with EEXIST when that is taken. */
export const linkOwn = (from: string, to: string): void => {
  checkFolder(dirname(from));
  checkFolder(dirname(to));
  linkSync(from, to);
};

/** Shows that a file is still in use. */
export const touchOwn = (path: string): void => {
  checkFolder(dirname(path));
  if (isLink(path)) throw unsafe(path, 'is a symbolic link');
  const now = new Date();
  utimesSync(path, now, now);
};

/** Removes a file or a folder with all that is in it, but nothing behind a link. */
export const removeOwn = (path: string): void => {
  checkFolder(dirname(path));
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
};

/** Creates a folder and those above it; says whether it had to. Below `.state` nobody else may look into them. */
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

/** Folders that this process has created, or given their mode. */
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
 * Copies a file or a folder over what is there. A link is copied as a link, and none on the way to the target is
 * followed, also not in a worktree; what is neither file nor folder is left out.
 */
export const copyOwn = (from: string, to: string): void => {
  const stats = lstatSync(from);
  if (stats.isDirectory()) {
    createReal(to);
    for (const name of readdirSync(from)) copyOwn(join(from, name), join(to, name));
    return;
  }
  createReal(dirname(to));
  rmSync(to, { recursive: true, force: true });
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (stats.isFile()) copyFileSync(from, to, COPYFILE_EXCL);
};

/** Creates a folder and those above it, none of them a link. */
const createReal = (path: string): void => {
  const names = path.split(sep);
  const first = names.indexOf('.spool');
  if (first === -1) mkdirSync(path, { recursive: true });
  else for (let end = first + 1; end <= names.length; end++) createOne(names.slice(0, end).join(sep));
};

/** What is in a folder; empty when there is none. */
export const entriesOf = (folder: string): Dirent[] => {
  if (!checkFolder(folder)) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

/** The files below a folder, as paths relative to it with `/`, sorted. Links are left out, and nothing behind them is. */
export const filesBelow = (folder: string): string[] =>
  entriesOf(folder)
    .flatMap((entry) => {
      if (entry.isFile()) return [entry.name];
      return entry.isDirectory() ? filesBelow(join(folder, entry.name)).map((name) => `${entry.name}/${name}`) : [];
    })
    .toSorted();

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Folders that were looked at from `.spool` down, by the identity that they had then. */
const checked = new Map<string, string>();

/** False when a folder below `.spool` is not there. Fails when it, or one above it, is not what it should be. */
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
 * The folders and files on the way from the first `.spool` on; empty for what is not below one. What a worktree holds
 * is the user's own code, and may have links in it, but for a `.spool` there.
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

/** Whether a file is Spool's, and not one of the user's code in a worktree. */
const isBelow = (path: string): boolean => {
  const start = `${path}${sep}`.lastIndexOf(spoolFolder);
  if (start === -1) return false;
  const below = start + spoolFolder.length;
  return !path.startsWith(worktrees, below) || !path.includes(sep, below + worktrees.length);
};

/** Nobody but the user has to read the state, and what is outside of projects. */
const isPrivate = (path: string): boolean => path.includes(`${spoolFolder}.state`) || isOutside(path);

const isOutside = (path: string): boolean => !`${path}${sep}`.includes(spoolFolder);

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const own = process.getuid?.();

/** Root can do anything anyway; whoever became root by sudo is still the one who uses Spool. */
export const isOurs = ({ uid }: Pick<Stats, 'uid'>): boolean => {
  if (own === undefined || uid === own || uid === 0) return true;
  const others = [process.env.SPOOL_OWNER, own === 0 ? process.env.SUDO_UID : undefined];
  return others.some((other) => other !== undefined && other === String(uid));
};

const unsafe = (path: string, why: string) => userError('unsafe-file', path, why);

import { constants, lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { currentEnvironment } from './environment.ts';
import { fileId } from './stamp.ts';
import { atPath, systemProblem, userError } from '../errors.ts';

/*
 * Which paths belong to Spool, and what has to be true of a file or folder before it is used.
 */

/** Missing on Windows, where creating a link needs a privilege that agents rarely have. */
export const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** Folders that were checked from `.spool` down, with their identity (`identityOf`) at that time. */
const checked = new Map<string, string>();

/** The folders that were checked in the current `checkOnce`; null outside of it. */
let checkedNow: Set<string> | null = null;

/**
 * Checks every folder only once while `read` runs. It must be synchronous, and neither write nor start anything: what an
 * agent may have changed in between has to be checked again.
 */
export const checkOnce = <Result>(read: () => Result): Result => {
  if (checkedNow !== null) return read();
  checkedNow = new Set();
  try {
    return read();
  } finally {
    checkedNow = null;
  }
};

/** Returns false if a folder below `.spool` does not exist. Throws if it or a parent is not a folder of the user. */
export const checkFolder = (folder: string): boolean => {
  if (isOutside(folder) || checkedNow?.has(folder)) return true;
  const isThere = checkAgain(folder);
  if (isThere) checkedNow?.add(folder);
  return isThere;
};

/**
 * Like lstat for a path below `.spool`; returns null if it does not exist. Throws if a folder on the way to it is not a
 * folder of the user.
 */
export const lookBelow = (path: string): Stats | null => {
  for (const folder of partsOf(path).slice(0, -1)) {
    if (checkedNow?.has(folder)) continue;
    const stats = lookAt(folder);
    if (stats === null) return null;
    checkOneFolder(folder, stats);
    checkedNow?.add(folder);
  }
  return lookAt(path);
};

/** Like lstat; returns null if the path does not exist. */
export const lookAt = (path: string): Stats | null => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isMissing(error)) return null;
    return atPath(path)(error);
  }
};

const checkAgain = (folder: string): boolean => {
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

export const isChecked = (folder: string, identity: string | null): boolean =>
  identity !== null && checked.get(folder) === identity;

/**
 * Identifies a folder, and the folder around its `.spool`, found by going up from it: if a parent was moved elsewhere and
 * replaced with a link, the way up leads elsewhere. Returns null if the folder does not exist.
 */
export const identityOf = (folder: string): string | null => {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    const above = aboveSpool(folder);
    const around = above === null ? undefined : statSync(above, { throwIfNoEntry: false });
    return `${fileId(stats)} in ${around && fileId(around)}`;
  } catch (error) {
    if (isMissing(error)) return null;
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw unsafeLink(folder, 'folder');
    return atPath(folder)(error);
  }
};

/** Returns the way up to the folder around `.spool`, as in `.spool/.state/../..`; null for a path outside of `.spool`. */
const aboveSpool = (folder: string): string | null => {
  const known = waysUp.get(folder);
  if (known !== undefined) return known;
  const parts = partsOf(folder);
  const up = parts.length === 0 ? null : parts.at(-1)! + `${sep}..`.repeat(parts.length);
  waysUp.set(folder, up);
  return up;
};

const waysUp = new Map<string, string | null>();

export const checkOneFolder = (path: string, stats: Stats): void => {
  if (stats.isSymbolicLink()) throw unsafeLink(path, 'folder');
  if (!stats.isDirectory()) throw userError('io', path, systemProblem({ code: 'ENOTDIR' }));
  if (!isOurs(stats)) throw unsafeOwner(path, stats);
};

/**
 * Returns the paths from the first `.spool` down; empty for a path outside of `.spool`. The contents of a worktree are the
 * user's code, which may contain links, except for a `.spool` there.
 */
export const partsOf = (path: string): string[] => {
  const names = path.split(sep);
  const [first, last] = [names.indexOf('.spool'), names.lastIndexOf('.spool')];
  if (first === -1) return [];
  if (names.includes('..', first)) throw unsafe(path, 'has ".." in it', 'Use a path without it.');
  const end = names[last + 1] === 'worktrees' ? last + 3 : names.length;
  return names.slice(first, end).map((_, index) => names.slice(0, first + index + 1).join(sep));
};

const spoolFolder = `${sep}.spool${sep}`;
const worktrees = `worktrees${sep}`;

/** Whether a file belongs to Spool, rather than to the user's code in a worktree. */
export const isBelow = (path: string): boolean => {
  const start = `${path}${sep}`.lastIndexOf(spoolFolder);
  if (start === -1) return false;
  const below = start + spoolFolder.length;
  return !path.startsWith(worktrees, below) || !path.includes(sep, below + worktrees.length);
};

/** The state, and files outside of projects, are private to the user. */
export const isPrivate = (path: string): boolean => path.includes(`${spoolFolder}.state`) || isOutside(path);

export const isOutside = (path: string): boolean => !`${path}${sep}`.includes(spoolFolder);

export const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const uidOfProcess = process.getuid?.();

/** Files of root are accepted, as root can do anything anyway, and with sudo those of the original user. */
export const isOurs = ({ uid }: Pick<Stats, 'uid'>): boolean => {
  if (uidOfProcess === undefined || uid === uidOfProcess || uid === 0) return true;
  const env = currentEnvironment();
  const others = [env.SPOOL_OWNER, uidOfProcess === 0 ? env.SUDO_UID : undefined];
  return others.some((other) => other !== undefined && other === String(uid));
};

/** What Spool expects to find at a path. */
export type Wanted = 'file' | 'folder';

/** The error about something that is not used. `fix` says what to do about it. */
export const unsafe = (path: string, why: string, fix: string) => userError('unsafe-file', path, why, fix);

export const unsafeLink = (path: string, wanted: Wanted | null) =>
  unsafe(path, 'is a symbolic link', `Replace it with ${wanted === null ? 'what it points to' : nameOf[wanted]}.`);

/** Something else than a link is where a file or folder is expected. */
export const unsafeKind = (path: string, wanted: Wanted) =>
  unsafe(path, `is not ${nameOf[wanted]}`, `Replace it with ${nameOf[wanted]}.`);

export const unsafeOwner = (path: string, { uid }: Pick<Stats, 'uid'>) =>
  unsafe(path, `belongs to another user (${uid})`, `Make it yours, or set SPOOL_OWNER=${uid} if you trust that user.`);

const nameOf: Readonly<Record<Wanted, string>> = { file: 'a regular file', folder: 'a folder' };

export const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** The modes of new files and folders. */
export const modeOfFile = (path: string): number => (isPrivate(path) ? 0o600 : 0o666);
export const modeOfFolder = (path: string): number => (isPrivate(path) ? 0o700 : 0o777);

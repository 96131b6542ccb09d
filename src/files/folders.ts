import {
  chmodSync,
  constants,
  copyFileSync,
  type Dirent,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import {
  checkFolder,
  checkOneFolder,
  identityOf,
  isBelow,
  isChecked,
  isMissing,
  isOutside,
  isPrivate,
  modeOfFolder,
  partsOf,
} from './checks.ts';
import { currentEnvironment } from './environment.ts';
import { userFolder } from './home.ts';

/** Creates a folder and its parents. Returns whether it was missing. Folders below `.state` are private to the user. */
export const createFolder = (path: string): boolean => {
  if (created.has(path) && isThere(path)) return false;
  created.add(path);
  const isNew = isBelow(path)
    ? createBelow(path)
    : mkdirSync(path, { recursive: true, mode: modeOfFolder(path) }) !== undefined;
  hideUserFolder(path);
  return isNew;
};

const createBelow = (path: string): boolean => {
  let isNew = false;
  for (const part of partsOf(path)) isNew = createOne(part);
  checkFolder(path);
  return isNew;
};

/** Hides the user's state folder from git, once something is created in it: HOME can be a repository. */
const hideUserFolder = (path: string): void => {
  const folder = userFolder(currentEnvironment());
  if (path !== folder && !path.startsWith(`${folder}${sep}`)) return;
  const ignore = join(folder, '.gitignore');
  if (existsSync(ignore)) return;
  try {
    writeFileSync(ignore, '*\n', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
};

/** Creates a folder below `parent` that only the user can open; its name begins with `prefix` and cannot be guessed. */
export const createPrivateFolder = (parent: string, prefix: string): string => {
  createFolder(parent);
  return mkdtempSync(join(parent, prefix));
};

/** Makes `path` a symbolic link to a folder. */
export const linkFolder = (target: string, path: string): void => {
  checkFolder(dirname(path));
  symlinkSync(target, path);
};

/** Deletes a folder. Returns false if it is not empty. */
export const removeIfEmpty = (path: string): boolean => {
  checkFolder(dirname(path));
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
};

/** Folders that this process has created, or whose mode it has set. */
const created = new Set<string>();

const isThere = (folder: string): boolean => {
  const identity = identityOf(folder);
  return isOutside(folder) ? identity !== null : isChecked(folder, identity);
};

const createOne = (path: string): boolean => {
  const mode = modeOfFolder(path);
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
  else if (stats.isFile()) copyFileSync(from, to, constants.COPYFILE_EXCL);
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

import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { atPath, systemProblem, UserError, userError } from '../errors.ts';
import { isBelow, isMissing, modeOfFile, modeOfFolder, O_NOFOLLOW, unsafe, unsafeKind, unsafeLink } from './checks.ts';
import { lookInside, partsInside, statsIfInside } from './inside.ts';

/*
 * Writes, moves and deletes files of a project or a worktree. A clone, a branch or an agent may have replaced any folder
 * on the way to them with a link: every part of a path below the root is checked, and no link is followed. Nothing
 * but `copyInside`, whose target is a copy, deletes a folder with files in it.
 */

const { O_WRONLY, O_CREAT, O_EXCL } = constants;

const inTheWay = 'Move it and try again.';

/** Writes a file and creates its folders. An existing file or link is replaced; a file keeps its mode. */
export const writeInside = (root: string, path: string, data: string | Uint8Array): void => {
  const { file, before } = makeWay(root, path);
  if (before !== null) unlinkSync(file);
  write(file, data, { like: before });
};

/** The same, atomically: a reader, or a crash, sees the old or the new file. */
export const replaceInside = (root: string, path: string, data: string | Uint8Array): void => {
  const { file, before } = makeWay(root, path);
  const draft = `${file}.${crypto.randomUUID()}`;
  try {
    write(draft, data, { like: before, isDurable: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    atPath(file)(error);
  }
};

/** Creates the folders of a file. Throws if a folder has its name. `before` is what exists there. */
const makeWay = (root: string, path: string): { file: string; before: Stats | null } => {
  const file = join(root, path);
  createFolderInside(root, dirname(path));
  const before = lookInside(root, path);
  if (before?.isDirectory()) throw unsafe(file, 'is a folder', inTheWay);
  return { file, before };
};

interface WriteOptions {
  /** A file whose mode the new one gets. */
  readonly like: Stats | null;
  readonly isDurable?: boolean;
}

const write = (file: string, data: string | Uint8Array, { like, isDurable = false }: WriteOptions): void => {
  const opened = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, isBelow(file) ? modeOfFile(file) : 0o666);
  try {
    if (like?.isFile()) fchmodSync(opened, like.mode & 0o777);
    writeFileSync(opened, data);
    if (isDurable) fsyncSync(opened);
  } catch (error) {
    atPath(file)(error);
  } finally {
    closeSync(opened);
  }
};

/** Deletes a file or link, if it exists. */
export const removeInside = (root: string, path: string): void => {
  const stats = lookInside(root, path);
  if (stats === null) return;
  if (stats.isDirectory()) throw unsafe(join(root, path), 'is a folder', inTheWay);
  unlinkSync(join(root, path));
};

/** Deletes a folder unless there is something in it. */
export const removeEmptyInside = (root: string, path: string): void => {
  if (!lookInside(root, path)?.isDirectory()) return;
  try {
    rmdirSync(join(root, path));
  } catch (error) {
    if (isMissing(error) || ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw error;
  }
};

/** Moves a file or folder within the root, and creates the folders of the target, which must not exist. */
export const moveInside = (root: string, from: string, to: string): void => {
  if (lookInside(root, from)?.isSymbolicLink()) throw unsafeLink(join(root, from), null);
  createFolderInside(root, dirname(to));
  if (lookInside(root, to) !== null) throw unsafe(join(root, to), 'is in the way', inTheWay);
  renameSync(join(root, from), join(root, to));
};

/** Creates a folder and its parents below the root, none of which may be a link. */
export const createFolderInside = (root: string, path: string): void => {
  for (const part of partsInside(root, path)) {
    try {
      mkdirSync(part, { mode: isBelow(part) ? modeOfFolder(part) : 0o777 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const stats = lstatSync(part);
      if (stats.isSymbolicLink()) throw unsafeLink(part, 'folder');
      if (!stats.isDirectory()) throw unsafeKind(part, 'folder');
    }
  }
};

/**
 * Copies a file or folder from one root to another, where it replaces what has its path. Links are copied as links. What
 * is behind a link is not copied, nor anything but files, folders and links.
 */
export const copyInside = (from: string, to: string, path: string): void => {
  try {
    copyOne(from, to, path);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw userError('io', join(to, path), systemProblem(error));
  }
};

const copyOne = (from: string, to: string, path: string): void => {
  const stats = statsIfInside(from, path);
  if (stats === null) return;
  const [source, target] = [join(from, path), join(to, path)];
  if (stats.isDirectory()) {
    createFolderInside(to, path);
    for (const name of readdirSync(source)) copyOne(from, to, join(path, name));
    return;
  }
  createFolderInside(to, dirname(path));
  if (lookInside(to, path) !== null) rmSync(target, { recursive: true, force: true });
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else if (stats.isFile()) copyFileSync(source, target, constants.COPYFILE_EXCL);
};

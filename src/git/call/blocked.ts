import { existsSync, lstatSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { type ByteEntry, byteEntries, displayPath, latin1Path, pathBytes } from '../../files/bytes.ts';
import { isMissing } from '../../files/checks.ts';
import { longestText } from '../../files/safe.ts';
import { readRegular } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { isWithin, realPath } from '../../process/which.ts';
import { visible } from '../../text/visible.ts';

/*
 * git reads some files of a work tree whatever their type, and blocks forever if one of them is a named pipe. The work
 * tree is searched for such pipes only if a command takes long. Paths below it are in latin1, which preserves the bytes
 * of names that are not UTF-8.
 */

/** How long a command may take before the search for a pipe starts. */
const searchAfterMs = 2000;
const searchAgainMs = 60_000;

/** Names that git reads in every folder of a work tree, or at the top. */
const readByGit = ['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'];

/** What blocked git: a named pipe, or a folder of the user that git can use but that cannot be searched for one. */
interface Obstacle {
  readonly kind: 'pipe' | 'unreadable';
  readonly path: string;
}

/**
 * What blocked git, by the top folder of the work tree. Per process, because it is a fact about the disk. Checked again
 * at each use.
 */
const obstacles = new Map<string, Obstacle>();

/** Git folders that must not be used, with the reason. */
const refused = new Map<string, string>();
/** The reason that was last given. */
let lastRefusal: string | null = null;

/** From now on, this process runs no git that uses one of these folders. */
export const refuseGit = (folders: readonly string[], why: string): void => {
  for (const folder of folders) refused.set(realPath(folder), why);
};

/** Returns the reason why git would block or must not run in this folder; null if none is known. */
export const whyBlocked = (cwd: string): string | null => {
  if (obstacles.size === 0 && refused.size === 0) return null;
  const top = topOf(cwd);
  return top === null ? null : (refusalAt(top) ?? reasonAt(top));
};

const refusalAt = (top: string): string | null => {
  if (refused.size === 0) return null;
  const dotGit = latin1Path(join(top, '.git'));
  const used = [dotGit, ...gitFoldersOf(dotGit)].map((folder) => realPath(displayPath(folder)));
  const found = [...refused].find(([folder]) => used.some((each) => isWithin(folder, each)));
  if (found === undefined) return null;
  lastRefusal = found[1];
  return lastRefusal;
};

const reasonAt = (top: string): string | null => {
  const obstacle = obstacles.get(top);
  if (obstacle === undefined) return null;
  const { kind, path } = obstacle;
  const name = visible(displayPath(path));
  if (kind === 'pipe' && isPipe(path)) return `${name} is a named pipe, which blocks git (delete it)`;
  if (kind === 'unreadable' && listOf(path) === null)
    return `git does not respond, and ${name} cannot be searched for a named pipe that blocks it (make it readable)`;
  obstacles.delete(top);
  return null;
};

/** Replaces an error with the reason that git was blocked, if it was. */
export const blockedOr = (error: unknown): unknown => {
  const why = lastRefusal ?? [...obstacles.keys()].map(reasonAt).find((reason) => reason !== null);
  return why === undefined || why === null ? error : userError('git-blocked', why);
};

/** Calls `end` if something blocks git. Call the returned function when git has exited. */
export const watchBlocked = (cwd: string, end: () => void): (() => void) => {
  const ended = new AbortController();
  let timer = setTimeout(() => void search(), searchAfterMs);
  const search = async () => {
    const top = topOf(cwd);
    const obstacle = top === null ? null : await findObstacle(latin1Path(top), ended.signal);
    if (ended.signal.aborted) return;
    if (top === null || obstacle === null) {
      timer = setTimeout(() => void search(), searchAgainMs);
      return;
    }
    obstacles.set(top, obstacle);
    end();
  };
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
};

const topOf = (cwd: string): string | null => {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return null;
  }
};

/** Prefers a pipe to a folder that cannot be searched. */
const findObstacle = async (top: string, signal: AbortSignal): Promise<Obstacle | null> => {
  const folders = gitFoldersOf(join(top, '.git'));
  const named = pipeNamedBySettings([join(top, '.git'), ...folders], top);
  if (named !== null) return { kind: 'pipe', path: named };
  const walk: Walk = { signal, unreadable: [] };
  for (const folder of [...folders, ...alternatesOf([join(top, '.git'), ...folders])]) {
    const pipe = await pipeBelow(folder, walk, true);
    if (pipe !== null) return { kind: 'pipe', path: pipe };
  }
  const pipe = await pipeBelow(top, walk, false);
  if (pipe !== null) return { kind: 'pipe', path: pipe };
  const [path] = walk.unreadable;
  return path === undefined ? null : { kind: 'unreadable', path };
};

/**
 * Returns a pipe that is the value of any setting: git reads the files that several settings name (include.path,
 * core.excludesFile, …). The files are not parsed as git does, so a name in an unusual notation may be missed, but
 * nothing that blocks is read.
 */
const pipeNamedBySettings = (gitFolders: readonly string[], top: string): string | null => {
  const { HOME = homedir(), XDG_CONFIG_HOME = join(HOME, '.config') } = currentScope().env;
  const [home, config] = [latin1Path(HOME), latin1Path(XDG_CONFIG_HOME)];
  const own = gitFolders.flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')]);
  const waiting = [...own, join(home, '.gitconfig'), join(config, 'git', 'config'), '/etc/gitconfig'];
  for (const file of waiting) {
    if (waiting.length > maxSettingsFiles) return null;
    for (const { key, value } of settingsIn(textOf(file))) {
      const paths = [dirname(file), top].map((folder) =>
        resolve(
          folder,
          value.replace(/^~(?=\/)/, () => home),
        ),
      );
      const pipe = paths.find(isPipe);
      if (pipe !== undefined) return pipe;
      if (key === 'path') waiting.push(...paths.filter((path) => !waiting.includes(path)));
    }
  }
  return null;
};

const maxSettingsFiles = 200;

/** A section header may have its first setting on the same line. */
const settingsIn = (text: string): { readonly key: string; readonly value: string }[] =>
  text.split('\n').flatMap((line) => {
    const end = line.indexOf('=');
    if (end === -1) return [];
    const key = line.slice(line.lastIndexOf(']', end) + 1, end).trim();
    const value = line.slice(end + 1).trim();
    const plain = value.startsWith('"') ? value.slice(1, value.lastIndexOf('"')) : value.replace(/ [#;][^]*/, '');
    return [{ key: key.toLowerCase(), value: plain.replaceAll(/\\(["\\])/g, '$1').trim() }];
  });

/** Returns the folders elsewhere in which git looks for objects. */
const alternatesOf = (gitFolders: readonly string[]): string[] =>
  gitFolders
    .map((folder) => join(folder, 'objects'))
    .flatMap((objects) =>
      textOf(join(objects, 'info', 'alternates'))
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => resolve(objects, line)),
    )
    .slice(0, maxSettingsFiles);

/**
 * Returns the folder that the `.git` file of a linked work tree names, and the folder that it shares with other work
 * trees.
 */
const gitFoldersOf = (dotGit: string): string[] => {
  const own = /^gitdir: (.*)$/m.exec(textOf(dotGit))?.[1];
  if (own === undefined) return [];
  const folder = resolve(dirname(dotGit), own);
  const shared = textOf(join(folder, 'commondir')).trim();
  return shared === '' ? [folder] : [folder, resolve(folder, shared)];
};

const textOf = (file: string): string => {
  try {
    return readRegular(pathBytes(file), { limit: longestText })?.toString('latin1') ?? '';
  } catch {
    return '';
  }
};

interface Walk {
  readonly signal: AbortSignal;
  /** Folders that git can use but that cannot be searched. */
  readonly unreadable: string[];
}

/** `inGit` is true inside a git folder, where git may read any file. */
const pipeBelow = async (folder: string, walk: Walk, inGit: boolean): Promise<string | null> => {
  // Lets other work of the process run.
  await setImmediate();
  if (walk.signal.aborted) return null;
  const entries = listOf(folder);
  if (entries === null) {
    walk.unreadable.push(folder);
    return readByGit.map((name) => join(folder, name)).find(isPipe) ?? null;
  }
  for (const { name, path, kind } of entries) {
    if ((inGit || readByGit.includes(name)) && kind !== 'file' && isPipe(path)) return path;
    if (kind !== 'folder') continue;
    const pipe = await pipeBelow(path, walk, inGit || name === '.git');
    if (pipe !== null) return pipe;
  }
  return null;
};

/**
 * Returns the entries of a folder; null if its owner, the current user, may open files in it but not list them. No file
 * in another unreadable folder can block git, unless another user has put it there.
 */
const listOf = (folder: string): readonly ByteEntry[] | null => {
  try {
    return byteEntries(folder);
  } catch (error) {
    return !isMissing(error) && isEntered(folder) ? null : [];
  }
};

const isEntered = (folder: string): boolean => {
  try {
    const { uid, mode } = statSync(pathBytes(folder));
    return uid === process.getuid?.() && (mode & 0o100) !== 0;
  } catch {
    return false;
  }
};

/** Follows symbolic links. */
const isPipe = (path: string): boolean => {
  try {
    return lstatSync(pathBytes(path)).isFIFO() || statSync(pathBytes(path)).isFIFO();
  } catch {
    return false;
  }
};

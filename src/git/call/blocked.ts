import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { userError } from '../../errors.ts';
import { displayPath, latin1Path } from '../../files/bytes.ts';
import { isWithin, realPath } from '../../process/which.ts';
import { visible } from '../../text/escape-hidden.ts';
import {
  commonFolder,
  gitDirNamedIn,
  isStillThere,
  type Obstacle,
  searchGitFolder,
  searchWorkTree,
} from './obstacles.ts';

/*
 * git may block on what is in its folder or in a work tree. Both are searched only if a command takes long: the small git
 * folder soon, the work tree later.
 */

/** How long a command may take before each search. */
const searchGitAfterMs = 250;
const searchAllAfterMs = 2000;
const searchAgainMs = 60_000;

/**
 * What blocked git, by the top folder of the work tree. Per process, because it is a fact about the disk. Checked again
 * at each use.
 */
const obstacles = new Map<string, Obstacle>();

/** When git was ended because it only waited, by the top folder of the work tree. */
const idle = new Map<string, number>();
/** How long git is not used after that. */
const idleRestMs = 5 * 60_000;

/** Reports that git was ended because it only waited. */
export const noteIdle = (cwd: string): void => void idle.set(topOf(cwd) ?? resolve(cwd), performance.now());

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
  if (obstacles.size === 0 && refused.size === 0 && idle.size === 0) return null;
  const top = topOf(cwd);
  return top === null ? idleAt(resolve(cwd)) : (refusalAt(top) ?? reasonAt(top) ?? idleAt(top));
};

const refusalAt = (top: string): string | null => {
  if (refused.size === 0) return null;
  const dotGit = latin1Path(join(top, '.git'));
  const own = gitDirNamedIn(dotGit);
  const folders = [dotGit, own, own && commonFolder(own)].filter((folder) => folder !== null);
  const used = folders.map((folder) => realPath(displayPath(folder)));
  const found = [...refused].find(([folder]) => used.some((each) => isWithin(folder, each)));
  if (found === undefined) return null;
  lastRefusal = found[1];
  return lastRefusal;
};

const idleAt = (top: string): string | null => {
  const endedAt = idle.get(top);
  if (endedAt === undefined || performance.now() - endedAt > idleRestMs) return null;
  return `git does not respond in ${visible(top)}: it waits for something, such as a named pipe or a lock that a setting names (see .git/config there and your own git settings)`;
};

const reasonAt = (top: string): string | null => {
  const obstacle = obstacles.get(top);
  if (obstacle === undefined) return null;
  if (isStillThere(obstacle)) return reasonFor(obstacle);
  obstacles.delete(top);
  return null;
};

const reasonFor = ({ kind, path }: Obstacle): string => {
  const name = visible(displayPath(path));
  switch (kind) {
    case 'pipe':
      return `${name} is a named pipe, which blocks git (delete it)`;
    case 'device':
      return `${name} is a device, which git reads without end (delete it)`;
    case 'huge':
      return `${name} is too large for git to read (delete it)`;
    case 'unreadable':
      return `git does not respond, and ${name} cannot be searched for a named pipe that blocks it (make it readable)`;
  }
};

/** Replaces an error with the reason that git was blocked, if it was. */
export const blockedOr = (error: unknown): unknown => {
  const reasons = [...[...obstacles.keys()].map(reasonAt), ...[...idle.keys()].map(idleAt)];
  const why = lastRefusal ?? reasons.find((reason) => reason !== null);
  return why === undefined || why === null ? error : userError('git-blocked', why);
};

/** Calls `end` if something blocks git. Call the returned function when git has exited. */
export const watchBlocked = (cwd: string, end: () => void): (() => void) => {
  const ended = new AbortController();
  const find = async (search: typeof searchWorkTree) => {
    const top = topOf(cwd);
    const obstacle = top === null ? null : await search(latin1Path(top), ended.signal);
    if (top === null || obstacle === null || ended.signal.aborted) return;
    obstacles.set(top, obstacle);
    end();
  };
  let timer = setTimeout(() => void searchFirst(), searchGitAfterMs);
  const searchFirst = async () => {
    await find(searchGitFolder);
    if (!ended.signal.aborted) timer = setTimeout(() => void searchAll(), searchAllAfterMs - searchGitAfterMs);
  };
  const searchAll = async () => {
    await find(searchWorkTree);
    if (!ended.signal.aborted) timer = setTimeout(() => void searchAll(), searchAgainMs);
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

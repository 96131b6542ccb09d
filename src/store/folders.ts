import { sha256 } from '@noble/hashes/sha2.js';
import { accessSync, constants, existsSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { userFolder } from '../files/home.ts';
import { createFolder, createPrivateFolder, entriesOf } from '../files/folders.ts';
import { removeSafely, writeSafely } from '../files/safe.ts';
import { processStart } from '../process/start-time.ts';
import { hostName } from './lock-owner.ts';
import { type Project } from './project.ts';
import { worktreesFolder, stateFolder, stateIgnoreFile, ralphFolder, runFolder } from './paths.ts';

/** Creates the folder, which only its owner can read, and hides the state from git. */
export const makeRalphFolder = (project: Project, changeId: string): void => {
  hideStateFromGit(project);
  createFolder(ralphFolder(project, changeId));
};

/** Returns whether the file was created. */
export const hideStateFromGit = (project: Project): boolean => {
  const spool = dirname(stateFolder(project));
  createFolder(spool);
  // Node reports a read-only file system as "no such file" when it creates several folders.
  accessSync(spool, constants.W_OK);
  createFolder(stateFolder(project));
  try {
    writeSafely(stateIgnoreFile(project), '*\n', 'create');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/** Does the same for a command that only reads, so that it works in a project that cannot be written to. */
export const ensureStateIsHidden = (project: Project): void => {
  if (lstatSync(stateIgnoreFile(project), { throwIfNoEntry: false }) === undefined) hideStateFromGit(project);
};

export const hideWorktreesFromGit = (project: Project): void => {
  const folder = worktreesFolder(project);
  createFolder(folder);
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeSafely(ignore, '*\n', 'create');
};

/** Creates the folder of one run, for its prompts, logs and journal. */
export const makeRunFolder = (project: Project, changeId: string, run: string): string => {
  const folder = runFolder(project, changeId, run);
  createFolder(folder);
  return folder;
};

/** The path for an index of our own, outside of the project: git follows a link in the place of an index. */
export const newTempIndex = (env: NodeJS.ProcessEnv): string => join(newPrivateFolder(env), 'index');

/**
 * Creates a private folder outside of the project. It is deleted when Spool exits; those of killed processes are deleted
 * by the next call.
 */
export const newPrivateFolder = (env: NodeJS.ProcessEnv): string => {
  const folder = newTempFolder(join(userFolder(env), 'tmp'));
  if (tempFolders.size === 0) process.on('exit', removeTempFolders);
  tempFolders.add(folder);
  return folder;
};

const tempFolders = new Set<string>();

const removeTempFolders = (): void => {
  for (const folder of tempFolders)
    try {
      removeSafely(folder);
    } catch {
      // Left for the next call.
    }
};

const newTempFolder = (parent: string): string => {
  const prefix = `${hostPart()}-${process.pid}-`;
  try {
    removeLeftovers(parent);
    return createPrivateFolder(parent, prefix);
  } catch {
    // The home folder is read-only. `spool diff` works there too.
    return createPrivateFolder(tmpdir(), `spool-${prefix}`);
  }
};

/** A process on another machine or in another container cannot be inspected: its folder is a leftover once it is old. */
const removeLeftovers = (parent: string): void => {
  for (const { name } of entriesOf(parent)) {
    const [, host, pid] = /^([\da-f]{8})-(\d+)-/.exec(name) ?? [];
    if (host === undefined) continue;
    const folder = join(parent, name);
    const isLeftover = host === hostPart() ? processStart(Number(pid)) === null : ageOf(folder) > oldMs;
    if (isLeftover) removeSafely(folder);
  }
};

const oldMs = 30 * 24 * 60 * 60_000;

const ageOf = (path: string): number => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats ? Date.now() - stats.mtimeMs : 0;
};

/** Where process ids are valid. */
const hostPart = (): string =>
  Buffer.from(sha256(Buffer.from(hostName())))
    .toString('hex')
    .slice(0, 8);

import { existsSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { userError } from '../errors.ts';
import { realPath } from '../process/which.ts';
import { type Project } from './project.ts';
import { acquireLock, beatMs } from './lock.ts';
import { type LockingCommand, hostName, type LockOwner } from './lock-owner.ts';
import { loopOwner } from './state.ts';
import { dayTime } from '../text/format.ts';
import { makeRalphFolder } from './folders.ts';
import { ralphFolder, lockFile, treeLockFile } from './paths.ts';

export interface ChangeLock {
  /** The change of a dead run that held the work tree; null if there was none. */
  readonly replaced: string | null;
  /** Creates the folders and the lock again if they were deleted. Returns whether they were. */
  reassert(): boolean;
  release(): void;
}

export interface LockOptions {
  /** The git folder of the work tree, which contains its lock; null for a run in its own worktree. */
  readonly treeFolder: string | null;
  readonly command: LockingCommand;
}

/** Locks the change and the work tree for one run, or for a command that no run may disturb. */
export const lockChange = (project: Project, changeId: string, { treeFolder, command }: LockOptions): ChangeLock => {
  const owner = loopOwner(project, changeId);
  if (owner) throw lockedBy(project, changeId, owner);
  makeRalphFolder(project, changeId);
  const change = acquireLock(lockFile(project, changeId), changeId, command);
  if (change.kind === 'taken') throw lockedBy(project, changeId, change.by);
  const realFolder = treeFolder === null ? null : realPath(treeFolder);
  const tree = treeFolder === null ? null : acquireLock(treeLockFile(treeFolder), changeId, command);
  if (tree?.kind === 'taken') {
    change.release();
    throw treeLockedBy(tree.by, treeFolder!);
  }
  const beat = setInterval(() => [change, tree].forEach((lock) => lock?.beat()), beatMs).unref();
  return {
    replaced: tree?.replaced?.purpose ?? null,
    reassert: () => {
      const deleted = !existsSync(ralphFolder(project, changeId));
      if (deleted) makeRalphFolder(project, changeId);
      const other = change.reassert();
      if (other) throw lockedBy(project, changeId, other);
      // An agent may have deleted the repository, with its folder.
      if (tree === null || treeFolder === null || !existsSync(treeFolder)) return deleted;
      if (realPath(treeFolder) !== realFolder || !statSync(treeFolder).isDirectory())
        throw userError('replaced-git', treeFolder);
      const inTree = tree.reassert();
      if (inTree) throw treeLockedBy(inTree, treeFolder);
      return deleted;
    },
    release: () => {
      clearInterval(beat);
      tree?.release();
      change.release();
    },
  };
};

/** Locks only a work tree, while a change is landed in it. Returns the function that unlocks it. */
export const lockTree = (treeFolder: string, change: string): (() => void) => {
  const tree = acquireLock(treeLockFile(treeFolder), change, 'land');
  if (tree.kind === 'taken') throw treeLockedBy(tree.by, treeFolder);
  return () => tree.release();
};

const treeLockedBy = (owner: LockOwner, treeFolder: string) =>
  userError('tree-locked', owner.purpose, ownerText(owner, treeLockFile(treeFolder)), owner.command);

const lockedBy = (project: Project, changeId: string, owner: LockOwner) =>
  userError('locked', changeId, ownerText(owner, relative(project.root, lockFile(project, changeId))), owner.command);

/** `PID 4711 on build-1, since 22:14` */
export const ownerText = (owner: LockOwner, file: string): string => {
  const { host, since } = owner;
  const hint = host === hostName() ? '' : `; if that machine is gone, delete ${file}`;
  return `${processText(owner)}${since === '' ? '' : `, since ${dayTime(new Date(since))}`}${hint}`;
};

/** `in the queue of PID 4711, since 22:14` */
export const queueText = (owner: LockOwner, now: Date): string =>
  `in the queue of ${processText(owner)}, since ${dayTime(new Date(owner.since), now)}`;

/** `PID 4711 on build-1` */
export const processText = ({ pid, host }: LockOwner): string =>
  `PID ${pid}${host === hostName() ? '' : ` on ${host.replace(/ \([^(]*\)$/, '')}`}`;

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { realPath } from '../process/which.ts';
import { type Project, ralphFolder } from './project.ts';
import { acquireLock } from './lock.ts';
import { hostName, type LockOwner } from './lock-owner.ts';
import { lockFile, loopOwner } from './state.ts';
import { makeRalphFolder } from './folders.ts';

export interface ChangeLock {
  /** The change whose loop held the work tree and is dead; null when nobody did. */
  readonly replaced: string | null;
  /** Makes the folders and the lock again if they were deleted; says whether they were. */
  keep(): boolean;
  release(): void;
}

/** How often a lock shows that its owner lives. */
const beatMs = 30_000;

export interface LockOptions {
  /** Where the lock of the work tree is kept: in the folder that git has for it; null for a loop in a worktree of its own. */
  readonly treeFolder: string | null;
}

/** Takes the change, and the work tree, for one loop. */
export const lockChange = (project: Project, changeId: string, { treeFolder }: LockOptions): ChangeLock => {
  const owner = loopOwner(project, changeId);
  if (owner) throw lockedBy(changeId, owner);
  makeRalphFolder(project, changeId);
  const change = acquireLock(lockFile(project, changeId), changeId);
  if (change.kind === 'taken') throw lockedBy(changeId, change.by);
  const realFolder = treeFolder === null ? null : realPath(treeFolder);
  const tree = treeFolder === null ? null : acquireLock(treeLock(treeFolder), changeId);
  if (tree?.kind === 'taken') {
    change.release();
    throw treeLockedBy(tree.by, treeFolder!);
  }
  const beat = setInterval(() => [change, tree].forEach((lock) => lock?.beat()), beatMs).unref();
  return {
    replaced: tree?.replaced?.purpose ?? null,
    keep: () => {
      const deleted = !existsSync(ralphFolder(project, changeId));
      if (deleted) makeRalphFolder(project, changeId);
      const other = change.keep();
      if (other) throw lockedBy(changeId, other);
      // An agent may have deleted the repository, with its folder.
      if (tree === null || treeFolder === null || !existsSync(treeFolder)) return deleted;
      if (realPath(treeFolder) !== realFolder || !statSync(treeFolder).isDirectory())
        throw userError('replaced-git', treeFolder);
      const inTree = tree.keep();
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

/** Takes a work tree alone, for a moment in which no loop may work in it; answers with what lets it go. */
export const lockTree = (treeFolder: string, purpose: string): (() => void) => {
  const tree = acquireLock(treeLock(treeFolder), purpose);
  if (tree.kind === 'taken') throw treeLockedBy(tree.by, treeFolder);
  return () => tree.release();
};

const treeLock = (treeFolder: string) => join(treeFolder, 'spool.lock');

const treeLockedBy = (owner: LockOwner, treeFolder: string) =>
  userError('tree-locked', owner.purpose, ownerText(owner, treeLock(treeFolder)));

const lockedBy = (changeId: string, owner: LockOwner) =>
  userError('locked', changeId, ownerText(owner, `.spool/.state/ralph/${changeId}/lock`));

const ownerText = ({ pid, host, since }: LockOwner, file: string): string => {
  const hint = host === hostName() ? '' : `; if that machine is gone, delete ${file}`;
  const began = since === '' ? '' : ` since ${since}`;
  return `process ${pid} on ${host.replace(/ \([^(]*\)$/, '')}${began}${hint}`;
};

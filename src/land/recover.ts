import { removeInside, writeInside } from '../files/write-inside.ts';
import { type LeftoverFile, findLeftovers, restoreDisplaced } from '../git/displaced.ts';
import { blobAt, commitsBeyond } from '../git/branches.ts';
import { worktreeOf } from '../git/linked-worktrees.ts';
import { toUtf8 } from '../git/paths.ts';
import { gitDirOf } from '../git/work-tree.ts';
import { baseOf, bytesOf, isTaskList, mergeCopies } from '../changes/copies.ts';
import { lockTree } from '../store/run-lock.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { readLandingInProgress, type LandingInProgress } from '../store/landing-in-progress.ts';
import { planEdits, writeEdits } from './edits.ts';
import type { Landing } from './landing.ts';

/** Restores the files that a killed landing had moved out of the way, or merges them with the current ones. */
export const recoverDisplaced = async (landing: Landing): Promise<void> => {
  const { project, target, base, prefix } = landing;
  const baseWorktree = await worktreeOf(project.root, base);
  if (baseWorktree === null) return;
  const left = await findLeftovers(
    baseWorktree,
    target.planningFolders.map((folder) => `${prefix}${folder}`),
  );
  if (left.length === 0) return;
  await whileLocked(landing, baseWorktree, async () => {
    for (const each of left) if (!restoreDisplaced(baseWorktree, each)) await mergeBack(landing, baseWorktree, each);
  });
};

const mergeBack = async (landing: Landing, baseWorktree: string, left: LeftoverFile): Promise<void> => {
  const { project, change, target, prefix, say } = landing;
  const [backup, name] = [toUtf8(left.name), toUtf8(left.original)];
  const path = name.slice(prefix.length);
  const [mine, theirs] = [bytesOf(baseWorktree, backup), bytesOf(baseWorktree, name)];
  const from = readLandingInProgress(userStateFolder(project, change, landing.env))?.from ?? null;
  const bases = [baseOf(project, change, path), from === null ? undefined : await blobAt(baseWorktree, from, name)];
  for (const base of bases) {
    const isMergeable = base !== undefined && mine !== null && theirs !== null;
    const merged = isMergeable ? await mergeCopies({ base, mine, theirs, isTasks: isTaskList(target, path) }) : null;
    if (merged?.kind !== 'merged' || merged.bytes === null) continue;
    writeInside(baseWorktree, name, merged.bytes);
    return removeInside(baseWorktree, backup);
  }
  say(
    `${name} was moved away by a landing that was interrupted, and cannot be merged with the current file. Your version is ${backup}: merge it by hand, then delete it.`,
  );
};

/** Returns the landing that was killed after it had moved the base; null if there is none. */
export const interruptedMove = async (landing: Landing): Promise<LandingInProgress | null> => {
  const { project, change, branch, base, tip, baseTip } = landing;
  const inProgress = readLandingInProgress(userStateFolder(project, change, landing.env));
  if (inProgress?.branch !== branch || inProgress.base !== base || inProgress.tip !== tip) return null;
  return (await commitsBeyond(project.root, baseTip, inProgress.to)) === 0 ? inProgress : null;
};

/** Returns the same landing, and writes the edits that are still missing. */
export const finishMove = async (landing: Landing): Promise<LandingInProgress | null> => {
  const { project, base, baseTip } = landing;
  const inProgress = await interruptedMove(landing);
  if (inProgress === null) return null;
  const baseWorktree = await worktreeOf(project.root, base);
  if (baseWorktree !== null)
    await whileLocked(landing, baseWorktree, async () =>
      writeEdits(landing, await planEdits(landing, baseWorktree, baseTip)),
    );
  return inProgress;
};

/** Runs `work` while the worktree is locked. The project's own worktree is locked already. */
export const whileLocked = async (
  { project, change }: Landing,
  baseWorktree: string,
  work: () => Promise<void>,
): Promise<void> => {
  const folder = (await gitDirOf(baseWorktree))!;
  const release = folder === (await gitDirOf(project.root)) ? () => {} : lockTree(folder, change);
  try {
    await work();
  } finally {
    release();
  }
};

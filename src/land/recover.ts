import { join } from 'node:path';
import { removeOwn, writeOwn } from '../files/own.ts';
import { type LeftoverFile, findLeftovers, restoreDisplaced } from '../git/displaced.ts';
import { blobAt, commitsBeyond, worktreeOf } from '../git/branches.ts';
import { toUtf8 } from '../git/git.ts';
import { gitDirOf } from '../git/worktree.ts';
import { baseOf, bytesOf, mergeCopies } from '../changes/copies.ts';
import { planningFolders } from '../changes/sources.ts';
import { lockTree } from '../store/run-lock.ts';
import { recordFolder } from '../store/record.ts';
import { readLandingInProgress, type LandingInProgress } from '../store/landing-in-progress.ts';
import { planEdits, writeEdits } from './edits.ts';
import type { Landing } from './landing.ts';

/** Brings back what a landing that was killed had set aside: as it was, or merged with what is there by now. */
export const recoverAside = async (landing: Landing): Promise<void> => {
  const { project, base, prefix } = landing;
  const holder = await worktreeOf(project.root, base);
  if (holder === null) return;
  const left = await findLeftovers(
    holder,
    planningFolders.map((folder) => `${prefix}${folder}`),
  );
  if (left.length === 0) return;
  await whileLocked(landing, holder, async () => {
    for (const each of left) if (!restoreDisplaced(holder, each)) await mergeBack(landing, holder, each);
  });
};

const mergeBack = async (landing: Landing, holder: string, left: LeftoverFile): Promise<void> => {
  const { project, change, prefix, say } = landing;
  const [aside, name] = [toUtf8(left.name), toUtf8(left.original)];
  const path = name.slice(prefix.length);
  const [mine, theirs] = [bytesOf(join(holder, aside)), bytesOf(join(holder, name))];
  const from = readLandingInProgress(recordFolder(project, change, landing.env))?.from ?? null;
  const bases = [baseOf(project, change, path), from === null ? undefined : await blobAt(holder, from, name)];
  for (const base of bases) {
    const isMergeable = base !== undefined && mine !== null && theirs !== null;
    const merged = isMergeable ? await mergeCopies(path, { base, mine, theirs }) : null;
    if (merged?.kind !== 'merged' || merged.bytes === null) continue;
    writeOwn(join(holder, name), merged.bytes);
    return removeOwn(join(holder, aside));
  }
  say(
    `${name} was set aside by a landing that was cut off, and cannot be merged with what is there now. Yours is ${aside}: merge it by hand, then delete it.`,
  );
};

/** The landing that was killed when it had moved the base already; null when there is none. What it owed to the folder is done. */
export const finishMove = async (landing: Landing): Promise<LandingInProgress | null> => {
  const { project, change, branch, base, tip, baseTip } = landing;
  const underway = readLandingInProgress(recordFolder(project, change, landing.env));
  if (underway?.branch !== branch || underway.base !== base || underway.tip !== tip) return null;
  if ((await commitsBeyond(project.root, baseTip, underway.to)) !== 0) return null;
  const holder = await worktreeOf(project.root, base);
  if (holder !== null)
    await whileLocked(landing, holder, async () => writeEdits(landing, await planEdits(landing, holder, baseTip)));
  return underway;
};

/** Our own work tree is locked already. */
export const whileLocked = async (
  { project, change }: Landing,
  holder: string,
  work: () => Promise<void>,
): Promise<void> => {
  const folder = (await gitDirOf(holder))!;
  const release = folder === (await gitDirOf(project.root)) ? () => {} : lockTree(folder, change);
  try {
    await work();
  } finally {
    release();
  }
};

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { blobAt, tipOf } from '../../git/branches.ts';
import { prefixOf } from '../../git/repository.ts';
import type { Workspace } from '../../ralph/plan.ts';
import type { Project } from '../../store/project.ts';
import { bytesOf, mergedTasks, savedCopy } from '../copies.ts';
import type { Change } from '../source.ts';

/**
 * Returns the tasks in the worktree of a run, merged with the user's edits in the project: null if there are none, undefined
 * if the run has left neither a worktree nor a branch.
 */
export const tasksInWorktree = async (
  project: Project,
  change: Change,
  workspace: Pick<Workspace, 'root'> & { readonly worktree: string; readonly branch: string },
): Promise<string | null | undefined> => {
  const theirs = await bytesIn(project, change, workspace);
  return theirs === null ? undefined : mergedTasks(project, change, theirs);
};

/** Reads the worktree or, if it was removed, the branch. */
const bytesIn = async (
  project: Project,
  { id, tasksFile: file }: Change,
  { root, worktree, branch }: Parameters<typeof tasksInWorktree>[2],
): Promise<Buffer | null> => {
  if (existsSync(join(worktree, '.git'))) return bytesOf(root, file);
  const tip = await tipOf(project.root, branch);
  if (tip === null) return null;
  const saved = savedCopy(project, id, tip);
  if (saved !== null) return bytesOf(saved, file);
  return blobAt(project.root, tip, `${await prefixOf(project.root)}${file}`);
};

import { currentBranch, dirtyPaths } from '../git/branches.ts';
import { toUtf8 } from '../git/paths.ts';
import { findWorkTree, operationInProgress } from '../git/work-tree.ts';
import { isAmong, planningPaths } from '../changes/planning-paths.ts';
import { joinLines } from '../text/format.ts';
import type { Landing } from './landing.ts';

/**
 * Returns why the work in the worktree is not all on the branch; null if it is. The copies of the change itself do not
 * count.
 */
export const whyDirty = async (
  { project, target, branch, prefix }: Pick<Landing, 'project' | 'target' | 'branch' | 'prefix'>,
  worktree: string,
): Promise<string | null> => {
  const found = await findWorkTree(worktree, '');
  const busy = found.kind === 'found' ? operationInProgress(found.tree) : null;
  if (busy !== null) return `${busy} is in progress`;
  const current = await currentBranch(worktree);
  if (current !== branch) return `it is on ${current ?? 'no branch'}`;
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git status failed in it';
  const copies = planningPaths(project, target).map((path) => `${prefix}${path}`);
  const file = dirty.map(toUtf8).find((path) => !isAmong(copies, path));
  return file === undefined ? null : `${joinLines(file)} is not committed`;
};

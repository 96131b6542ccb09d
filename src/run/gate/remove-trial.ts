import { discardWorktree } from '../../git/linked-worktrees.ts';
import { tagForPath, terminateLeftovers } from '../../process/tree.ts';
import { trialWorktree } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';

/** Ends what is left of a trial, and deletes its worktree. */
export const removeTrial = async (project: Project, change: string): Promise<void> => {
  const path = trialWorktree(project, change);
  await terminateLeftovers(tagForPath(path));
  await discardWorktree(project.root, path);
};

import { commitsBeyondBase } from '../git/branches.ts';
import type { RunView } from '../ralph/view.ts';
import { readLanded } from '../store/landed.ts';
import type { Project } from '../store/project.ts';

/** Whether the branch of a run has landed with all of its commits; null if it has no branch or no commits. */
export const hasLanded = async (
  project: Project,
  { change, run, workspace }: Pick<RunView, 'change' | 'run' | 'workspace'>,
): Promise<boolean | null> => {
  const branch = workspace?.branch ?? null;
  if (branch === null) return null;
  const landed = readLanded(project, change);
  const onto = landed?.run === run && landed.branch === branch ? landed.base : null;
  const ahead = await commitsBeyondBase(project.root, branch, onto);
  if (ahead !== null && ahead > 0) return false;
  return onto === null ? null : true;
};

import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { systemProblem, UserError } from '../../errors.ts';
import { removeSafely } from '../../files/safe.ts';
import { checkOutCopy } from '../../git/separate-copy.ts';
import { removeFolder } from '../../sandbox/remove-folder.ts';
import { hideWorktreesFromGit } from '../../store/folders.ts';
import { reviewFolder } from '../../store/paths.ts';
import type { RunContext } from '../context.ts';
import { instructsAgents } from './instruction-files.ts';

type CopyContext = Pick<RunContext, 'project' | 'plan' | 'tree' | 'workProject' | 'stopSignals'>;

/** A folder with the work of an iteration, which is deleted after the review. */
export interface ReviewCopy {
  /** The project in the folder. */
  readonly root: string;
  /** Files that are as they were before the work began, because agents take instructions from them. */
  readonly restored: readonly string[];
  /** Keeps git from using the repository of the user if the reviewer deletes `.git`. */
  readonly env: NodeJS.ProcessEnv;
}

export interface Reviewed {
  readonly commit: string;
  /** The state before the first agent worked on the change. */
  readonly base: string;
}

/** Returns the reason if the copy cannot be made. */
export const makeReviewCopy = async (context: CopyContext, reviewed: Reviewed): Promise<ReviewCopy | string> => {
  const { project, plan, tree, workProject, stopSignals } = context;
  if (tree === null) return 'there is no git repository';
  const path = reviewFolder(project, plan.change);
  try {
    hideWorktreesFromGit(project);
    removeReviewCopy(context);
    const copied = await checkOutCopy(tree, { path, ...reviewed, isRestored: instructsAgents, kill: stopSignals.stop });
    if (!copied.ok) return copied.why;
    const root = join(path, relative(tree.root, workProject.root));
    return { root, restored: copied.restored, env: { GIT_CEILING_DIRECTORIES: dirname(path) } };
  } catch (error) {
    return systemProblem(error);
  }
};

/** Deletes the copy, including one that a killed Spool has left. Returns false if that fails. */
export const removeReviewCopy = ({
  project,
  plan: { change },
}: Pick<CopyContext, 'project'> & { readonly plan: { readonly change: string } }): boolean => {
  const path = reviewFolder(project, change);
  if (!existsSync(path)) return true;
  try {
    removeSafely(path);
  } catch (error) {
    // Nothing is deleted through a link.
    if (error instanceof UserError) throw error;
    // The reviewer may have removed permissions.
    removeFolder(path);
  }
  return !existsSync(path);
};

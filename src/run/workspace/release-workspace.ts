import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { asUserError } from '../../errors.ts';
import { branchExists, commitsBeyondBase, currentBranch, dirtyPaths, headOf } from '../../git/branches.ts';
import { containsRepositories, removeWorktree } from '../../git/linked-worktrees.ts';
import { toUtf8 } from '../../git/paths.ts';
import { findWorkTree, isIntact, operationInProgress } from '../../git/work-tree.ts';
import { saveCopy } from '../../changes/copies.ts';
import { type Project } from '../../store/project.ts';
import { planningPaths } from '../../changes/planning-paths.ts';
import type { Change } from '../../changes/source.ts';
import type { Workspace } from '../../ralph/plan.ts';
import { joinLines } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { deletionNotices, isPlannedCopy, filesLostWith, keptNotice } from './provisioned-worktree.ts';

export interface ReleaseRequest {
  readonly project: Project;
  readonly target: Change;
  readonly workspace: Workspace;
  /** The run is complete. */
  readonly done: boolean;
}

/**
 * Removes the worktree of a complete run if it has no work that is not on the branch. Returns lines for the user. A
 * worktree that cannot be removed is kept: the run is complete anyway.
 */
export const releaseWorkspace = async (request: ReleaseRequest): Promise<string[]> => {
  try {
    return await release(request);
  } catch (error) {
    const known = asUserError(error);
    const { project, workspace } = request;
    if (known === null || workspace.worktree === null) throw error;
    return [`Kept ${relative(project.root, workspace.worktree)}: ${known.message}`];
  }
};

const release = async ({ project, target, workspace, done }: ReleaseRequest): Promise<string[]> => {
  const { worktree, branch, root } = workspace;
  if (worktree === null) return [];
  const where = relative(project.root, worktree);
  if (!existsSync(worktree)) return [await deletedNotice({ project, target, branch: branch!, where })];
  if (!done) return [`The work is in ${where} (branch ${branch}).`];
  const isEmpty = (await commitsBeyondBase(project.root, branch!)) === 0;
  const why = await reasonToKeep({ project, target, workspace: { ...workspace, worktree }, isEmpty });
  if (why !== null) return [`Kept ${where}: ${why}.`];
  const landing = `The work is on branch ${branch}; land it with: ${commandLine('spool', 'land', target.id)}`;
  const results = await filesLostWith(project, target, { worktree, root });
  if (results.length > 0) return [keptNotice(results, where), ...(isEmpty ? [] : [landing])];
  saveCopy({ project, change: target, root }, (await headOf(worktree)) ?? '');
  const deleted = await deletionNotices(worktree);
  const removed = await removeWorktree(project.root, worktree);
  if (!removed.ok) return [`Kept ${where}: ${removed.why}.`];
  return [...deleted, isEmpty ? `Nothing was changed in the worktree: branch ${branch} has no commits.` : landing];
};

interface DeletedWorktree extends Pick<ReleaseRequest, 'project' | 'target'> {
  readonly branch: string;
  readonly where: string;
}

const deletedNotice = async ({ project, target, branch, where }: DeletedWorktree): Promise<string> => {
  const left = (await branchExists(project.root, branch))
    ? `Branch ${branch} has its commits, and the next run creates the worktree again.`
    : `So was branch ${branch}. Checkpoints of its work: ${commandLine('spool', 'diff', target.id, '--all')}`;
  return `${where} was deleted during the run. ${left}`;
};

interface Finished extends Omit<ReleaseRequest, 'done'> {
  readonly workspace: Workspace & { readonly worktree: string };
  /** The branch has no new commits, so there is nothing to land. */
  readonly isEmpty: boolean;
}

const reasonToKeep = async ({ project, target, workspace, isEmpty }: Finished): Promise<string | null> => {
  const { root, branch, worktree } = workspace;
  const found = await findWorkTree(worktree, join(worktree, '.git', 'unused'));
  if (found.kind === 'refused') return joinLines(found.why);
  if (found.kind !== 'found' || !isIntact(found.tree) || !existsSync(join(worktree, '.git')))
    return 'git no longer knows it';
  const busy = operationInProgress(found.tree);
  if (busy !== null) return `${busy} is in progress in it`;
  const current = await currentBranch(worktree);
  if (current !== branch) return `it is on ${current ?? 'no branch'}, not on ${branch}`;
  if (await containsRepositories(worktree)) return 'there are repositories inside it';
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git status failed in it';
  // The copy of the change itself is saved separately, and is merged when the branch lands.
  const plans = isEmpty ? [] : planningPaths(project, target);
  const isCopied = isPlannedCopy(project, { worktree, root }, plans);
  const left = dirty.map(toUtf8).find((path) => !isCopied(path));
  return left === undefined ? null : `there is uncommitted work in it, such as ${left}`;
};

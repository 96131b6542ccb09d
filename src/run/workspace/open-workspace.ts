import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { userError } from '../../errors.ts';
import {
  configuredBase,
  branchExists,
  commitsBeyondBase,
  currentBranch,
  hasCommits,
  headOf,
} from '../../git/branches.ts';
import { topOf } from '../../git/repository.ts';
import { addWorktree, isWorktree } from '../../git/linked-worktrees.ts';
import { type Checkout, switchTo } from '../../git/checkout.ts';
import { terminateLeftovers, tagForPath } from '../../process/tree.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { createCopy, restoreCopy, savedCopy } from '../../changes/copies.ts';
import { checkFolderInside } from '../../files/inside.ts';
import { branchOf } from '../../changes/branch.ts';
import { hasLanded } from '../../changes/landed-branch.ts';
import { lastSaved } from '../../changes/tasks/current.ts';
import { hideWorktreesFromGit } from '../../store/folders.ts';
import { recordBase, recordedBase } from '../../store/user-state/branches.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import type { Emit } from '../../ralph/events.ts';
import type { Workspace } from '../../ralph/plan.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { someOf } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { isProvisioned, noteProvisioned, type ProvisionedWorkspace } from './provisioned-worktree.ts';
import type { RunSpec } from '../spec.ts';
import { exitCodeOf, type StopSignals } from '../../process/signals.ts';
import { worktreePath, setupLog } from '../../store/paths.ts';
import { provision, type ProvisionRequest } from './provision.ts';

export interface WorkspaceRequest extends Pick<RunSpec, 'project' | 'target' | 'options'> {
  readonly env: NodeJS.ProcessEnv;
  /** The workspace of the run before it was interrupted. */
  readonly previous: Workspace | null;
  /** The folder with the prompts and logs of this run. */
  readonly folder: string;
  readonly stopSignals: StopSignals;
  readonly redactor: Redactor;
  readonly emit: Emit;
  readonly sandbox: Sandbox | null;
  readonly checkSetup: ProvisionRequest['checkSetup'];
}

/**
 * Opens the folder in which agents work: the project itself, optionally on a branch, or a worktree with its own branch.
 */
export const openWorkspace = async (request: WorkspaceRequest): Promise<Workspace> => {
  const { project, options, previous, target } = request;
  if (options.worktree || previous?.worktree)
    return openWorktree(request, options.branch ?? previous?.branch ?? branchOf(target.id));
  const branch = options.branch ?? previous?.branch ?? null;
  if (branch !== null) {
    const isNew = !(await branchExists(project.root, branch));
    reportCheckout(request, branch, await switchTo(project.root, branch));
    await recordBranchBase(request, branch, isNew);
  }
  await announceUnlanded(request, branch);
  return { root: project.root, branch, worktree: null };
};

/** The last run may have finished the work elsewhere, for example in a worktree of a batch. */
const announceUnlanded = async ({ project, target, emit }: WorkspaceRequest, branch: string | null): Promise<void> => {
  const last = (await lastSaved(project, target.id))?.view ?? null;
  const other = last?.workspace?.branch ?? null;
  if (last?.status !== 'complete' || other === null || other === branch) return;
  if ((await hasLanded(project, last)) !== false) return;
  const land = commandLine('spool', 'land', target.id, '--force');
  const continueThere = commandLine('spool', 'ralph', target.id, '--worktree');
  emit({
    type: 'notice',
    text: `The last run has completed this change on ${other}, which has not landed. This run starts without that work. To land it: ${land}. To continue with it instead: ${continueThere}`,
  });
};

/** Records the base of a branch before agents work on it, because they can write to the git config. */
const recordBranchBase = async (
  { project, target, env }: WorkspaceRequest,
  branch: string,
  isNew: boolean,
): Promise<void> => {
  const folder = userStateFolder(project, target.id, env);
  if (!isNew && recordedBase(folder, branch) !== undefined) return;
  recordBase(folder, branch, await configuredBase(project.root, branch));
};

const reportCheckout = ({ emit, redactor }: WorkspaceRequest, branch: string, checkout: Checkout): void => {
  if (!checkout.ok && checkout.files.length > 0) throw userError('branch-blocked', someOf(checkout.files), branch);
  if (!checkout.ok) throw userError('bad-branch', branch, checkout.why);
  if (checkout.otherHooks !== null) {
    const look = commandLine('git', 'diff', branch, '--', checkout.otherHooks);
    const text = `No hook was run for the checkout of ${branch}, because its hooks in ${checkout.otherHooks} differ from the current ones. See: ${look}`;
    emit({ type: 'notice', text });
  }
  if (checkout.hookProblem === null) return;
  const text = `${branch} is checked out, but the post-checkout hook failed: ${redactor.oneLine(checkout.hookProblem)}`;
  emit({ type: 'notice', text });
};

const openWorktree = async (request: WorkspaceRequest, branch: string): Promise<Workspace> => {
  const { project, target, emit } = request;
  const worktree = worktreePath(project, target.id);
  const top = await topOf(project.root);
  if (top === '') throw userError('no-git', project.root, 'a worktree needs a git repository');
  const root = join(worktree, relative(top, project.root));
  const isNew = (await isWorktree(project.root, worktree)) ? false : await createWorktree(request, worktree, branch);
  const current = await currentBranch(worktree);
  if (request.options.branch !== null && current !== branch)
    throw userError('bad-branch', branch, `the worktree of this change is on ${current ?? 'no branch'}`);
  checkFolderInside(worktree, relative(worktree, root));
  const own = current ?? branch;
  await recordBranchBase(request, own, isNew);
  await setUpOnce(request, { worktree, root, branch: own, isNew });
  const where = relative(project.root, worktree);
  emit({ type: 'notice', text: `Working in ${where} (${current === null ? 'no branch' : `branch ${current}`}).` });
  return { root, branch: own, worktree };
};

/** Returns whether the branch was created as well. */
const createWorktree = async (request: WorkspaceRequest, worktree: string, branch: string): Promise<boolean> => {
  const { project } = request;
  if (existsSync(join(worktree, '.git')))
    throw userError(
      'bad-branch',
      branch,
      `${worktree} does not belong to this repository: check what it is, and move it away`,
    );
  const isNew = !(await branchExists(project.root, branch));
  if (isNew && !(await hasCommits(project.root))) throw userError('no-commit');
  hideWorktreesFromGit(project);
  reportCheckout(request, branch, await addWorktree(project.root, worktree, branch));
  return isNew;
};

interface NewWorkspace extends ProvisionedWorkspace {
  readonly branch: string;
  /** The branch was created for this workspace. */
  readonly isNew: boolean;
}

/** Sets up a worktree, unless it was set up completely before. An interrupted setup is run again. */
const setUpOnce = async (request: WorkspaceRequest, workspace: NewWorkspace): Promise<void> => {
  if (await isProvisioned(workspace.worktree)) return;
  // A Spool that was killed may have left a setup running.
  await terminateLeftovers(tagForPath(workspace.worktree));
  await prepare(request, workspace);
  await noteProvisioned(request.project, workspace, request.options.worktreeSetup !== null);
};

/**
 * Adds what the agent needs and git does not check out: the current change, the files of .worktreeinclude, the setup.
 */
const prepare = async (request: WorkspaceRequest, { worktree, root, branch, isNew }: NewWorkspace): Promise<void> => {
  const { project, target, options, folder, stopSignals } = request;
  const copied = { project, change: target, root };
  const tip = await headOf(worktree);
  // A Spool that was killed may have left a branch without any work on it.
  const isUntouched =
    savedCopy(project, target.id, tip) === null && (await commitsBeyondBase(project.root, branch)) === 0;
  if (isNew || isUntouched) createCopy(copied);
  else restoreCopy(copied, tip);
  const logFile = setupLog(folder);
  const tagPrefix = tagForPath(worktree);
  const outcome = await provision({ ...request, env: allowedEnvironment(request.env), root, logFile, tagPrefix });
  if (outcome === 'interrupted')
    throw userError('interrupted', exitCodeOf(stopSignals.received() ?? 'SIGTERM'), 'nothing was started');
  if (outcome !== 'passed')
    throw userError(
      'setup-failed',
      request.redactor.text(options.worktreeSetup ?? ''),
      relative(project.root, logFile),
    );
};

import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { asUserError, userError } from '../../errors.ts';
import {
  configuredBase,
  branchExists,
  commitsBeyondBase,
  currentBranch,
  dirtyPaths,
  hasCommits,
  headOf,
} from '../../git/branches.ts';
import {
  addWorktree,
  filesMatching,
  containsRepositories,
  isWorktree,
  removeWorktree,
} from '../../git/linked-worktrees.ts';
import { type Checkout, switchTo } from '../../git/checkout.ts';
import { git, toUtf8 } from '../../git/call/git.ts';
import { findWorkTree, isIntact, operationInProgress } from '../../git/work-tree.ts';
import type { Options } from '../../config/flags.ts';
import { runShell, type ShellResult } from '../../process/shell.ts';
import { terminateLeftovers, tagForPath } from '../../process/tree.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { createCopy, restoreCopy, saveCopy, savedCopy } from '../../changes/copies.ts';
import { checkFolderInside } from '../../files/inside.ts';
import { copyInside } from '../../files/write-inside.ts';
import { type Project } from '../../store/project.ts';
import { branchOf } from '../../changes/ids.ts';
import { planningPaths } from '../../changes/planning-paths.ts';
import type { Change } from '../../changes/source.ts';
import { hideWorktreesFromGit } from '../../store/folders.ts';
import { recordBase, recordedBase } from '../../store/user-record/branches.ts';
import { userRecordFolder } from '../../store/user-record/folder.ts';
import type { Emit } from '../../ralph/events.ts';
import type { Workspace } from '../../ralph/plan.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { joinLines } from '../../text/format.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { commandLine } from '../../text/shell-words.ts';
import {
  deletionNotices,
  includePatterns,
  isPlannedCopy,
  isProvisioned,
  noteProvisioned,
  resultsIn,
  type ProvisionedWorkspace,
  keptNotice,
} from './provisioned-worktree.ts';
import type { RunSpec } from '../spec.ts';
import { exitCodeOf, type StopSignals } from '../../process/signals.ts';
import { worktreePath, setupLog } from '../../store/paths.ts';

export interface WorkspaceRequest extends Pick<RunSpec, 'project' | 'change' | 'target' | 'options'> {
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
  const { project, options, previous, change } = request;
  if (options.worktree || previous?.worktree)
    return openWorktree(request, options.branch ?? previous?.branch ?? branchOf(change));
  const branch = options.branch ?? previous?.branch ?? null;
  if (branch !== null) {
    const isNew = !(await branchExists(project.root, branch));
    reportCheckout(request, branch, await switchTo(project.root, branch));
    await recordBranchBase(request, branch, isNew);
  }
  return { root: project.root, branch, worktree: null };
};

/** Records the base of a branch before agents work on it, because they can write to the git config. */
const recordBranchBase = async (
  { project, change, env }: WorkspaceRequest,
  branch: string,
  isNew: boolean,
): Promise<void> => {
  const folder = userRecordFolder(project, change, env);
  if (!isNew && recordedBase(folder, branch) !== undefined) return;
  recordBase(folder, branch, await configuredBase(project.root, branch));
};

const reportCheckout = ({ emit, redactor }: WorkspaceRequest, branch: string, checkout: Checkout): void => {
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
  const { project, change, emit } = request;
  const worktree = worktreePath(project, change);
  const top = await git(['rev-parse', '--show-toplevel'], { cwd: project.root });
  if (top.code !== 0) throw userError('no-git', project.root, 'a worktree needs a git repository');
  const root = join(worktree, relative(toUtf8(top.stdout).trim(), project.root));
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
      `${worktree} does not belong to this repository: look at it and move it away`,
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
  const { project, change, target, options, folder, stopSignals } = request;
  const copied = { project, change: target, root };
  const tip = await headOf(worktree);
  // A Spool that was killed may have left a branch without any work on it.
  const isUntouched = savedCopy(project, change, tip) === null && (await commitsBeyondBase(project.root, branch)) === 0;
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

export interface ProvisionRequest {
  readonly project: Project;
  readonly options: Pick<Options, 'worktreeSetup' | 'stopGrace'>;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the project in the worktree. */
  readonly root: string;
  readonly logFile: string;
  /** Called right before the setup runs. Throws if it must not run. */
  readonly checkSetup: (root: string) => void;
  /** The tag by which its processes are found if Spool is killed. */
  readonly tagPrefix: string;
  readonly stopSignals: StopSignals;
  readonly redactor: Redactor;
  readonly sandbox: Sandbox | null;
}

/** Prepares a worktree for running commands: copies the files of .worktreeinclude, then runs the setup of the user. */
export const provision = async (workspace: ProvisionRequest): Promise<ShellResult['outcome']> => {
  const { project, options, root } = workspace;
  const include = includePatterns(project);
  if (include !== null)
    for (const name of (await filesMatching(project.root, include)).map(toUtf8))
      if (!/^\.spool\/(?:worktrees|\.state)\//.test(name)) copyInside(project.root, root, name);
  if (options.worktreeSetup === null) return 'passed';
  workspace.checkSetup(root);
  const { outcome } = await runShell({
    ...workspace,
    command: options.worktreeSetup,
    cwd: root,
    tag: `${workspace.tagPrefix}/setup`,
    timeoutMs: 30 * 60_000,
    stopGraceMs: options.stopGrace,
  });
  return outcome;
};

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
  if (!done) return [`The work is in ${where} (branch ${branch}).`];
  const isEmpty = (await commitsBeyondBase(project.root, branch!)) === 0;
  const why = await reasonToKeep({ project, target, workspace: { ...workspace, worktree }, isEmpty });
  if (why !== null) return [`Kept ${where}: ${why}.`];
  const landing = `The work is on branch ${branch}; land it with: ${commandLine('spool', 'land', target.id)}`;
  const results = await resultsIn(project, target, { worktree, root });
  if (results.length > 0) return [keptNotice(results, where), ...(isEmpty ? [] : [landing])];
  saveCopy({ project, change: target, root }, (await headOf(worktree)) ?? '');
  const deleted = await deletionNotices(worktree);
  const removed = await removeWorktree(project.root, worktree);
  if (!removed.ok) return [`Kept ${where}: ${removed.why}.`];
  return [...deleted, isEmpty ? `Nothing was changed in the worktree: branch ${branch} has no commits.` : landing];
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

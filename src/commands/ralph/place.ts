import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { systemProblem, userError } from '../../errors.ts';
import {
  addWorktree,
  branchExists,
  currentBranch,
  dirtyPaths,
  filesNamedBy,
  holdsRepositories,
  isWorktree,
  rememberBase,
  removeWorktree,
  switchTo,
} from '../../git/branches.ts';
import { git, readable } from '../../git/git.ts';
import { findWorkTree, gitFolderOf, isIntact, unfinished } from '../../git/worktree.ts';
import type { Options } from '../../flags.ts';
import { runShell, type ShellResult } from '../../harness/shell.ts';
import { endRun, familyAt } from '../../processes.ts';
import { type Project, worktreePath } from '../../project/find.ts';
import { branchOf, moduleOf } from '../../project/ids.ts';
import { moduleFolderName } from '../../project/modules.ts';
import { hideWorktreesFromGit } from '../../project/state.ts';
import type { Emit, Place } from '../../ralph/events.ts';
import type { Redactor } from '../../redact.ts';
import type { RunRequest } from './run.ts';
import { exitCodeOf, type Stops } from './signals.ts';

export interface PlaceRequest extends RunRequest {
  /** Where the run was before it was interrupted. */
  readonly previous: Place | null;
  /** Where the prompts and the logs of this run go. */
  readonly folder: string;
  readonly stops: Stops;
  readonly redactor: Redactor;
  readonly emit: Emit;
}

/** Where agents work: the project's own folder, there on a branch, or a linked work tree with a branch of its own. */
export const openPlace = async (request: PlaceRequest): Promise<Place> => {
  const { project, options, previous, change } = request;
  if (options.worktree || previous?.worktree)
    return openWorktree(request, options.branch ?? previous?.branch ?? branchOf(change));
  const branch = options.branch ?? previous?.branch ?? null;
  if (branch !== null) {
    const base = (await branchExists(project.root, branch)) ? null : await currentBranch(project.root);
    const switched = await switchTo(project.root, branch);
    if (!switched.ok) throw userError('bad-branch', branch, switched.why);
    if (base !== null) await rememberBase(project.root, branch, base);
  }
  return { root: project.root, branch, worktree: null };
};

const openWorktree = async (request: PlaceRequest, branch: string): Promise<Place> => {
  const { project, change, emit } = request;
  const worktree = worktreePath(project, change);
  const top = await git(['rev-parse', '--show-toplevel'], { cwd: project.root });
  if (top.code !== 0) throw userError('no-git', project.root, 'a worktree needs a git repository');
  const root = join(worktree, relative(readable(top.stdout).trim(), project.root));
  let isNew = false;
  if (!(await isWorktree(project.root, worktree))) {
    hideWorktreesFromGit(project);
    isNew = !(await branchExists(project.root, branch));
    const base = isNew ? await currentBranch(project.root) : null;
    const added = await addWorktree(project.root, worktree, branch);
    if (!added.ok) throw userError('bad-branch', branch, added.why);
    if (base !== null) await rememberBase(project.root, branch, base);
  }
  const there = await currentBranch(worktree);
  if (request.options.branch !== null && there !== branch)
    throw userError('bad-branch', branch, `the worktree of this change is on ${there ?? 'no branch'}`);
  await furnishOnce(request, { worktree, root, isNew });
  emit({ type: 'notice', text: `Working in ${relative(project.root, worktree)}, on branch ${there ?? 'none'}.` });
  return { root, branch: there ?? branch, worktree };
};

/** How long a setup whose Spool is gone may take to end. */
const leftoverGraceMs = 2000;

interface NewPlace {
  readonly worktree: string;
  readonly root: string;
  /** The branch was made for it just now. */
  readonly isNew: boolean;
}

/** Once all of it is there, that is noted where git keeps the worktree; a setup that was cut off is done anew. */
const furnishOnce = async (request: PlaceRequest, { worktree, root, isNew }: NewPlace): Promise<void> => {
  const folder = await gitFolderOf(worktree);
  const note = folder === null ? null : join(folder, 'spool-furnished');
  if (note !== null && existsSync(note)) return;
  // Whoever was killed may have left a setup running.
  await endRun(familyAt(worktree), leftoverGraceMs);
  await furnish(request, root, isNew);
  if (note !== null) writeFileSync(note, '');
};

/** What the agent needs there and git does not bring: the change as it is now, .worktreeinclude, the setup. */
const furnish = async (request: PlaceRequest, root: string, isNew: boolean): Promise<void> => {
  const { project, change, options, folder, stops } = request;
  for (const path of await planned(project, change)) copy({ from: project.root, to: root }, path, isNew);
  const logFile = join(folder, 'setup.log');
  const family = familyAt(worktreePath(project, change));
  const outcome = await setUp({ ...request, env: request.call.env, root, logFile, family });
  if (outcome === 'interrupted')
    throw userError('interrupted', exitCodeOf(stops.received() ?? 'SIGTERM'), 'nothing was started');
  if (outcome !== 'passed')
    throw userError('setup-failed', options.worktreeSetup ?? '', relative(project.root, logFile));
};

export interface SetUp {
  readonly project: Project;
  readonly options: Pick<Options, 'worktreeSetup' | 'stopGrace'>;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the project in the new work tree. */
  readonly root: string;
  readonly logFile: string;
  /** Under which its processes are found when Spool is killed. */
  readonly family: string;
  readonly stops: Stops;
  readonly redactor: Redactor;
}

/** Makes a work tree one in which commands can run: .worktreeinclude, and then the setup of the user. */
export const setUp = async (place: SetUp): Promise<ShellResult['outcome']> => {
  const { project, options, root } = place;
  const include = join(project.root, '.worktreeinclude');
  if (existsSync(include))
    for (const name of (await filesNamedBy(project.root, include)).map(readable))
      if (!/^\.spool\/(?:worktrees|\.state)\//.test(name)) copy({ from: project.root, to: root }, name, true);
  if (options.worktreeSetup === null) return 'passed';
  const { outcome } = await runShell({
    ...place,
    command: options.worktreeSetup,
    cwd: root,
    tag: `${place.family}/setup`,
    timeoutMs: 30 * 60_000,
    stopGraceMs: options.stopGrace,
  });
  return outcome;
};

/** The change and its module, which may not be committed yet. */
export const planned = async (project: Project, change: string): Promise<string[]> => {
  const moduleId = moduleOf(change);
  const module = moduleId === null ? null : await moduleFolderName(project, moduleId);
  const paths = [
    join('.spool', 'changes', change),
    ...(module === null ? [] : [join('.spool', 'modules', module)]),
    join('.spool', 'config.json'),
  ];
  return paths.filter((path) => existsSync(join(project.root, path)));
};

/** Without `force`, what is there already stays: the agent may have changed it. */
const copy = ({ from, to }: { from: string; to: string }, path: string, force: boolean): void => {
  try {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(from, path), join(to, path), { recursive: true, force });
  } catch (error) {
    throw userError('io', join(to, path), systemProblem(error));
  }
};

/** After success a work tree in which nothing is left is removed: its commits are on the branch. Otherwise it stays, and why. */
export const leavePlace = async (project: Project, place: Place, done: boolean): Promise<string | null> => {
  const { worktree, branch } = place;
  if (worktree === null) return null;
  const where = relative(project.root, worktree);
  if (!done) return `The work is in ${where}, on branch ${branch}.`;
  const why = await reasonToStay(project, place, worktree);
  if (why !== null) return `${where} stays: ${why}.`;
  const removed = await removeWorktree(project.root, worktree);
  if (!removed.ok) return `${where} stays: ${removed.why}.`;
  return `The work is on branch ${branch}; land it with: spool land ${basename(worktree)}`;
};

const reasonToStay = async (project: Project, { root, branch }: Place, worktree: string): Promise<string | null> => {
  const found = await findWorkTree(worktree, join(worktree, '.git', 'unused'));
  if (found.kind !== 'found' || !isIntact(found.tree) || !existsSync(join(worktree, '.git')))
    return 'git does not know it any more';
  const busy = unfinished(found.tree);
  if (busy !== null) return `${busy} is in progress in it`;
  const there = await currentBranch(worktree);
  if (there !== branch) return `it is on ${there ?? 'no branch'}, not on ${branch}`;
  if (await holdsRepositories(worktree)) return 'there are repositories inside it';
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git cannot tell what is in it';
  const same = (path: string) => isCopy(join(project.root, relative(root, join(worktree, path))), join(worktree, path));
  const left = dirty.map(readable).find((path) => !same(path));
  return left === undefined ? null : `there is uncommitted work in it, such as ${left}`;
};

const isCopy = (original: string, path: string): boolean => {
  const isFile = (file: string) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile(original) && isFile(path) && readFileSync(original).equals(readFileSync(path));
};

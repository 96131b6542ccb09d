import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { systemProblem, userError } from '../../errors.ts';
import {
  addWorktree,
  currentBranch,
  dirtyPaths,
  filesNamedBy,
  isWorktree,
  rememberBase,
  removeWorktree,
  switchTo,
} from '../../git/branches.ts';
import { git, readable } from '../../git/git.ts';
import { runShell } from '../../harness/shell.ts';
import { type Project, worktreePath } from '../../project/find.ts';
import { moduleOf } from '../../project/ids.ts';
import { moduleFolderName } from '../../project/modules.ts';
import type { Emit, Place } from '../../ralph/events.ts';
import type { Redactor } from '../../redact.ts';
import type { RunRequest } from './run.ts';
import type { Stops } from './signals.ts';

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
    return openWorktree(request, options.branch ?? previous?.branch ?? `ralph/${change}`);
  const branch = options.branch ?? previous?.branch ?? null;
  if (branch !== null) {
    const base = await currentBranch(project.root);
    const switched = await switchTo(project.root, branch);
    if (!switched.ok) throw userError('bad-branch', branch, switched.why);
    if (base !== null && base !== branch) await rememberBase(project.root, branch, base);
  }
  return { root: project.root, branch, worktree: null };
};

const openWorktree = async (request: PlaceRequest, branch: string): Promise<Place> => {
  const { project, change, emit } = request;
  const worktree = worktreePath(project, change);
  const top = await git(['rev-parse', '--show-toplevel'], { cwd: project.root });
  if (top.code !== 0) throw userError('no-git', project.root, 'a worktree needs a git repository');
  const root = join(worktree, relative(readable(top.stdout).trim(), project.root));
  if (!(await isWorktree(project.root, worktree))) {
    hideWorktrees(project);
    const base = await currentBranch(project.root);
    const added = await addWorktree(project.root, worktree, branch);
    if (!added.ok) throw userError('bad-branch', branch, added.why);
    if (base !== null) await rememberBase(project.root, branch, base);
    await furnish(request, root);
    emit({ type: 'notice', text: `Working in ${relative(project.root, worktree)}, on branch ${branch}.` });
  }
  return { root, branch, worktree };
};

const hideWorktrees = (project: Project): void => {
  const folder = join(project.root, '.spool', 'worktrees');
  mkdirSync(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
};

/** What the agent needs there and git does not bring: the change as it is now, .worktreeinclude, the setup. */
const furnish = async ({ project, change, options, call, folder, stops, redactor }: PlaceRequest, root: string) => {
  for (const path of await planned(project, change)) copy(project.root, root, path);
  const include = join(project.root, '.worktreeinclude');
  if (existsSync(include))
    for (const name of await filesNamedBy(project.root, include)) copy(project.root, root, readable(name));
  if (options.worktreeSetup === null) return;
  const logFile = join(folder, 'setup.log');
  const result = await runShell({
    command: options.worktreeSetup,
    cwd: root,
    env: call.env,
    tag: `setup-${process.pid}/${change}`,
    logFile,
    timeoutMs: 30 * 60_000,
    stopGraceMs: options.stopGrace,
    stops,
    redactor,
  });
  if (result.outcome !== 'passed')
    throw userError('setup-failed', options.worktreeSetup, relative(project.root, logFile));
};

/** The change and its module, which may not be committed yet. */
const planned = async (project: Project, change: string): Promise<string[]> => {
  const moduleId = moduleOf(change);
  const module = moduleId === null ? null : await moduleFolderName(project, moduleId);
  const paths = [
    join('.spool', 'changes', change),
    ...(module === null ? [] : [join('.spool', 'modules', module)]),
    join('.spool', 'config.json'),
  ];
  return paths.filter((path) => existsSync(join(project.root, path)));
};

const copy = (from: string, to: string, path: string): void => {
  try {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(from, path), join(to, path), { recursive: true });
  } catch (error) {
    throw userError('io', join(to, path), systemProblem(error));
  }
};

/** After success a clean work tree is not needed any more: its commits are on the branch. Otherwise it stays, and that is said. */
export const leavePlace = async (
  project: Project,
  { root, worktree, branch }: Place,
  done: boolean,
): Promise<string | null> => {
  if (worktree === null) return null;
  const where = relative(project.root, worktree);
  const same = (path: string) => isCopy(join(project.root, relative(root, join(worktree, path))), join(worktree, path));
  const dirty = (await dirtyPaths(worktree)).map(readable).filter((path) => !same(path));
  if (!done) return `The work is in ${where}, on branch ${branch}.`;
  if (dirty.length > 0) return `${where} stays: there is uncommitted work in it, such as ${dirty[0]}.`;
  const removed = await removeWorktree(project.root, worktree);
  return removed.ok
    ? `The work is on branch ${branch}; land it with: spool land ${worktree.split('/').at(-1)}`
    : removed.why;
};

const isCopy = (original: string, path: string): boolean => {
  const isFile = (file: string) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile(original) && isFile(path) && readFileSync(original).equals(readFileSync(path));
};

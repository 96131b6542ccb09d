import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { systemProblem, UserError } from '../errors.ts';
import { removeSafely } from '../files/safe.ts';
import { realPath } from '../process/which.ts';
import { git, type GitArguments } from './call/git.ts';
import { pathOf, toUtf8 } from './paths.ts';
import { type GitOutcome, outcome, reasonFor, hookProblemIn } from './outcome.ts';
import { currentBranch, branchExists, dirtyPaths, saveBase, removeBase, type Stoppable } from './branches.ts';
import type { Checkout } from './checkout.ts';

/**
 * Returns the problem with the folder of linked work trees; null if there is none. git deletes entries of work trees
 * that seem gone, even through a symbolic link.
 */
const worktreesProblem = async (cwd: string): Promise<string | null> => {
  const { stdout } = await git(['rev-parse', '--git-common-dir'], { cwd });
  const folder = resolvePath(cwd, toUtf8(stdout).replace(/\n$/, ''), 'worktrees');
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return null;
  return `${folder} is not a folder. Inspect and remove it.`;
};

/**
 * Adds a linked work tree at `path` on a branch, which is created from HEAD if it does not exist. Leaves nothing behind
 * if it fails.
 */
export const addWorktree = async (cwd: string, path: string, branch: string): Promise<Checkout> => {
  const problem = await worktreesProblem(cwd);
  if (problem !== null) return { ok: false, why: problem, files: [] };
  await git(['worktree', 'prune'], { cwd });
  const isNew = !(await branchExists(cwd, branch));
  if (isNew) await saveBase(cwd, branch, await currentBranch(cwd));
  const args = isNew ? ['-b', branch, path] : [path, branch];
  // The hooks that run are the current files, not those of the branch.
  const result = await git(['worktree', 'add', '--quiet', ...args], { cwd, hooks: true });
  if (result.code === 0) return { ok: true, hookProblem: null, otherHooks: null };
  const isThere = (await isWorktree(cwd, path)) && (await currentBranch(path)) === branch;
  if (isThere && (await dirtyPaths(path))?.length === 0)
    return { ok: true, hookProblem: hookProblemIn(result), otherHooks: null };
  if (isThere) await discardWorktree(cwd, path);
  if (isNew && (await branchExists(cwd, branch))) await git(['branch', '--quiet', '-D', branch], { cwd });
  if (isNew) await removeBase(cwd, branch);
  return { ok: false, why: reasonFor(result), files: [] };
};

export const removeWorktree = async (cwd: string, path: string): Promise<GitOutcome> =>
  outcome(await git(['worktree', 'remove', '--force', path], { cwd }));

/**
 * Removes a work tree without valuable content, even an incomplete one that a killed process left. Throws if it is
 * behind a symbolic link.
 */
export const discardWorktree = async (cwd: string, path: string): Promise<GitOutcome> => {
  try {
    removeSafely(path);
  } catch (error) {
    if (error instanceof UserError) throw error;
    return { ok: false, why: systemProblem(error) };
  }
  // Given twice, because git locks a work tree until it is complete.
  await git(['worktree', 'remove', '--force', '--force', path], { cwd });
  return { ok: true };
};

/** Returns true if the folder is a linked work tree of the repository. */
export const isWorktree = async (cwd: string, path: string): Promise<boolean> => {
  // git still lists a work tree whose folder was deleted by hand.
  if (!existsSync(join(path, '.git'))) return false;
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  const isListed = stdout.split('\0').includes(`worktree ${Buffer.from(path).toString('latin1')}`);
  return isListed && belongsToRepository(cwd, path);
};

/** Returns false if the `.git` of a listed work tree was changed and points to another repository. */
const belongsToRepository = async (cwd: string, path: string): Promise<boolean> => {
  const asked: GitArguments = ['rev-parse', '--absolute-git-dir', '--git-common-dir'];
  const foldersAt = async (folder: string) => {
    const [own = '', common = ''] = toUtf8((await git(asked, { cwd: folder })).stdout).split('\n');
    return { own: realPath(own), common: realPath(resolvePath(folder, common)) };
  };
  const [here, there] = await Promise.all([foldersAt(cwd), foldersAt(path)]);
  return there.common === here.common && dirname(there.own) === join(here.common, 'worktrees');
};

/** Returns the untracked files that ignore patterns match, relative to the folder, whether git ignores them or not. */
export const filesMatching = async (cwd: string, patterns: Buffer): Promise<string[]> => {
  // A copy, because git would block if the file of the project became a named pipe.
  const folder = mkdtempSync(join(tmpdir(), 'spool-include-'));
  const file = join(folder, 'patterns');
  try {
    writeFileSync(file, patterns);
    const args: GitArguments = ['ls-files', '--others', '--ignored', `--exclude-from=${file}`, '-z'];
    return (await git(args, { cwd })).stdout.split('\0').filter(Boolean);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Returns true if there are submodules or other repositories inside: their commits may exist nowhere else. */
export const containsRepositories = async (cwd: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '--stage', '-z'], { cwd });
  const nested = stdout.split('\0').filter((line) => line.startsWith('160000 '));
  // A submodule that was never fetched into this work tree is an empty folder.
  return nested.some((line) => existsSync(pathOf(cwd, `${line.slice(line.indexOf('\t') + 1)}/.git`)));
};

/** Adds a work tree without a branch, for a rehearsal. */
export const addDetached = async (
  cwd: string,
  [path, commit]: readonly [string, string],
  stoppable: Stoppable,
): Promise<GitOutcome> =>
  outcome(await git(['worktree', 'add', '--quiet', '--detach', path, commit], { cwd, ...stoppable }));

/** Returns the folder in which a branch is checked out; null if there is none. */
export const worktreeOf = async (cwd: string, branch: string): Promise<string | null> => {
  const worktree = (await listWorktrees(cwd)).find((each) => each.branch === branch);
  return worktree !== undefined && existsSync(worktree.folder) ? worktree.folder : null;
};

export interface ListedWorktree {
  readonly folder: string;
  /** null if none is checked out. */
  readonly branch: string | null;
}

/** Returns the work trees of the repository, the main one first. A folder may have been deleted by hand. */
export const listWorktrees = async (cwd: string): Promise<ListedWorktree[]> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  return toUtf8(stdout)
    .split('\0\0')
    .map((entry) => entry.split('\0'))
    .flatMap((lines) => {
      const after = (start: string) => lines.find((line) => line.startsWith(start))?.slice(start.length);
      const folder = after('worktree ');
      return folder === undefined ? [] : [{ folder, branch: after('branch refs/heads/') ?? null }];
    });
};

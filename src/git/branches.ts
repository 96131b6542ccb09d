import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem } from '../errors.ts';
import { git, type GitCall, pathOf, readable } from './git.ts';

/** Every question about branches and linked work trees. What git refuses comes as the reason. */

export type GitOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** The branch that is checked out; null for a detached HEAD. */
export const currentBranch = async (cwd: string): Promise<string | null> => {
  // git would shorten it to heads/main where a tag has the same name.
  const { code, stdout } = await git(['symbolic-ref', '--quiet', 'HEAD'], { cwd });
  return code === 0
    ? readable(stdout)
        .trim()
        .replace(/^refs\/heads\//, '')
    : null;
};

export const branchExists = async (cwd: string, branch: string): Promise<boolean> =>
  (await git(['show-ref', '--verify', '--quiet', `refs/heads/${branch}`], { cwd })).code === 0;

/** Goes to a branch, which is made when there is none. */
export const switchTo = async (cwd: string, branch: string): Promise<GitOutcome> => {
  if ((await currentBranch(cwd)) === branch) return { ok: true };
  const create = (await branchExists(cwd, branch)) ? [] : ['-c'];
  return outcome(await git(['switch', '--quiet', ...create, branch], { cwd, hooks: true }));
};

/** A linked work tree at `path` on a branch, which is made from HEAD when there is none. */
export const addWorktree = async (cwd: string, path: string, branch: string): Promise<GitOutcome> => {
  await git(['worktree', 'prune'], { cwd });
  const args = (await branchExists(cwd, branch)) ? [path, branch] : ['-b', branch, path];
  return outcome(await git(['worktree', 'add', '--quiet', ...args], { cwd, hooks: true }));
};

export const removeWorktree = async (cwd: string, path: string): Promise<GitOutcome> =>
  outcome(await git(['worktree', 'remove', '--force', path], { cwd }));

/** Removes a work tree in which nothing is of worth, also half of one that a kill has left. */
export const discardWorktree = async (cwd: string, path: string): Promise<GitOutcome> => {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    return { ok: false, why: systemProblem(error) };
  }
  // Twice, as git locks one until it is complete.
  await git(['worktree', 'remove', '--force', '--force', path], { cwd });
  return { ok: true };
};

/** Whether this folder is a linked work tree of the repository. */
export const isWorktree = async (cwd: string, path: string): Promise<boolean> => {
  // One whose folder was deleted by hand is still listed.
  if (!existsSync(join(path, '.git'))) return false;
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  return stdout.split('\0').includes(`worktree ${Buffer.from(path).toString('latin1')}`);
};

/** Untracked files that the patterns of a file name, relative to the folder; ignored or not. */
export const filesNamedBy = async (cwd: string, patterns: string): Promise<string[]> => {
  const args = ['ls-files', '--others', '--ignored', `--exclude-from=${patterns}`, '-z'];
  return (await git(args, { cwd })).stdout.split('\0').filter(Boolean);
};

/** Paths that differ from HEAD or are untracked, relative to the root of the work tree; null when git cannot tell. */
export const dirtyPaths = async (cwd: string): Promise<string[] | null> => {
  const { code, stdout } = await git(['status', '--porcelain', '-z', '--untracked-files=all', '--no-renames'], { cwd });
  if (code !== 0) return null;
  return stdout
    .split('\0')
    .filter(Boolean)
    .map((line) => line.slice(3));
};

/** Submodules, or other repositories: what is committed in them may be nowhere else. */
export const holdsRepositories = async (cwd: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '--stage', '-z'], { cwd });
  const nested = stdout.split('\0').filter((line) => line.startsWith('160000 '));
  // One that was never fetched into this work tree is an empty folder.
  return nested.some((line) => existsSync(pathOf(cwd, `${line.slice(line.indexOf('\t') + 1)}/.git`)));
};

/** Where a branch began, so that it can be landed there. */
export const rememberBase = async (cwd: string, branch: string, base: string): Promise<void> =>
  void (await git(['config', `branch.${branch}.spoolBase`, base], { cwd }));

export const baseOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['config', '--get', `branch.${branch}.spoolBase`], { cwd });
  return code === 0 ? readable(stdout).trim() : null;
};

const outcome = ({ code, stderr }: { code: number; stderr: string }): GitOutcome =>
  code === 0 ? { ok: true } : { ok: false, why: reasonIn(stderr) };

/** What git says first is what is wrong; what comes behind is advice. */
const reasonIn = (text: string): string => {
  const lines = text.trim().split('\n');
  const told = (lines.find((line) => problem.test(line)) ?? lines.at(-1) ?? '').replace(problem, '');
  return told.endsWith(':') ? `${told} ${filesIn(text).join(', ')}` : told;
};

const problem = /^(?:fatal|error): /;

/** In whatever language it speaks, git puts the files that it speaks of on lines of their own. */
const filesIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('\t'))
    .map((line) => line.trim());

type Stoppable = Pick<GitCall, 'env' | 'kill'>;

/** A work tree without a branch, for trying something out. */
export const addDetached = async (
  cwd: string,
  [path, commit]: readonly [string, string],
  stoppable: Stoppable,
): Promise<GitOutcome> =>
  outcome(await git(['worktree', 'add', '--quiet', '--detach', path, commit], { cwd, ...stoppable }));

export type Rebased =
  | { readonly kind: 'rebased'; readonly commit: string }
  | { readonly kind: 'conflict'; readonly files: readonly string[] }
  | { readonly kind: 'failed'; readonly why: string };

/** Puts the commits of a detached work tree on top of another branch; leaves it as it was when they do not fit. */
export const rebaseOnto = async (cwd: string, base: string, stoppable: Stoppable): Promise<Rebased> => {
  // A tag may have the same name.
  const onto = `refs/heads/${base}`;
  const ahead = await git(['merge-base', '--is-ancestor', onto, 'HEAD'], { cwd });
  // Nothing of the user's settings: branches that point to the same commits must stay.
  const plain = ['rebase.updateRefs', 'rebase.autoSquash', 'rebase.autoStash'].flatMap((name) => [
    '-c',
    `${name}=false`,
  ]);
  const rebase = ahead.code === 0 ? ahead : await git([...plain, 'rebase', '--quiet', onto], { cwd, ...stoppable });
  if (rebase.code === 0) return { kind: 'rebased', commit: (await git(['rev-parse', 'HEAD'], { cwd })).stdout.trim() };
  const { stdout } = await git(['diff', '--name-only', '--diff-filter=U', '-z'], { cwd });
  await git(['rebase', '--abort'], { cwd });
  const files = stdout.split('\0').filter(Boolean);
  return files.length > 0 ? { kind: 'conflict', files } : { kind: 'failed', why: reasonIn(rebase.stderr) };
};

export type Forwarded =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly why: string;
      /** What would have been overwritten. */
      readonly files: readonly string[];
    };

/** Moves a branch ahead to a commit, with the files of the folder in which it is checked out; never anything but ahead. */
export const fastForward = async (cwd: string, branch: string, commit: string): Promise<Forwarded> => {
  const holder = await holderOf(cwd, branch);
  if (holder !== null) return mergeIn(holder, branch, commit);
  const ref = `refs/heads/${branch}`;
  const ancestor = await git(['merge-base', '--is-ancestor', ref, commit], { cwd });
  if (ancestor.code !== 0) return { ok: false, why: `${branch} has moved`, files: [] };
  // Unlike update-ref it refuses a branch that somebody is rebasing.
  const moved = outcome(await git(['branch', '--force', '--no-track', branch, commit], { cwd, hooks: true }));
  return moved.ok ? moved : { ...moved, files: [] };
};

const mergeIn = async (holder: string, branch: string, commit: string): Promise<Forwarded> => {
  const before = await tipOf(holder, branch);
  // What is ignored is nowhere else, but git would overwrite it without a word.
  const args = ['merge', '--ff-only', '--no-overwrite-ignore', '--no-autostash', '--quiet', commit];
  const { code, stderr } = await git(args, { cwd: holder, hooks: true });
  if (code === 0) return { ok: true };
  // A hook that refuses to move the branch comes when the files are there already. What is as it was stays so.
  if (before !== null && (await tipOf(holder, branch)) === before)
    await git(['read-tree', '-m', '-u', commit, before], { cwd: holder });
  return { ok: false, why: reasonIn(stderr), files: filesIn(stderr).filter((name) => existsSync(join(holder, name))) };
};

/** The folder in which a branch is checked out; null when it is nowhere. */
export const holderOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  const entries = readable(stdout).split('\0\0');
  const entry = entries.find((text) => text.split('\0').includes(`branch refs/heads/${branch}`));
  const path = entry?.split('\0').find((line) => line.startsWith('worktree '));
  const folder = path === undefined ? null : path.slice('worktree '.length);
  return folder !== null && existsSync(folder) ? folder : null;
};

/** Where a folder is in its work tree: empty, or `sub/`. */
export const prefixOf = async (cwd: string): Promise<string> =>
  readable((await git(['rev-parse', '--show-prefix'], { cwd })).stdout).trimEnd();

/** Points a branch to a commit, if it is checked out nowhere and still where it was. */
export const moveBranch = async (
  cwd: string,
  branch: string,
  [from, to]: readonly [string, string],
): Promise<boolean> =>
  (await holderOf(cwd, branch)) === null &&
  (await git(['update-ref', `refs/heads/${branch}`, to, from], { cwd })).code === 0;

export const tipOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], { cwd });
  return code === 0 ? stdout.trim() : null;
};

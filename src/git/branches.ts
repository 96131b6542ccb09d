import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { git } from './git.ts';

/** Every question about branches and linked work trees. What git refuses comes as the reason. */

export type GitOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** The branch that is checked out; null for a detached HEAD. */
export const currentBranch = async (cwd: string): Promise<string | null> => {
  const { code, stdout } = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { cwd });
  return code === 0 ? stdout.trim() : null;
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
  return stdout.split('\0').some((line) => line.startsWith('160000 '));
};

/** Where a branch began, so that it can be landed there. */
export const rememberBase = async (cwd: string, branch: string, base: string): Promise<void> =>
  void (await git(['config', `branch.${branch}.spoolBase`, base], { cwd }));

export const baseOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['config', '--get', `branch.${branch}.spoolBase`], { cwd });
  return code === 0 ? stdout.trim() : null;
};

const outcome = ({ code, stderr }: { code: number; stderr: string }): GitOutcome =>
  code === 0 ? { ok: true } : { ok: false, why: reasonIn(stderr) };

const reasonIn = (text: string) =>
  text
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^(?:fatal|error): /, '') ?? '';

/** A work tree without a branch, for trying something out. */
export const addDetached = async (cwd: string, path: string, commit: string): Promise<GitOutcome> =>
  outcome(await git(['worktree', 'add', '--quiet', '--detach', path, commit], { cwd }));

export type Rebased =
  | { readonly kind: 'rebased'; readonly commit: string }
  | { readonly kind: 'conflict'; readonly files: readonly string[]; readonly why: string };

/** Puts the commits of a detached work tree on top of another branch; leaves it as it was when they do not fit. */
export const rebaseOnto = async (cwd: string, base: string): Promise<Rebased> => {
  const ahead = await git(['merge-base', '--is-ancestor', base, 'HEAD'], { cwd });
  // Nothing of the user's settings: branches that point to the same commits must stay.
  const plain = ['rebase.updateRefs', 'rebase.autoSquash', 'rebase.autoStash'].flatMap((name) => [
    '-c',
    `${name}=false`,
  ]);
  const rebase = ahead.code === 0 ? ahead : await git([...plain, 'rebase', '--quiet', base], { cwd });
  if (rebase.code === 0) return { kind: 'rebased', commit: (await git(['rev-parse', 'HEAD'], { cwd })).stdout.trim() };
  const { stdout } = await git(['diff', '--name-only', '--diff-filter=U', '-z'], { cwd });
  await git(['rebase', '--abort'], { cwd });
  return { kind: 'conflict', files: stdout.split('\0').filter(Boolean), why: reasonIn(rebase.stderr) };
};

/** Moves a branch ahead to a commit, with the files of the folder in which it is checked out; never anything but ahead. */
export const fastForward = async (cwd: string, branch: string, commit: string): Promise<GitOutcome> => {
  const holder = await holderOf(cwd, branch);
  if (holder !== null)
    return outcome(await git(['merge', '--ff-only', '--quiet', commit], { cwd: holder, hooks: true }));
  const ancestor = await git(['merge-base', '--is-ancestor', branch, commit], { cwd });
  if (ancestor.code !== 0) return { ok: false, why: `${branch} has moved` };
  return outcome(await git(['update-ref', `refs/heads/${branch}`, commit], { cwd }));
};

/** The folder in which a branch is checked out; null when it is nowhere. */
const holderOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  const entry = stdout.split('\0\0').find((text) => text.split('\0').includes(`branch refs/heads/${branch}`));
  const path = entry?.split('\0').find((line) => line.startsWith('worktree '));
  const folder = path === undefined ? null : Buffer.from(path.slice('worktree '.length), 'latin1').toString('utf8');
  return folder !== null && existsSync(folder) ? folder : null;
};

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

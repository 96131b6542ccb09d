import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { git, type GitArguments } from './call/git.ts';
import { changedHooks } from './hooks.ts';
import { commitsBeyond, tipOf } from './branches.ts';
import { withHooks } from './checkout.ts';
import { outcome, reasonFor, filesIn } from './outcome.ts';
import { worktreeOf } from './linked-worktrees.ts';

export interface Range {
  readonly commits: number;
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** Counts the commits from one commit to another, and what they change. */
export const rangeBetween = async (cwd: string, from: string, to: string): Promise<Range> => {
  const { stdout } = await git(['diff', '--shortstat', '--no-renames', from, to], { cwd });
  const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
  return {
    commits: (await commitsBeyond(cwd, from, to)) ?? 0,
    files: number(/(?<!\d)(\d+) file/),
    insertions: number(/(?<!\d)(\d+) insertion/),
    deletions: number(/(?<!\d)(\d+) deletion/),
  };
};

export type Forwarded =
  | { readonly ok: true; readonly otherHooks: string | null }
  | {
      readonly ok: false;
      readonly why: string;
      /** Files that would have been overwritten. */
      readonly files: readonly string[];
    };

/**
 * Fast-forwards a branch to a commit, with the files of the folder in which it is checked out. Never moves it anywhere
 * else.
 */
export const fastForward = async (cwd: string, branch: string, commit: string): Promise<Forwarded> => {
  const folder = await worktreeOf(cwd, branch);
  if (folder !== null) return fastForwardIn(folder, branch, commit);
  const ref = `refs/heads/${branch}`;
  const ancestor = await git(['merge-base', '--is-ancestor', ref, commit], { cwd });
  if (ancestor.code !== 0) return { ok: false, why: `${branch} has moved`, files: [] };
  // Unlike update-ref, this refuses to move a branch that is being rebased.
  const moved = outcome(await git(['branch', '--force', '--no-track', branch, commit], { cwd, hooks: true }));
  return moved.ok ? { ok: true, otherHooks: null } : { ...moved, files: [] };
};

const fastForwardIn = async (folder: string, branch: string, commit: string): Promise<Forwarded> => {
  const before = await tipOf(folder, branch);
  // Ignored files exist nowhere else, and git would overwrite them silently.
  const args: GitArguments = ['merge', '--ff-only', '--no-overwrite-ignore', '--no-autostash', '--quiet', commit];
  const otherHooks = await changedHooks(folder, commit);
  const { code, stderr } = await git(args, { cwd: folder, ...withHooks(otherHooks) });
  if (code === 0) return { ok: true, otherHooks };
  // A hook that refuses to move the branch runs after the files were written, so they are restored. Unchanged files are
  // not touched.
  if (before !== null && (await tipOf(folder, branch)) === before)
    await git(['read-tree', '-m', '-u', commit, before], { cwd: folder });
  return {
    ok: false,
    why: reasonFor({ code, stderr }),
    files: filesIn(stderr).filter((name) => existsSync(join(folder, name))),
  };
};

/** Points a branch to a commit if it is checked out nowhere and has not moved. */
export const moveBranch = async (
  cwd: string,
  branch: string,
  [from, to]: readonly [string, string],
): Promise<boolean> =>
  (await worktreeOf(cwd, branch)) === null &&
  (await git(['update-ref', '--no-deref', `refs/heads/${branch}`, to, from], { cwd })).code === 0;

/**
 * Moves the branch that is checked out in a work tree, with its files. Uncommitted changes and ignored files survive;
 * otherwise nothing is moved.
 */
export const moveKeeping = async (worktree: string, branch: string, commit: string): Promise<boolean> =>
  // `reset --keep` would overwrite ignored files.
  (await git(['switch', '--quiet', '--no-overwrite-ignore', '--force-create', branch, commit], { cwd: worktree }))
    .code === 0;

/** Deletes a branch if it is at the expected commit and checked out nowhere. */
export const deleteBranch = async (cwd: string, branch: string, at: string): Promise<boolean> =>
  (await worktreeOf(cwd, branch)) === null &&
  (await tipOf(cwd, branch)) === at &&
  (await git(['branch', '--quiet', '-D', branch], { cwd })).code === 0;

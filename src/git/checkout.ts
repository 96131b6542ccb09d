import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { git, type GitArguments, type GitCall } from './call/git.ts';
import { pathOf } from './paths.ts';
import { changedHooks } from './hooks.ts';
import { currentBranch, branchExists, dirtyPaths, saveBase, removeBase } from './branches.ts';
import { topOf } from './repository.ts';
import { filesIn, reasonFor, hookProblemIn } from './outcome.ts';

export type Checkout =
  | {
      readonly ok: true;
      /** A hook that fails after a checkout does not undo it. */
      readonly hookProblem: string | null;
      /** The folder with hooks that differ from the current ones, so none was run; null if hooks were run. */
      readonly otherHooks: string | null;
    }
  | {
      readonly ok: false;
      readonly why: string;
      /** Files that would have been overwritten. */
      readonly files: readonly string[];
    };

/** Checks out a branch, and creates it if it does not exist. A failed checkout leaves the folder unchanged. */
export const switchTo = async (cwd: string, branch: string): Promise<Checkout> => {
  const before = await currentBranch(cwd);
  if (before === branch) return { ok: true, hookProblem: null, otherHooks: null };
  const isNew = !(await branchExists(cwd, branch));
  const dirty = (await dirtyPaths(cwd)) ?? [];
  if (isNew) await saveBase(cwd, branch, before);
  const otherHooks = isNew ? null : await changedHooks(await topOf(cwd), `refs/heads/${branch}`);
  // Ignored files exist nowhere else, and git would overwrite them silently.
  const args: GitArguments = ['switch', '--quiet', '--no-overwrite-ignore', ...(isNew ? ['-c'] : []), branch];
  const result = await git(args, { cwd, ...withHooks(otherHooks) });
  if (result.code === 0) return { ok: true, hookProblem: null, otherHooks };
  if ((await currentBranch(cwd)) === branch) return { ok: true, hookProblem: hookProblemIn(result), otherHooks };
  if (isNew) await removeBase(cwd, branch);
  await undoSwitch(cwd, branch, dirty);
  const root = await topOf(cwd);
  const files = filesIn(result.stderr).filter((name) => existsSync(join(root, name)));
  return { ok: false, why: reasonFor(result), files };
};

export const withHooks = (otherHooks: string | null): Pick<GitCall, 'hooks'> =>
  otherHooks === null ? { hooks: true } : {};

/**
 * Undoes a checkout that a failing filter interrupted. Files that were dirty before are left alone. Ignored files of the
 * user are not at paths of the branch, because git would not have begun.
 */
const undoSwitch = async (cwd: string, branch: string, dirtyBefore: readonly string[]): Promise<void> => {
  const known = new Set(dirtyBefore);
  const changed = ((await dirtyPaths(cwd)) ?? []).filter((path) => !known.has(path));
  if (changed.length === 0) return;
  const root = await topOf(cwd);
  const tracked = new Set(await pathsIn(root, 'HEAD', changed));
  const target = new Set(await pathsIn(root, `refs/heads/${branch}`, changed));
  // First, because a .gitattributes may be among them.
  for (const path of changed) if (!tracked.has(path) && target.has(path)) rmSync(pathOf(root, path), { force: true });
  const input = changed
    .filter((path) => tracked.has(path))
    .map((path) => `:(literal)${path}\0`)
    .join('');
  const restore: GitArguments = [
    'restore',
    '--source=HEAD',
    '--staged',
    '--worktree',
    '--pathspec-from-file=-',
    '--pathspec-file-nul',
  ];
  if (input !== '') await git(restore, { cwd: root, input });
};

const pathsIn = async (root: string, commit: string, paths: readonly string[]): Promise<string[]> => {
  const literal = paths.map((path) => Buffer.from(path, 'latin1').toString());
  const { stdout } = await git(['ls-tree', '-z', '--name-only', '--full-name', commit, '--', ...literal], {
    cwd: root,
  });
  return stdout.split('\0').filter(Boolean);
};

import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { systemProblem, UserError } from '../errors.ts';
import { removeSafely } from '../files/safe.ts';
import { realPath } from '../process/which.ts';
import { git, type GitArguments, type GitCall, type GitResult, pathOf, toUtf8 } from './call/git.ts';
import { changedHooks } from './hooks.ts';
import { noFetch } from './call/inert.ts';

/** Branches and linked work trees. A refusal by git is returned as the reason. */

export type GitOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** Returns the branch that is checked out; null for a detached HEAD. */
export const currentBranch = async (cwd: string): Promise<string | null> => {
  // git shortens the name to heads/main if a tag has the same name.
  const { code, stdout } = await git(['symbolic-ref', '--quiet', 'HEAD'], { cwd });
  return code === 0
    ? toUtf8(stdout)
        .trim()
        .replace(/^refs\/heads\//, '')
    : null;
};

export const branchExists = async (cwd: string, branch: string): Promise<boolean> =>
  (await git(['show-ref', '--verify', '--quiet', `refs/heads/${branch}`], { cwd })).code === 0;

/** Returns the commit that is checked out; null in a repository without commits. */
export const headOf = async (cwd: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { cwd });
  return code === 0 ? stdout.trim() : null;
};

export const hasCommits = async (cwd: string): Promise<boolean> => (await headOf(cwd)) !== null;

/** Returns how many commits of a branch are not on another branch or commit; null if git fails. */
export const commitsBeyond = async (cwd: string, base: string, branch: string): Promise<number | null> => {
  const { code, stdout } = await git(['rev-list', '--count', `^${base}`, branch, '--'], { cwd, env: noFetch });
  return code === 0 ? Number(stdout) : null;
};

/** Counts the commits since the base of a branch: `onto`, else its recorded base, else HEAD. */
export const commitsBeyondBase = async (
  cwd: string,
  branch: string,
  onto: string | null = null,
): Promise<number | null> => {
  const base = onto ?? (await baseOf(cwd, branch));
  return commitsBeyond(cwd, base === null ? 'HEAD' : `refs/heads/${base}`, `refs/heads/${branch}`);
};

export type Checkout =
  | {
      readonly ok: true;
      /** A hook that fails after a checkout does not undo it. */
      readonly hookProblem: string | null;
      /** The folder with hooks that differ from the current ones, so none was run; null if hooks were run. */
      readonly otherHooks: string | null;
    }
  | { readonly ok: false; readonly why: string };

export const isOnBranch = async (cwd: string, commit: string): Promise<boolean> =>
  (await git(['for-each-ref', '--count=1', `--contains=${commit}`, 'refs/heads'], { cwd })).stdout !== '';

/** Checks out a branch, and creates it if it does not exist. A failed checkout leaves the folder unchanged. */
export const switchTo = async (cwd: string, branch: string): Promise<Checkout> => {
  const before = await currentBranch(cwd);
  if (before === branch) return { ok: true, hookProblem: null, otherHooks: null };
  const isNew = !(await branchExists(cwd, branch));
  const dirty = (await dirtyPaths(cwd)) ?? [];
  if (isNew) await saveBase(cwd, branch, before);
  const otherHooks = isNew ? null : await changedHooks(await topOf(cwd), `refs/heads/${branch}`);
  const args: GitArguments = ['switch', '--quiet', ...(isNew ? ['-c'] : []), branch];
  const result = await git(args, { cwd, ...withHooks(otherHooks) });
  if (result.code === 0) return { ok: true, hookProblem: null, otherHooks };
  if ((await currentBranch(cwd)) === branch) return { ok: true, hookProblem: hookProblemIn(result), otherHooks };
  if (isNew) await removeBase(cwd, branch);
  await undoSwitch(cwd, branch, dirty);
  return { ok: false, why: reasonFor(result) };
};

const withHooks = (otherHooks: string | null): Pick<GitCall, 'hooks'> => (otherHooks === null ? { hooks: true } : {});

/** Undoes a checkout that a failing filter interrupted. Files that were dirty before are left alone. */
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
  if (problem !== null) return { ok: false, why: problem };
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
  return { ok: false, why: reasonFor(result) };
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

/**
 * Returns the paths that differ from HEAD or are untracked, relative to the root of the work tree; null if git fails.
 */
export const dirtyPaths = async (cwd: string): Promise<string[] | null> => {
  const { code, stdout } = await git(['status', '--porcelain', '-z', '--untracked-files=all', '--no-renames'], { cwd });
  if (code !== 0) return null;
  return stdout
    .split('\0')
    .filter(Boolean)
    .map((line) => line.slice(3));
};

/** Returns true if there are submodules or other repositories inside: their commits may exist nowhere else. */
export const containsRepositories = async (cwd: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '--stage', '-z'], { cwd });
  const nested = stdout.split('\0').filter((line) => line.startsWith('160000 '));
  // A submodule that was never fetched into this work tree is an empty folder.
  return nested.some((line) => existsSync(pathOf(cwd, `${line.slice(line.indexOf('\t') + 1)}/.git`)));
};

/**
 * Records where a branch starts, so that it can be landed there. Called before the branch is created, so the base is
 * known even if Spool is killed in between. If `base` is null (a detached HEAD), the base of an earlier branch with the
 * same name is removed.
 */
const saveBase = async (cwd: string, branch: string, base: string | null): Promise<void> => {
  if (base === null) return removeBase(cwd, branch);
  await git(['config', `branch.${branch}.spoolBase`, base], { cwd });
};

const removeBase = async (cwd: string, branch: string): Promise<void> =>
  void (await git(['config', '--unset-all', `branch.${branch}.spoolBase`], { cwd }));

export const baseOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['config', '--get', `branch.${branch}.spoolBase`], { cwd });
  return code === 0 ? toUtf8(stdout).trim() : null;
};

type Failed = Pick<GitResult, 'code' | 'stderr'>;

const outcome = (result: Failed): GitOutcome =>
  result.code === 0 ? { ok: true } : { ok: false, why: reasonFor(result) };

const reasonFor = ({ code, stderr }: Failed): string => reasonIn(stderr) || `git exited with code ${code}`;

const hookProblemIn = ({ code, stderr }: Failed): string => reasonIn(stderr) || `exit code ${code}`;

/** git reports the problem first; the lines after it are advice. */
const reasonIn = (text: string): string => {
  const lines = text.trim().split('\n');
  const message = (lines.find((line) => problem.test(line)) ?? lines.at(-1) ?? '').replace(problem, '');
  return message.endsWith(':') ? `${message} ${filesIn(text).join(', ')}` : message;
};

const problem = /^(?:fatal|error): /;

/** git lists files on lines of their own, in every language. */
const filesIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('\t'))
    .map((line) => line.trim());

type Stoppable = Pick<GitCall, 'env' | 'kill'>;

/** Adds a work tree without a branch, for a rehearsal. */
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

/** The versions of a file with a conflict; null if a side does not have the file. */
export interface Conflict {
  readonly base: Buffer | null;
  readonly upstream: Buffer | null;
  readonly own: Buffer | null;
}

export interface Rebase {
  readonly base: string;
  readonly stoppable: Stoppable;
  /** Returns the resolved file; null if it has to be resolved by hand. */
  readonly resolve: (file: string, conflict: Conflict) => Promise<Buffer | null>;
}

/** Rebases a detached work tree onto a branch. Leaves it unchanged if there are conflicts. */
export const rebaseOnto = async (cwd: string, { base, stoppable, resolve }: Rebase): Promise<Rebased> => {
  // A tag may have the same name.
  const onto = `refs/heads/${base}`;
  const ahead = await git(['merge-base', '--is-ancestor', onto, 'HEAD'], { cwd });
  // Overrides settings of the user: branches that point to the same commits must not move.
  const config = ['rebase.updateRefs=false', 'rebase.autoSquash=false', 'rebase.autoStash=false'];
  let rebase = ahead.code === 0 ? ahead : await git(['rebase', '--quiet', onto], { cwd, config, ...stoppable });
  while (rebase.code !== 0) {
    const files = (await git(['diff', '--name-only', '--diff-filter=U', '-z'], { cwd })).stdout
      .split('\0')
      .filter(Boolean);
    if (files.length === 0 || !(await resolveAll(cwd, files, resolve))) {
      await git(['rebase', '--abort'], { cwd });
      return files.length > 0 ? { kind: 'conflict', files } : { kind: 'failed', why: reasonFor(rebase) };
    }
    rebase = await git(['rebase', '--continue'], { cwd, config, ...stoppable });
  }
  return { kind: 'rebased', commit: (await git(['rev-parse', 'HEAD'], { cwd })).stdout.trim() };
};

const resolveAll = async (cwd: string, files: readonly string[], resolve: Rebase['resolve']): Promise<boolean> => {
  for (const file of files) {
    const [base, upstream, own] = await Promise.all([1, 2, 3].map((stage) => blobAt(cwd, `:${stage}`, toUtf8(file))));
    const bytes = await resolve(toUtf8(file), { base: base!, upstream: upstream!, own: own! });
    if (bytes === null || (await isLinkOrModule(cwd, file))) return false;
    const path = pathOf(cwd, file);
    // If one side is a symbolic link, git may have left it in place. Nothing is written through it.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path);
    writeFileSync(path, bytes);
    const { code } = await git(['add', '--', `:(literal)${toUtf8(file)}`], { cwd });
    if (code !== 0) return false;
  }
  return true;
};

/** Returns true if one side of a conflict is not a regular file. */
const isLinkOrModule = async (cwd: string, file: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '--unmerged', '-z', '--', `:(literal)${toUtf8(file)}`], { cwd });
  return stdout.split('\0').some((entry) => entry !== '' && !entry.startsWith('100'));
};

/**
 * Returns a file of a commit or of a stage of the index; null if it does not have the file. `path` is relative to the
 * root.
 */
export const blobAt = async (cwd: string, at: string, path: string): Promise<Buffer | null> => {
  const { code, stdout } = await git(['cat-file', 'blob', `${at}:${path}`], { cwd });
  return code === 0 ? Buffer.from(stdout, 'latin1') : null;
};

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

/** Returns the folder in which a branch is checked out; null if there is none. */
export const worktreeOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd });
  const entries = toUtf8(stdout).split('\0\0');
  const entry = entries.find((text) => text.split('\0').includes(`branch refs/heads/${branch}`));
  const path = entry?.split('\0').find((line) => line.startsWith('worktree '));
  const folder = path === undefined ? null : path.slice('worktree '.length);
  return folder !== null && existsSync(folder) ? folder : null;
};

/** Returns the path of a folder in its work tree: empty, or `sub/`. */
export const prefixOf = async (cwd: string): Promise<string> =>
  toUtf8((await git(['rev-parse', '--show-prefix'], { cwd })).stdout).trimEnd();

/** Points a branch to a commit if it is checked out nowhere and has not moved. */
export const moveBranch = async (
  cwd: string,
  branch: string,
  [from, to]: readonly [string, string],
): Promise<boolean> =>
  (await worktreeOf(cwd, branch)) === null &&
  (await git(['update-ref', '--no-deref', `refs/heads/${branch}`, to, from], { cwd })).code === 0;

export const tipOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], { cwd });
  return code === 0 ? stdout.trim() : null;
};

/** Deletes a branch if it is at the expected commit and checked out nowhere. */
export const deleteBranch = async (cwd: string, branch: string, at: string): Promise<boolean> =>
  (await worktreeOf(cwd, branch)) === null &&
  (await tipOf(cwd, branch)) === at &&
  (await git(['branch', '--quiet', '-D', branch], { cwd })).code === 0;

/** Moves the branch of a work tree, with its files. Uncommitted changes survive; otherwise nothing is moved. */
export const resetKeeping = async (worktree: string, commit: string): Promise<boolean> =>
  (await git(['reset', '--quiet', '--keep', commit], { cwd: worktree })).code === 0;

/** Returns which of these paths, relative to the root of the work tree, differ between the index and HEAD. */
export const stagedAmong = async (root: string, paths: readonly string[]): Promise<Set<string>> => {
  const literal = paths.map((path) => `:(literal)${path}`);
  const { stdout } = await git(['diff', '--cached', '--name-only', '--no-renames', '-z', 'HEAD', '--', ...literal], {
    cwd: root,
  });
  return new Set(toUtf8(stdout).split('\0').filter(Boolean));
};

/**
 * Returns which of these paths, relative to the root of the work tree, are tracked and differ from HEAD; names as git
 * printed them.
 */
export const changedAmong = async (root: string, paths: readonly string[]): Promise<string[]> => {
  const literal = paths.map((path) => `:(literal)${path}`);
  const { stdout } = await git(['diff', '--name-only', '--no-renames', '-z', 'HEAD', '--', ...literal], { cwd: root });
  return stdout.split('\0').filter(Boolean);
};

export const topOf = async (cwd: string): Promise<string> =>
  toUtf8((await git(['rev-parse', '--show-toplevel'], { cwd })).stdout).trimEnd();

import { git, type GitCall } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import { noFetch } from './call/inert.ts';
import { reasonFor } from './outcome.ts';

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

/** Returns the commits of the current branch without those that were merged into it, the latest first. */
export const commitsOnHead = async (cwd: string, max: number): Promise<string[]> => {
  const { stdout } = await git(['rev-list', '--first-parent', `--max-count=${max}`, 'HEAD', '--'], { cwd });
  return stdout.split('\n').filter(Boolean);
};

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
  const base = onto ?? (await configuredBase(cwd, branch));
  return commitsBeyond(cwd, base === null ? 'HEAD' : `refs/heads/${base}`, `refs/heads/${branch}`);
};

export const isOnBranch = async (cwd: string, commit: string): Promise<boolean> =>
  (await git(['for-each-ref', '--count=1', `--contains=${commit}`, 'refs/heads'], { cwd })).stdout !== '';

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

/**
 * Records where a branch starts, so that it can be landed there. Called before the branch is created, so the base is
 * known even if Spool is killed in between. If `base` is null (a detached HEAD), the base of an earlier branch with the
 * same name is removed.
 */
export const saveBase = async (cwd: string, branch: string, base: string | null): Promise<void> => {
  if (base === null) return removeBase(cwd, branch);
  await git(['config', `branch.${branch}.spoolBase`, base], { cwd });
};

export const removeBase = async (cwd: string, branch: string): Promise<void> =>
  void (await git(['config', '--unset-all', `branch.${branch}.spoolBase`], { cwd }));

export const configuredBase = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['config', '--get', `branch.${branch}.spoolBase`], { cwd });
  return code === 0 ? toUtf8(stdout).trim() : null;
};

export type Stoppable = Pick<GitCall, 'env' | 'kill'>;

/**
 * Returns a file of a commit or of a stage of the index; null if it does not have the file. `path` is relative to the
 * root.
 */
export const blobAt = async (cwd: string, at: string, path: string): Promise<Buffer | null> => {
  const { code, stdout } = await git(['cat-file', 'blob', `${at}:${path}`], { cwd });
  return code === 0 ? Buffer.from(stdout, 'latin1') : null;
};

/**
 * Returns the first of these paths, or of the folders on the way to them, that keeps files from being written there once
 * the commit is checked out: a folder with the path of a file, or a file or link with that of a folder. Returns null if
 * there is none. Paths are relative to the root.
 */
export const obstacleAt = async (cwd: string, commit: string, paths: readonly string[]): Promise<string | null> => {
  const folders = new Set(paths.flatMap(foldersOf));
  const names = [...folders, ...paths];
  const input = names.map((name) => `${commit}:${Buffer.from(name).toString('latin1')}\0`).join('');
  const { stdout } = await git(['cat-file', '--batch-check=%(objecttype)', '-z'], { cwd, input });
  const types = stdout.split('\n');
  return (
    names.find((_, index) => (index < folders.size ? ['blob', 'commit'] : ['tree']).includes(types[index]!)) ?? null
  );
};

const foldersOf = (path: string): string[] => {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
};

export const tipOf = async (cwd: string, branch: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], { cwd });
  return code === 0 ? stdout.trim() : null;
};

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

export const deleteRef = async (cwd: string, ref: string): Promise<void> =>
  void (await git(['update-ref', '-d', ref], { cwd }));

export type FoundRef = { readonly ok: true; readonly exists: boolean } | { readonly ok: false; readonly why: string };

/** Returns whether a repository has a ref. Not `ok` if git cannot tell. */
export const findRef = async (cwd: string, ref: string): Promise<FoundRef> => {
  const result = await git(['for-each-ref', '--format=%(objectname)', ref], { cwd });
  return result.code === 0 ? { ok: true, exists: result.stdout.trim() !== '' } : { ok: false, why: reasonFor(result) };
};

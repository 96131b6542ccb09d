import { existsSync } from 'node:fs';
import { copyFile, rm, stat, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { git, readable } from './git.ts';

/** A git work tree. `scratch` is the path of an index of our own: the user's index is read, never written. */
export interface WorkTree {
  readonly root: string;
  readonly index: string;
  /** Where git keeps what belongs to this work tree. */
  readonly gitFolder: string;
  /** A file or folder `.git` is there, as it is nearly always. */
  readonly hasDotGit: boolean;
  readonly scratch: string;
}

export type Found =
  | { readonly kind: 'found'; readonly tree: WorkTree }
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly why: string };

/** None where there is no repository, or no git; refused where git does not want to look at the one there is. */
export const findWorkTree = async (cwd: string, scratch: string): Promise<Found> => {
  const { code, stdout, stderr } = await git(['rev-parse', '--show-toplevel', '--git-path', 'index', '--git-dir'], {
    cwd,
  });
  const [root, index, gitFolder] = readable(stdout).split('\n');
  if (code === 0 && root && index && gitFolder)
    return {
      kind: 'found',
      tree: {
        root,
        index: resolve(cwd, index),
        gitFolder: resolve(cwd, gitFolder),
        hasDotGit: existsSync(join(root, '.git')),
        scratch,
      },
    };
  const none = code === -1 || /not a git repository|must be run in a work tree/.test(stderr);
  return none ? { kind: 'none' } : { kind: 'refused', why: stderr.split('\n')[0] ?? '' };
};

/** The folder that git has for the work tree at this place; null where there is none. */
export const gitFolderOf = async (cwd: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--git-dir'], { cwd });
  return code === 0 ? resolve(cwd, readable(stdout).trim()) : null;
};

/**
 * The id of a tree with all tracked and untracked (not ignored) files as they are now; null when git cannot tell.
 * A file that cannot be read is as it was, or with `whole` makes it null.
 */
export const takeTree = async (tree: WorkTree, { whole = false } = {}): Promise<string | null> => {
  const { root, index, scratch } = tree;
  if (!isIntact(tree)) return null;
  await copyIndex(index, scratch);
  const call = { cwd: root, env: { GIT_INDEX_FILE: scratch } };
  const added = await git(['-c', 'advice.addEmbeddedRepo=false', 'add', '--all', '--ignore-errors'], call);
  const written = added.code === 0 || (added.code === 1 && !whole) ? await git(['write-tree'], call) : null;
  await rm(scratch, { force: true });
  return written?.code === 0 ? written.stdout.trim() : null;
};

/** Without it git would take the repository around this one for it. */
export const isIntact = ({ root, hasDotGit }: WorkTree): boolean => !hasDotGit || existsSync(join(root, '.git'));

/**
 * Starting from the user's index spares git from reading every file again. Its time goes along: git reads a file
 * that is younger than the index once more, instead of trusting a size and a time that may not have changed.
 */
export const copyIndex = async (index: string, scratch: string): Promise<void> => {
  const stats = await stat(index).catch(() => null);
  if (!stats) return rm(scratch, { force: true });
  await copyFile(index, scratch);
  const time = Math.floor(stats.mtimeMs) / 1000;
  await utimes(scratch, time, time);
};

/** The commit that is checked out; null in a repository without commits. */
export const headOf = async ({ root }: WorkTree): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', 'HEAD'], { cwd: root });
  return code === 0 ? stdout.trim() : null;
};

const mostCommits = 100;

/** What was committed since, oldest first. */
export const commitsSince = async (tree: WorkTree, before: string | null): Promise<string[]> => {
  const after = await headOf(tree);
  if (after === null || after === before) return [];
  const not = before === null ? [] : [`^${before}`];
  const args = ['rev-list', '--reverse', `--max-count=${mostCommits}`, after, ...not];
  return (await git(args, { cwd: tree.root })).stdout.split('\n').filter(Boolean);
};

/** What git is in the middle of, and must be left alone; null when it is in the middle of nothing. */
export const unfinished = ({ gitFolder }: WorkTree): string | null =>
  Object.entries(signs).find(([file]) => existsSync(join(gitFolder, file)))?.[1] ?? null;

const signs = {
  MERGE_HEAD: 'a merge',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
};

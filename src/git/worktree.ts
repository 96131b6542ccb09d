import { copyFile, rm, stat, utimes } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { GitSummary } from '../ralph/events.ts';
import { git, readable, splitNames } from './git.ts';

/** A git work tree. `scratch` is the path of an index of our own: the user's index is read, never written. */
export interface WorkTree {
  readonly root: string;
  readonly index: string;
  readonly scratch: string;
}

export type Found =
  | { readonly kind: 'found'; readonly tree: WorkTree }
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly why: string };

/** None where there is no repository, or no git; refused where git does not want to look at the one there is. */
export const findWorkTree = async (cwd: string, scratch: string): Promise<Found> => {
  const { code, stdout, stderr } = await git(['rev-parse', '--show-toplevel', '--git-path', 'index'], { cwd });
  const [root, index] = readable(stdout).split('\n');
  if (code === 0 && root && index) return { kind: 'found', tree: { root, index: resolve(cwd, index), scratch } };
  const none = code === -1 || /not a git repository|must be run in a work tree/.test(stderr);
  return none ? { kind: 'none' } : { kind: 'refused', why: stderr.split('\n')[0] ?? '' };
};

/** The id of a tree with all tracked and untracked (not ignored) files as they are now; null when git cannot tell. */
export const takeTree = async ({ root, index, scratch }: WorkTree): Promise<string | null> => {
  await copyIndex(index, scratch);
  const call = { cwd: root, env: { GIT_INDEX_FILE: scratch } };
  await git(['-c', 'advice.addEmbeddedRepo=false', 'add', '--all', '--ignore-errors'], call);
  const tree = await git(['write-tree'], call);
  await rm(scratch, { force: true });
  return tree.code === 0 ? tree.stdout.trim() : null;
};

/**
 * Starting from the user's index spares git from reading every file again. Its time goes along: git reads a file
 * that is younger than the index once more, instead of trusting a size and a time that may not have changed.
 */
const copyIndex = async (index: string, scratch: string): Promise<void> => {
  const stats = await stat(index).catch(() => null);
  if (!stats) return rm(scratch, { force: true });
  await copyFile(index, scratch);
  const time = Math.floor(stats.mtimeMs) / 1000;
  await utimes(scratch, time, time);
};

/** A changed file; its name as git gave it. */
export interface FileChange {
  readonly name: string;
  readonly insertions: number;
  readonly deletions: number;
}

export const changesBetween = async ({ root }: WorkTree, before: string, after: string): Promise<FileChange[]> => {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', before, after];
  const { stdout } = await git(args, { cwd: root });
  return splitNames(stdout).map((line) => {
    const [insertions, deletions, ...name] = line.split('\t');
    return { name: name.join('\t'), insertions: lines(insertions), deletions: lines(deletions) };
  });
};

export const summarise = (changes: readonly FileChange[]): GitSummary => ({
  filesChanged: changes.length,
  files: changes.map(({ name }) => readable(name)),
  insertions: changes.reduce((sum, change) => sum + change.insertions, 0),
  deletions: changes.reduce((sum, change) => sum + change.deletions, 0),
});

/** git shows "-" for a binary file. */
const lines = (count: string | undefined) => (count === '-' ? 0 : Number(count));

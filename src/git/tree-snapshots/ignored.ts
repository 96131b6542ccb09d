import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRegular } from '../../files/regular.ts';
import { git } from '../call/git.ts';
import type { WorkTree } from '../work-tree.ts';

/** The ignore rules of a tree and those outside of it. */
export interface IgnoreRules {
  readonly treeId: string;
  /** The rules of the user and of .git/info/exclude at that time; null for the current ones. */
  readonly outside: string | null;
}

/** Returns the names that the rules ignore, tracked or not. Reads nothing in the work tree. */
export const ignoredBy = async (
  tree: WorkTree,
  { treeId, outside }: IgnoreRules,
  names: readonly string[],
): Promise<Set<string>> => {
  if (names.length === 0) return new Set();
  const folder = mkdtempSync(join(tmpdir(), 'spool-rules-'));
  try {
    await putRules(tree, treeId, folder);
    if (outside !== null) putBefore(join(folder, '.gitignore'), outside);
    const env = { GIT_DIR: tree.gitDir, GIT_WORK_TREE: folder };
    const call = { cwd: folder, env, input: names.join('\0') };
    const { stdout } = await git(['check-ignore', '--no-index', '--stdin', '-z'], call);
    return new Set(stdout.split('\0').filter(Boolean));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

export const namesIn = async ({ root }: WorkTree, treeId: string): Promise<string[]> =>
  (await git(['ls-tree', '-r', '-z', '--name-only', treeId], { cwd: root })).stdout.split('\0').filter(Boolean);

export const isRuleFile = (name: string): boolean => name === '.gitignore' || name.endsWith('/.gitignore');

const putRules = async (tree: WorkTree, treeId: string, folder: string): Promise<void> => {
  const files = (await namesIn(tree, treeId)).filter(isRuleFile);
  if (files.length === 0) return;
  const index = `${tree.tempIndex}.rules`;
  const call = { cwd: tree.root, env: { GIT_INDEX_FILE: index } };
  await git(['read-tree', treeId], call);
  await git(['checkout-index', `--prefix=${folder}/`, '-z', '--stdin'], { ...call, input: files.join('\0') });
  rmSync(index, { force: true });
};

/** The first rules have the lowest precedence, like those outside of a tree. */
const putBefore = (file: string, rules: string): void =>
  writeFileSync(file, `${rules}\n${readRegular(file)?.toString('utf8') ?? ''}`);

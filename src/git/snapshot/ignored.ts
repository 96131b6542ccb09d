import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRegular } from '../../files/regular.ts';
import { git } from '../call/git.ts';
import type { WorkTree } from '../work-tree.ts';

/** The ignore rules of a tree, and those that were in force beside it. */
export interface IgnoreRules {
  readonly treeId: string;
  /** What the user's own rules and .git/info/exclude were; null when they are as they are now. */
  readonly outside: string | null;
}

/** Which of these names the rules ignore, whether they are tracked or not. Nothing in the work tree is read. */
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

/** Rules that come first count least, as those outside of a tree do. */
const putBefore = (file: string, rules: string): void =>
  writeFileSync(file, `${rules}\n${readRegular(file)?.toString('utf8') ?? ''}`);

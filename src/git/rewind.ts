import { chmodSync, existsSync, rmdirSync, rmSync } from 'node:fs';
import { removeSafely } from '../files/safe.ts';
import { dirname } from 'node:path';
import { type FileDiff, diffTrees } from './diff.ts';
import { git } from './call/git.ts';
import { ownRecordsIn } from './own-records.ts';
import { fileAt, pathOf, toUtf8, statsOfName } from './paths.ts';
import { ignoredBy } from './tree-snapshots/ignored.ts';
import { covers, type SkipReason } from './tree-snapshots/skipped.ts';
import { type TreeSnapshot, type SnapshotterOptions, snapshotTree } from './tree-snapshots/snapshotter.ts';
import type { WorkTree } from './work-tree.ts';

export interface RewindPlan {
  /** Differences from the current files to the target. Moved files are deleted and added. */
  readonly changes: readonly FileDiff[];
  /** Paths that are not changed, with the reason: no checkpoint contains them, or their contents are unknown. */
  readonly unchanged: readonly UnchangedPath[];
}

interface UnchangedPath {
  readonly name: string;
  readonly why: string;
}

/** Returns what a rewind would do; null if git fails. Files that the target ignores are never deleted. */
export const planRewind = async (tree: WorkTree, present: TreeSnapshot, target: string): Promise<RewindPlan | null> => {
  const all = await differences(tree, [present.id, target]);
  if (all === null) return null;
  const skipped = present.skipped().filter(({ name }) => existsSync(pathOf(tree.root, name)));
  const own = all.filter(({ name, nested }) => !nested && !skipped.some((each) => covers(each, name)));
  const deleted = own.filter(({ status }) => status === 'deleted').map(({ name }) => name);
  const ignored = await ignoredBy(tree, { treeId: target, outside: null }, deleted);
  const there = [...present.nested()].filter((name) => existsSync(pathOf(tree.root, `${name}/.git`)));
  const nested = new Set([...there, ...all.filter((each) => each.nested).map(({ name }) => name)]);
  return {
    changes: own.filter(({ name }) => !ignored.has(name)),
    unchanged: [
      ...skipped.map(({ name, kind }) => ({ name, why: reasons[kind] })),
      ...[...ignored].map((name) => ({ name, why: 'ignored in that checkpoint' })),
      ...[...nested].map((name) => ({ name, why: 'nested repository' })),
    ],
  };
};

/** Checkpoints of earlier versions can contain Spool's own records. */
const differences = async (tree: WorkTree, trees: readonly [string, string]): Promise<FileDiff[] | null> => {
  const own = ownRecordsIn(tree);
  const all = await diffTrees(tree, trees, { renames: false });
  return all && all.filter(({ name }) => !own.has(name));
};

export const reasons = {
  ignored: 'was ignored before the ignore rules changed',
  output: "Spool's own output",
  large: 'over 50 MB',
  refused: 'git cannot add it',
  secret: 'looks like a secret',
} satisfies Record<SkipReason, string>;

/**
 * Returns what a rewind would overwrite although no checkpoint contains it: ignored files and nested repositories. An
 * ignored file that a checkpoint contains byte for byte is not lost.
 */
export const inTheWay = async (
  tree: WorkTree,
  { changes }: RewindPlan,
  checkpoints: readonly string[],
): Promise<string[]> => {
  const { root } = tree;
  const deleted = new Set(changes.filter(({ status }) => status === 'deleted').map(({ name }) => name));
  const blockerOf = ({ name, status }: FileDiff): string | null => {
    const file = status === 'added' ? fileAt(root, name) : null;
    if (file !== null && !deleted.has(file)) return file;
    return isInsideNested(root, name) ? name : null;
  };
  const blocking = [...new Set(changes.map(blockerOf).filter((name) => name !== null))];
  const held = await heldBy(tree, checkpoints, blocking);
  return blocking.filter((name) => !held.has(name) || isInsideNested(root, name)).map(toUtf8);
};

/** Returns the files whose current version is in one of these commits. */
const heldBy = async (
  { root }: WorkTree,
  commits: readonly string[],
  names: readonly string[],
): Promise<Set<string>> => {
  const files = names.filter((name) => !name.includes('\n') && statsOfName(root, name)?.isFile());
  if (files.length === 0) return new Set();
  const hashes = await git(['hash-object', '--stdin-paths'], { cwd: root, input: `${files.join('\n')}\n` });
  if (hashes.code !== 0) return new Set();
  const pairs = commits.flatMap((commit) => files.map((name) => ({ name, object: `${commit}:${name}` })));
  const input = pairs.map(({ object }) => `${object}\n`).join('');
  const found = (await git(['cat-file', '--batch-check=%(objectname)'], { cwd: root, input })).stdout.split('\n');
  const now = new Map(hashes.stdout.split('\n').map((hash, at) => [files[at]!, hash]));
  return new Set(pairs.filter(({ name }, at) => found[at] === now.get(name)).map(({ name }) => name));
};

const isInsideNested = (root: string, name: string): boolean => {
  for (let folder = dirname(name); folder !== '.'; folder = dirname(folder))
    if (existsSync(pathOf(root, `${folder}/.git`))) return true;
  return false;
};

/**
 * Restores the work tree to a tree. The branch, the index, ignored files and nested repositories do not change. Returns
 * the names that could not be restored.
 */
export const rewind = async (
  tree: WorkTree,
  target: string,
  { plan: { changes, unchanged }, ...options }: { plan: RewindPlan } & Pick<SnapshotterOptions, 'skipped' | 'redactor'>,
): Promise<string[]> => {
  for (const { name } of changes.filter(({ status }) => status === 'deleted')) removeFile(tree.root, name);
  // A folder that still exists contains files that are in no checkpoint.
  const isFolder = (name: string) => statsOfName(tree.root, name)?.isDirectory() ?? false;
  const wanted = changes.filter(({ status, name }) => status !== 'deleted' && !isFolder(name)).map(({ name }) => name);
  const privateFiles = wanted.filter((name) => isPrivate(tree.root, name));
  if (wanted.length > 0) await checkOut(tree, target, wanted);
  for (const name of privateFiles) makePrivate(tree.root, name);
  const reached = await snapshotTree(tree, options);
  if (reached === null || reached.id === target) return [];
  const rest = await differences(tree, [reached.id, target]);
  const stays = new Set(unchanged.map(({ name }) => name));
  const isLeft = ({ name, nested }: FileDiff) =>
    nested || stays.has(name) || reached.skipped().some((each) => covers(each, name));
  // Outside of a sparse checkout, git considers a missing file unchanged.
  const isGone = ({ name, status }: FileDiff) => status === 'deleted' && statsOfName(tree.root, name) === undefined;
  return (rest ?? []).filter((each) => !isLeft(each) && !isGone(each)).map(({ name }) => toUtf8(name));
};

/** Returns true if only the owner can read the file, which git does not record. */
const isPrivate = (root: string, name: string): boolean => {
  const stats = statsOfName(root, name);
  return stats !== undefined && stats.isFile() && (stats.mode & 0o077) === 0;
};

const makePrivate = (root: string, name: string): void => {
  const stats = statsOfName(root, name);
  if (stats?.isFile()) chmodSync(pathOf(root, name), stats.mode & 0o700);
};

/** Deletes a file and the folders that become empty. Failures are found by the comparison at the end. */
const removeFile = (root: string, name: string): void => {
  try {
    rmSync(pathOf(root, name), { force: true });
  } catch {
    return;
  }
  for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) {
    try {
      rmdirSync(pathOf(root, folder));
    } catch {
      return;
    }
  }
};

const checkOut = async ({ root, tempIndex }: WorkTree, target: string, names: readonly string[]): Promise<void> => {
  const call = { cwd: root, env: { GIT_INDEX_FILE: tempIndex } };
  await git(['read-tree', target], call);
  await git(['checkout-index', '--force', '-z', '--stdin'], { ...call, input: names.join('\0') });
  removeSafely(tempIndex);
};

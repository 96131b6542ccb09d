import type { Checkpoint } from './checkpoint.ts';
import { git } from './call/git.ts';
import { namesIn } from './tree-snapshots/ignored.ts';
import type { SkippedPath } from './tree-snapshots/skipped.ts';
import type { WorkTree } from './work-tree.ts';

export interface Target {
  /** The name of the checkpoint. */
  readonly name: string;
  readonly treeId: string;
  /** All checkpoints of the run, by name. */
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
}

/**
 * Returns the changed files that existed at the target and are in no checkpoint. If that is uncertain, they are
 * included.
 */
export const missingFromCheckpoints = async (
  tree: WorkTree,
  files: readonly SkippedPath[],
  { name, treeId, checkpoints }: Target,
): Promise<SkippedPath[]> => {
  if (files.length === 0) return [];
  const held = new Set(await namesIn(tree, treeId));
  // The backups of rewinds, such as `r1`, repeat earlier trees and come after all of them.
  const names = [...checkpoints.keys()]
    .filter((each) => !each.startsWith('r'))
    .toSorted((a, b) => positionOf(a) - positionOf(b));
  const args = names.map((each) => `${checkpoints.get(each)!.commit}^{tree}`);
  const trees = (await git(['rev-parse', ...args], { cwd: tree.root })).stdout.split('\n');
  const at = name.startsWith('r') ? names.length : names.indexOf(name);
  const wasThere = ({ since, until }: SkippedPath): boolean => {
    const end = until === undefined ? -1 : trees.lastIndexOf(until);
    return (since === undefined || trees.indexOf(since) <= at) && (end === -1 || at < end);
  };
  return files.filter((each) => !held.has(each.name) && wasThere(each));
};

/** `before-7` is between `6` and `7`. */
const positionOf = (name: string): number =>
  Number(/(?<!\d)\d+$/.exec(name)?.[0]) - (name.startsWith('before-') ? 0.5 : 0);

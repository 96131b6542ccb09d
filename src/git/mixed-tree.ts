import { removeSafely } from '../files/safe.ts';
import { git } from './call/git.ts';
import { rawDiff } from './raw-diff.ts';
import type { WorkTree } from './work-tree.ts';

interface Mixed {
  /** The tree that has all other files. */
  readonly base: string;
  /** The tree that has the files in `names`, or lacks them. */
  readonly from: string;
  readonly names: ReadonlySet<string>;
}

/** Returns the id of a tree that has some files of another one; null if git fails. */
export const mixTrees = async (
  { root: cwd, tempIndex }: WorkTree,
  { base, from, names }: Mixed,
): Promise<string | null> => {
  const differences = base === from ? new Map<string, never>() : await rawDiff(cwd, from, base);
  if (differences === null) return null;
  const other = [...differences].filter(([name]) => names.has(name));
  if (other.length === 0) return base;
  if (other.length === differences.size) return from;
  const index = `${tempIndex}.mixed`;
  const call = { cwd, env: { GIT_INDEX_FILE: index } };
  // Deletions sort first, because a folder may replace a file.
  const input = other
    .map(([name, { old }]) => `${old.replace(/^0+ /, '0 ')}\t${name}\0`)
    .toSorted()
    .join('');
  try {
    if ((await git(['read-tree', base], call)).code !== 0) return null;
    if ((await git(['update-index', '-z', '--index-info'], { ...call, input })).code !== 0) return null;
    const { code, stdout } = await git(['write-tree'], call);
    return code === 0 ? stdout.trim() : null;
  } finally {
    removeSafely(index);
  }
};

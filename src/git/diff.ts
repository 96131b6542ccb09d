import type { FileChange, GitSummary } from '../ralph/record.ts';
import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import { type CommitStore, inStore } from './commit-store.ts';
import type { WorkTree } from './work-tree.ts';

/** A file that differs between two trees. Names are as git printed them. */
export interface FileDiff {
  readonly status: FileChange['status'];
  readonly name: string;
  /** The previous name of a renamed file. */
  readonly from: string | null;
  readonly insertions: number;
  readonly deletions: number;
  /** Its lines are not counted. */
  readonly binary: boolean;
  /** A nested repository, of which only the commit is known. */
  readonly nested: boolean;
  /** The entry in the first tree, under the previous name if renamed: `100644 <id>`, zeros if there is none. */
  readonly before: string;
  /** The entry in the second tree. */
  readonly after: string;
}

/**
 * Returns the differences; null if git fails. With `renames`, a moved file is one difference, otherwise a deleted and
 * an added file.
 */
export const diffTrees = async (
  store: CommitStore,
  [before, after]: readonly [string, string],
  { renames }: { renames: boolean },
): Promise<FileDiff[] | null> => {
  const flags = ['-r', '-z', '--raw', '--numstat', renames ? '--find-renames' : '--no-renames'];
  const { code, stdout } = await git(['diff-tree', ...flags, before, after], inStore(store));
  return code === 0 ? parseDifferences(stdout) : null;
};

/** Returns a function like `diffTrees`, with renames, that remembers the last difference: trees do not change. */
export const createTreeDiff = (tree: WorkTree): ((from: string, to: string) => Promise<readonly FileDiff[] | null>) => {
  let last: { readonly from: string; readonly to: string; readonly found: readonly FileDiff[] } | null = null;
  return async (from, to) => {
    if (from === to) return [];
    if (last?.from === from && last.to === to) return last.found;
    const found = await diffTrees(tree, [from, to], { renames: true });
    if (found !== null) last = { from, to, found };
    return found;
  };
};

export const summariseDiff = (changes: readonly FileDiff[], commits: readonly string[]): GitSummary => ({
  filesChanged: changes.length,
  files: changes.map(({ name }) => toUtf8(name)),
  insertions: changes.reduce((sum, change) => sum + change.insertions, 0),
  deletions: changes.reduce((sum, change) => sum + change.deletions, 0),
  changes: changes.map(({ status, name, from }) => ({
    status,
    path: toUtf8(name),
    ...(from === null ? {} : { from: toUtf8(from) }),
  })),
  commits,
});

/** Returns all names, including the previous ones of renamed files. */
export const namesOf = (changes: readonly FileDiff[]): string[] =>
  changes.flatMap(({ name, from }) => (from === null ? [name] : [from, name]));

/**
 * Parses a list of states, ":100644 100644 <id> <id> M", followed by a list of line counts in the same order, all
 * separated by NUL.
 */
const parseDifferences = (output: string): FileDiff[] => {
  const fields = output.split('\0');
  const states: Omit<FileDiff, 'insertions' | 'deletions' | 'binary'>[] = [];
  let at = 0;
  while (fields[at]?.startsWith(':')) {
    const [oldMode, newMode, oldId, newId, letter = ''] = fields[at]!.split(' ');
    const moved = letter.startsWith('R') || letter.startsWith('C');
    const nested = oldMode === ':160000' || newMode === '160000';
    const name = fields[at + (moved ? 2 : 1)]!;
    states.push({
      status: statusOf(letter),
      name,
      from: moved ? fields[at + 1]! : null,
      nested,
      before: `${oldMode?.slice(1)} ${oldId}`,
      after: `${newMode} ${newId}`,
    });
    at += moved ? 3 : 2;
  }
  return states.map((state) => {
    const [insertions, deletions] = fields[at]!.split('\t');
    at += state.from === null ? 1 : 3;
    return {
      ...state,
      insertions: lines(insertions),
      deletions: lines(deletions),
      binary: insertions === '-',
    };
  });
};

const statusOf = (letter: string): FileChange['status'] => {
  switch (letter[0]) {
    case 'A':
      return 'added';
    case 'D':
      return 'deleted';
    case 'R':
    case 'C':
      return 'renamed';
    default:
      return 'modified';
  }
};

/** git shows "-" for a binary file. */
const lines = (count: string | undefined) => (count === '-' ? 0 : Number(count));

import { git } from '../call/git.ts';
import { isRepository, nestedHead } from './nested.ts';
import type { WorkTree } from '../work-tree.ts';

/**
 * Nested repositories, of which the index has only the commit. git would look for changes in each of them by running
 * itself there, with the filters and other programs that they configure. So they are excluded from `git add`, and their
 * commits are written to the index at `tempIndex` here.
 */
export interface Gitlinks {
  add(names: Iterable<string>): void;
  /** All names that were added; some may be gone. */
  names(): Iterable<string>;
  /** Those of them that are checked out. */
  present(): string[];
  /** Returns the names whose commit differs from the one that was last written to the index. */
  moved(names: readonly string[]): Promise<string[]>;
  put(names: readonly string[]): Promise<boolean>;
}

export const createGitlinks = (tree: WorkTree): Gitlinks => {
  const { root, tempIndex } = tree;
  const known = new Set<string>();
  let heads = new Map<string, string | null>();
  const read = async (names: readonly string[]) => {
    const found = new Map<string, string | null>();
    for (const name of names) found.set(name, await nestedHead(tree, name));
    return found;
  };
  return {
    add: (names) => {
      for (const name of names) known.add(name);
    },
    names: () => known,
    present: () => [...known].filter((name) => isRepository(root, name)),
    moved: async (names) =>
      [...(await read(names))].filter(([name, head]) => head !== (heads.get(name) ?? null)).map(([name]) => name),
    put: async (names) => {
      heads = await read(names);
      const input = [...heads].filter(([, head]) => head !== null).map(([name, head]) => `160000 ${head}\t${name}\0`);
      if (input.length === 0) return true;
      const call = { cwd: root, env: { GIT_INDEX_FILE: tempIndex }, input: input.join('') };
      return (await git(['update-index', '-z', '--index-info'], call)).code === 0;
    },
  };
};

/** Parses lines of `ls-files --stage`. */
export const gitlinksIn = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith('160000 ')).map((line) => line.slice(line.indexOf('\t') + 1));

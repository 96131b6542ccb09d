import { git } from '../call/git.ts';
import { isRepository, nestedHead } from './nested.ts';
import type { WorkTree } from '../work-tree.ts';

/**
 * Repositories inside the repository, of which an index has the commit. git would look for changes in each of them by
 * running itself there, with filters and other programs that they bring. So `git add` is kept out of them, and the
 * commits are put into the index at `tempIndex` here.
 */
export interface Gitlinks {
  note(names: Iterable<string>): void;
  /** All that were noted; some may be gone. */
  names(): Iterable<string>;
  /** Those that are checked out. */
  present(): string[];
  /** Those whose commit is another one than was put into the index last. */
  moved(names: readonly string[]): Promise<string[]>;
  put(names: readonly string[]): Promise<boolean>;
}

export const createGitlinks = ({ root, tempIndex }: WorkTree): Gitlinks => {
  const noted = new Set<string>();
  let heads = new Map<string, string | null>();
  const read = async (names: readonly string[]) => {
    const found = new Map<string, string | null>();
    for (const name of names) found.set(name, await nestedHead(root, name));
    return found;
  };
  return {
    note: (names) => {
      for (const name of names) noted.add(name);
    },
    names: () => noted,
    present: () => [...noted].filter((name) => isRepository(root, name)),
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

/** The gitlinks in lines of `ls-files --stage`. */
export const gitlinksIn = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.startsWith('160000 ')).map((line) => line.slice(line.indexOf('\t') + 1));

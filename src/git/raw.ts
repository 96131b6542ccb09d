import { git, type GitArguments } from './call/git.ts';

/** A file on the two sides of a difference: `100644 <id>`, or mode and id of zeros where it is not there. */
export interface RawDifference {
  readonly old: string;
  readonly new: string;
}

/** In an index: a conflict that nobody has resolved. */
export const unmerged = 'unmerged';

/** The files that differ between two trees, or commits. */
export const between = (cwd: string, from: string, to: string) =>
  rawDifferences(cwd, ['diff-tree', '-r', from, to, '--']);

/** Where the index differs from a tree, or a commit. */
export const indexAgainst = (cwd: string, tree: string) => rawDifferences(cwd, ['diff-index', '--cached', tree, '--']);

/**
 * Asks git for differences with `--raw -z`, moved files as deleted and added: by name, as git gave it. null when git
 * cannot tell.
 */
const rawDifferences = async (cwd: string, command: GitArguments): Promise<Map<string, RawDifference> | null> => {
  const [verb, ...rest] = command;
  const { code, stdout } = await git([verb, '--raw', '-z', '--no-renames', ...rest], { cwd });
  if (code !== 0) return null;
  const fields = stdout.split('\0');
  const found = new Map<string, RawDifference>();
  for (let at = 0; fields[at]?.startsWith(':'); at += 2) {
    const [oldMode, mode, oldId, id, status] = fields[at]!.slice(1).split(' ');
    found.set(fields[at + 1]!, { old: `${oldMode} ${oldId}`, new: status === 'U' ? unmerged : `${mode} ${id}` });
  }
  return found;
};

import { git, type GitArguments } from './call/git.ts';

/** A file on both sides of a difference: `100644 <id>`, zeros for mode and id if it does not exist. */
export interface RawDifference {
  readonly old: string;
  readonly new: string;
}

/** An unresolved conflict in an index. */
export const unmerged = 'unmerged';

/** Returns the files that differ between two trees or commits. */
export const rawDiff = (cwd: string, from: string, to: string) => runRawDiff(cwd, ['diff-tree', '-r', from, to, '--']);

/** Returns the files that differ between a tree or commit and the index. */
export const rawIndexDiff = (cwd: string, tree: string) => runRawDiff(cwd, ['diff-index', '--cached', tree, '--']);

/** Returns differences by name, as git printed it; null if git fails. Moved files are deleted and added. */
const runRawDiff = async (cwd: string, command: GitArguments): Promise<Map<string, RawDifference> | null> => {
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

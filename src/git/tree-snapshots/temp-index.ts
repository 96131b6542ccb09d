import { git } from '../call/git.ts';
import type { WorkTree } from '../work-tree.ts';

/**
 * Removes unwanted staged files that are not in HEAD from the index at `tempIndex`. With `back`, those in HEAD get their entry of
 * HEAD.
 */
export const unstage = async (
  tree: WorkTree,
  isUnwanted: (name: string) => boolean,
  { back = false }: { back?: boolean } = {},
): Promise<void> => {
  const call = { cwd: tree.root, env: { GIT_INDEX_FILE: tree.tempIndex } };
  const staged = (await git(['ls-files', '-z'], call)).stdout.split('\0').filter((name) => name && isUnwanted(name));
  if (staged.length === 0) return;
  const { stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', 'HEAD'], call);
  const committed = new Map(stdout.split('\0').map((line) => [line.slice(line.indexOf('\t') + 1), line]));
  const input = staged.filter((name) => !committed.has(name)).join('\0');
  if (input !== '') await git(['update-index', '--force-remove', '-z', '--stdin'], { ...call, input });
  const lines = back ? staged.flatMap((name) => committed.get(name) ?? []).map((line) => `${line}\0`) : [];
  if (lines.length > 0) await git(['update-index', '-z', '--index-info'], { ...call, input: lines.join('') });
};

/** Returns null if git fails. */
export const writeTree = async ({ root, tempIndex }: WorkTree): Promise<string | null> => {
  const { code, stdout } = await git(['write-tree'], { cwd: root, env: { GIT_INDEX_FILE: tempIndex } });
  return code === 0 ? stdout.trim() : null;
};

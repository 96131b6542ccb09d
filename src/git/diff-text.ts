import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import type { WorkTree } from './work-tree.ts';

/** Returns the difference as `git diff` shows it; null if it is longer than `maxLength` characters, or if git fails. */
export const diffText = async (
  { root }: WorkTree,
  [before, after]: readonly [string, string],
  maxLength: number,
): Promise<string | null> => {
  const flags = ['-r', '-p', '--find-renames', '--no-color', '--unified=3', '--src-prefix=a/', '--dst-prefix=b/'];
  const { code, stdout } = await git(['diff-tree', ...flags, before, after], { cwd: root });
  return code !== 0 || stdout.length > maxLength ? null : toUtf8(stdout);
};

import { git } from './call/git.ts';
import { type CommitStore, inStore } from './commit-store.ts';
import { toUtf8 } from './paths.ts';

/** Returns the difference as `git diff` shows it; null if it is longer than `maxLength` characters, or if git fails. */
export const diffText = async (
  store: CommitStore,
  [before, after]: readonly [string, string],
  maxLength: number,
): Promise<string | null> => {
  const flags = ['-r', '-p', '--find-renames', '--no-color', '--unified=3', '--src-prefix=a/', '--dst-prefix=b/'];
  const { code, stdout } = await git(['diff-tree', ...flags, before, after], inStore(store));
  return code !== 0 || stdout.length > maxLength ? null : toUtf8(stdout);
};

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { git, type GitArguments, type GitResult } from '../call/git.ts';
import { skipping } from './skipped.ts';
import type { WorkTree } from '../work-tree.ts';

export interface AddRequest {
  /** Files and folders whose index entries are not touched. */
  readonly without: readonly string[];
  /** Flags of `git add`. */
  readonly flags?: readonly string[];
  /** Settings of git, as `key=value`. */
  readonly config?: readonly string[];
}

/** Adds all files to the index at `tempIndex`. stdout lists the entries that changed. */
export const addAll = (
  { root, gitDir, tempIndex }: WorkTree,
  { without, flags = [], config = [] }: AddRequest,
): Promise<GitResult> => {
  // Passed only if needed, because old versions of git do not know it.
  const sparse = existsSync(join(gitDir, 'info', 'sparse-checkout')) ? ['--sparse'] : [];
  const paths = without.length === 0 ? [] : ['--pathspec-from-file=-', '--pathspec-file-nul'];
  const args: GitArguments = ['add', '--all', '--verbose', '--ignore-errors', ...flags, ...sparse, ...paths];
  return git(args, {
    cwd: root,
    config: ['advice.addEmbeddedRepo=false', ...config],
    env: { GIT_INDEX_FILE: tempIndex },
    ...(without.length === 0 ? {} : { input: skipping(without) }),
  });
};

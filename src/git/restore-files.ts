import { git } from './call/git.ts';
import { type GitOutcome, outcome } from './outcome.ts';

/** Writes files as they are in a commit into a work tree. Names are as git prints them, relative to its root. */
export const restoreFiles = async (root: string, commit: string, names: readonly string[]): Promise<GitOutcome> => {
  if (names.length === 0) return { ok: true };
  const args = [
    'restore',
    `--source=${commit}`,
    '--worktree',
    '--pathspec-from-file=-',
    '--pathspec-file-nul',
  ] as const;
  const input = names.map((name) => `:(top,literal)${name}\0`).join('');
  return outcome(await git([...args], { cwd: root, input }));
};

import { git, readable, splitNames } from './git.ts';
import type { WorkTree } from './worktree.ts';

export type CommitResult =
  | { readonly kind: 'committed'; readonly hash: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Commits these files as they are now and nothing else: what is staged of other files stays staged.
 * Hooks run. When git refuses, the index is as it was.
 */
export const commitFiles = async (
  tree: WorkTree,
  { names, snapshotId, message }: { names: readonly string[]; snapshotId: string; message: string },
): Promise<CommitResult> => {
  const cwd = tree.root;
  // What the agent has committed itself is in HEAD already.
  const open = new Set(await differsFromHead(cwd, snapshotId));
  const wanted = names.filter((name) => open.has(name));
  if (wanted.length === 0) return { kind: 'nothing' };

  const pathspec = { cwd, input: wanted.join('\0') };
  const fromInput = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  const known = new Set(splitNames((await git(['ls-files', '-z'], { cwd })).stdout));
  const unknown = wanted.filter((name) => !known.has(name));
  const unknownSpec = { cwd, input: unknown.join('\0') };
  if (unknown.length > 0) await git(['add', '--intent-to-add', ...fromInput], unknownSpec);

  const commit = await git(['commit', '--quiet', '--only', '-m', message, ...fromInput], pathspec);
  if (commit.code === 0) {
    const head = await git(['rev-parse', 'HEAD'], { cwd });
    return { kind: 'committed', hash: head.stdout.trim() };
  }
  if (unknown.length > 0) await git(['rm', '--cached', '--quiet', '--ignore-unmatch', ...fromInput], unknownSpec);
  const why = readable(commit.stderr || commit.stdout)
    .trim()
    .split('\n')
    .at(-1);
  return { kind: 'refused', why: why || `git commit ended with code ${commit.code}` };
};

const differsFromHead = async (cwd: string, tree: string): Promise<string[]> => {
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{tree}'], { cwd });
  const base = head.code === 0 ? head.stdout.trim() : await emptyTree(cwd);
  return splitNames((await git(['diff-tree', '-r', '-z', '--name-only', '--no-renames', base, tree], { cwd })).stdout);
};

const emptyTree = async (cwd: string) => (await git(['mktree'], { cwd })).stdout.trim();

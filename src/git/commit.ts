import { lstatSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { tagVariable } from '../processes.ts';
import { git, type GitResult, pathOf, readable, splitNames } from './git.ts';
import type { WorkTree } from './worktree.ts';

export type CommitResult =
  | { readonly kind: 'committed'; readonly hash: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refused'; readonly why: string };

export interface CommitRequest {
  readonly names: readonly string[];
  /** The work tree as it is now. */
  readonly treeId: string;
  readonly message: string;
  readonly kill: AbortSignal;
  /** Marks git and its hooks, so that they are found when Spool is killed. */
  readonly tag: string;
}

/**
 * Commits these files as they are now and nothing else: what is staged of other files stays staged.
 * Hooks run. When git refuses, the index is as it was.
 */
export const commitFiles = async (tree: WorkTree, request: CommitRequest): Promise<CommitResult> => {
  const cwd = tree.root;
  // What the agent has committed itself is in HEAD already.
  const open = new Set(await differsFromHead(cwd, request.treeId));
  const wanted = request.names.filter((name) => open.has(name));
  if (wanted.length === 0) return { kind: 'nothing' };

  const known = new Set(splitNames((await git(['ls-files', '-z'], { cwd })).stdout));
  // What was deleted, and the deletion staged, is in neither place.
  const isThere = (name: string) => lstatSync(pathOf(cwd, name), { throwIfNoEntry: false }) !== undefined;
  const unknown = wanted.filter((name) => !known.has(name) && isThere(name));
  const env = { [tagVariable]: request.tag };
  if (unknown.length > 0) {
    const added = await patiently(() =>
      git(['add', '--intent-to-add', ...fromInput], { cwd, env, input: literally(unknown) }),
    );
    if (added.code !== 0) return { kind: 'refused', why: added.stderr };
  }

  const args = ['commit', '--quiet', '--only', '-m', request.message, ...fromInput];
  const commit = await patiently(() =>
    git(args, { cwd, env, input: literally(wanted), hooks: true, kill: request.kill }),
  );
  if (commit.code === 0) {
    const head = await git(['rev-parse', 'HEAD'], { cwd });
    return { kind: 'committed', hash: head.stdout.trim() };
  }
  if (unknown.length > 0)
    await git(['rm', '--cached', '--quiet', '--ignore-unmatch', ...fromInput], { cwd, input: literally(unknown) });
  const said = `${commit.stderr}\n${readable(commit.stdout)}`.trim().slice(-longestReason);
  return { kind: 'refused', why: said || `git commit ended with code ${commit.code}` };
};

/** Somebody else may be at the index for a moment. */
const patiently = async (call: () => Promise<GitResult>): Promise<GitResult> => {
  for (let tries = 0; ; tries++) {
    const result = await call();
    if (result.code === 0 || !/index\.lock/.test(result.stderr) || tries === mostTries) return result;
    await delay(triesEveryMs);
  }
};

const mostTries = 20;
const triesEveryMs = 250;

/** What a hook says may be the output of a whole test run. */
const longestReason = 2000;

const fromInput = ['--pathspec-from-file=-', '--pathspec-file-nul'];

/** Names as they are, whatever `*` or `:` they hold. A variable would do the same, but hooks would inherit it. */
const literally = (names: readonly string[]) => names.map((name) => `:(literal,top)${name}`).join('\0');

const differsFromHead = async (cwd: string, tree: string): Promise<string[]> => {
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{tree}'], { cwd });
  const base = head.code === 0 ? head.stdout.trim() : await emptyTree(cwd);
  return splitNames((await git(['diff-tree', '-r', '-z', '--name-only', '--no-renames', base, tree], { cwd })).stdout);
};

const emptyTree = async (cwd: string) => (await git(['mktree'], { cwd })).stdout.trim();

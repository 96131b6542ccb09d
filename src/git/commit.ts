import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { tagVariable } from '../processes.ts';
import { git, type GitResult, readable } from './git.ts';
import { copyIndex, isIntact, type WorkTree } from './worktree.ts';

export type CommitResult =
  { readonly kind: 'committed' } | { readonly kind: 'nothing' } | { readonly kind: 'refused'; readonly why: string };

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
 * Commits these files as they are now and nothing else, from an index of our own: what is staged of other files stays
 * staged. Hooks run. When git refuses, the user's index is as it was.
 */
export const commitFiles = async (tree: WorkTree, request: CommitRequest): Promise<CommitResult> => {
  const cwd = tree.root;
  if (!isIntact(tree)) return { kind: 'refused', why: 'the .git of the work tree is gone' };
  // What the agent has committed itself is in HEAD already.
  const head = await headOrEmpty(cwd);
  const open = await differencesBetween(cwd, head, request.treeId);
  const wanted = request.names.filter((name) => open.has(name));
  if (wanted.length === 0) return { kind: 'nothing' };

  const scratch = `${tree.scratch}.commit`;
  const env = { GIT_INDEX_FILE: scratch, [tagVariable]: request.tag };
  try {
    await copyIndex(tree.index, scratch);
    await git(['read-tree', '--reset', head], { cwd, env });
    const input = wanted
      .map((name) => open.get(name)!)
      .toSorted()
      .join('');
    const staged = await git(['update-index', '-z', '--index-info'], { cwd, env, input });
    if (staged.code !== 0) return { kind: 'refused', why: staged.stderr };
    const args = ['commit', '--quiet', '-m', request.message];
    const commit = await patiently(() => git(args, { cwd, env, hooks: true, kill: request.kill }));
    if (commit.code !== 0) return { kind: 'refused', why: reasonOf(commit) };
  } finally {
    rmSync(scratch, { force: true });
  }
  const committed = new Set(wanted);
  const byHooks = (await namesInHead(cwd)).filter((name) => !committed.has(name));
  const staged = byHooks.length > 0 ? await stagedOver(cwd, head) : new Set();
  const reset = ['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
  // What a hook has added is in the index as well, unless the user has staged something else of it.
  const input = literally([...wanted, ...byHooks.filter((name) => !staged.has(name))]);
  await patiently(() => git(reset, { cwd, input }));
  return { kind: 'committed' };
};

const nameOnly = ['-z', '--name-only', '--no-renames'];

/** All that the last commit has changed; nothing of a merge, which a hook can have made. */
const namesInHead = async (cwd: string): Promise<string[]> => {
  const { stdout } = await git(['diff-tree', '-r', '--root', '--no-commit-id', ...nameOnly, 'HEAD', '--'], { cwd });
  return stdout.split('\0').filter(Boolean);
};

const stagedOver = async (cwd: string, head: string): Promise<Set<string>> =>
  new Set((await git(['diff-index', '--cached', ...nameOnly, head], { cwd })).stdout.split('\0'));

const reasonOf = ({ code, stdout, stderr }: GitResult): string =>
  `${stderr}\n${readable(stdout)}`.trim().slice(-longestReason) || `git commit ended with code ${code}`;

/** What a hook says may be the output of a whole test run. */
const longestReason = 2000;

/** Somebody else may be at the index, or at the branch, for a moment. */
const patiently = async (call: () => Promise<GitResult>): Promise<GitResult> => {
  for (let tries = 0; ; tries++) {
    const result = await call();
    if (result.code === 0 || !/\.lock'?: File exists/.test(result.stderr) || tries === mostTries) return result;
    await delay(triesEveryMs);
  }
};

const mostTries = 20;
const triesEveryMs = 250;

/** Names as they are, whatever `*` or `:` they hold. A variable would do the same, but hooks would inherit it. */
const literally = (names: readonly string[]) => names.map((name) => `:(literal,top)${name}`).join('\0');

/** By name: the line that puts the file of the tree into an index. Those that delete sort first, as a folder may take the place of a file. */
const differencesBetween = async (cwd: string, head: string, treeId: string): Promise<Map<string, string>> => {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', head, treeId];
  const fields = (await git(args, { cwd })).stdout.split('\0');
  const lines = new Map<string, string>();
  for (let at = 0; fields[at]?.startsWith(':'); at += 2) {
    const [, mode, , id] = fields[at]!.split(' ');
    const name = fields[at + 1]!;
    lines.set(name, mode === '000000' ? `0 ${id}\t${name}\0` : `${mode} ${id}\t${name}\0`);
  }
  return lines;
};

const headOrEmpty = async (cwd: string): Promise<string> => {
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{tree}'], { cwd });
  return head.code === 0 ? head.stdout.trim() : (await git(['mktree'], { cwd })).stdout.trim();
};

import { removeSafely } from '../files/safe.ts';
import { tagVariable } from '../process/tree.ts';
import type { Sandbox } from '../process/sandbox-types.ts';
import { maxRedactedLength } from '../secrets/redact.ts';
import { duration } from '../text/duration.ts';
import { git, type GitResult } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import { rawDiff, rawIndexDiff, type RawDifference, unmerged } from './raw-diff.ts';
import {
  emptyTree,
  forgetPendingRefresh,
  type PendingRefresh,
  withRetries,
  readPendingRefresh,
  type Refreshed,
  refreshIndex,
  writePendingRefresh,
} from './refresh.ts';
import { copyIndex, headLogSince, headLogSize, isIntact, type WorkTree } from './work-tree.ts';

export type CommitResult =
  | {
      readonly kind: 'committed';
      /** The previous entries of the files in HEAD, by name: `100644 <id>`. */
      readonly replaced: ReadonlyMap<string, string>;
      readonly index: Refreshed;
    }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refused'; readonly why: string };

export interface CommitRequest {
  readonly names: readonly string[];
  /** The tree of the current files. */
  readonly treeId: string;
  /** Called with the differences that are committed, and the tree of HEAD. */
  readonly message: (committed: ReadonlyMap<string, RawDifference>, head: string) => Promise<string>;
  readonly kill: AbortSignal;
  /** Tags git and its hooks, so that they are found if Spool is killed. */
  readonly tag: string;
  /** Runs the commit and its hooks; null for no sandbox. */
  readonly sandbox: Sandbox | null;
  /** Called once if git or a hook takes long. */
  readonly onSlow?: () => void;
  /** The time limit for git and its hooks, in milliseconds. */
  readonly maxMs?: number;
}

/** The time limit for a commit with its hooks. */
export const commitLimitMs = 10 * 60_000;
/** A commit that takes longer is announced. */
const slowMs = 1500;

/**
 * Commits the current version of these files and nothing else, from a separate index: staged changes of other files
 * stay staged. Hooks run. If git refuses, the index of the user is unchanged.
 */
export const commitFiles = async (tree: WorkTree, request: CommitRequest): Promise<CommitResult> => {
  if (!isIntact(tree)) return { kind: 'refused', why: 'the .git of the work tree is gone, or was replaced' };
  for (let moves = 0; moves < maxMoves; moves++) {
    const result = await tryToCommit(tree, request);
    if (result.kind !== 'moved') return result;
  }
  return { kind: 'refused', why: 'HEAD kept moving' };
};

/** How often another process may commit in between. */
const maxMoves = 5;

/** Returns `moved` if HEAD changed after the index was prepared from it: the commit would revert the change. */
const tryToCommit = async (tree: WorkTree, request: CommitRequest): Promise<CommitResult | { kind: 'moved' }> => {
  const cwd = tree.root;
  // Commits of the agent are already in HEAD.
  const head = await headOf(cwd);
  const uncommitted = (await rawDiff(cwd, head.tree, request.treeId)) ?? new Map<string, RawDifference>();
  const toCommit = request.names.filter((name) => uncommitted.has(name));
  if (toCommit.length === 0) return { kind: 'nothing' };
  const staged = await rawIndexDiff(cwd, head.tree);
  if (staged === null) return { kind: 'refused', why: 'git cannot read the index' };
  const message = await request.message(new Map(toCommit.map((name) => [name, uncommitted.get(name)!])), head.tree);
  const replaced = new Map(toCommit.map((name) => [name, uncommitted.get(name)!.old]));

  const index = request.sandbox?.newFile() ?? `${tree.tempIndex}.commit`;
  const env = { GIT_INDEX_FILE: index, [tagVariable]: request.tag };
  const earlier = readPendingRefresh(tree);
  const pending = { behind: earlier?.behind ?? null, about: aboutToCommit(head.commit, { replaced, staged }) };
  try {
    await copyIndex(tree.index, index);
    if (hasConflicts(staged)) await git(['read-tree', '--reset', head.tree], { cwd, env });
    const input = indexLines({ staged, toCommit, uncommitted });
    const prepared = await git(['update-index', '-z', '--index-info'], { cwd, env, input });
    if (prepared.code !== 0) return { kind: 'refused', why: prepared.stderr };
    writePendingRefresh(tree, pending);
    const logged = headLogSize(tree);
    let isRetry = false;
    const slow = setTimeout(() => request.onSlow?.(), slowMs);
    const commit = await withRetries(async () => {
      if (isRetry && (await headOf(cwd)).commit !== head.commit) return headMoved;
      isRetry = true;
      const { kill, sandbox, maxMs = commitLimitMs } = request;
      return git(['commit', '--quiet', '-m', message], { cwd, env, hooks: true, kill, sandbox, maxMs });
    }, commitRetries).finally(() => clearTimeout(slow));
    const moved = commit.code === 0 ? null : await rawDiff(cwd, head.tree, 'HEAD');
    // git also fails if a hook is killed after the commit.
    const isCommitted =
      commit.code === 0 || toCommit.every((name) => moved?.get(name)?.new === uncommitted.get(name)?.new);
    if (!isCommitted) {
      restorePendingRefresh(tree, earlier);
      return moved !== null && moved.size > 0 ? { kind: 'moved' } : { kind: 'refused', why: reasonOf(commit, request) };
    }
    if (await undoIfMoved(tree, head.commit, logged)) {
      restorePendingRefresh(tree, earlier);
      return { kind: 'moved' };
    }
  } finally {
    removeSafely(index);
  }
  return {
    kind: 'committed',
    replaced,
    index: await refreshIndex(tree, pending, { retries: refreshRetries, justCommitted: true }),
  };
};

const headMoved: GitResult = { code: 1, stdout: '', stderr: '' };

/**
 * Undoes the commit if its parent is not `head`. Only the reflog of HEAD is read: it has one new entry, unless a hook
 * has added commits on top, which are not undone.
 */
const undoIfMoved = async (tree: WorkTree, head: string | null, logged: number): Promise<boolean> => {
  const [step, ...more] = headLogSince(tree, logged);
  if (step === undefined || more.length > 0 || step.from === (head ?? '0'.repeat(step.from.length))) return false;
  return (await git(['update-ref', 'HEAD', step.from, step.to], { cwd: tree.root })).code === 0;
};

const commitRetries = 20;
/** The refresh is retried before the next iteration, for longer. */
const refreshRetries = 4;

type Differences = ReadonlyMap<string, RawDifference>;

const aboutToCommit = (
  head: string | null,
  { replaced, staged }: { replaced: ReadonlyMap<string, string>; staged: Differences },
): NonNullable<PendingRefresh['about']> => ({
  head,
  entries: new Map([...replaced].map(([name, entry]) => [name, staged.get(name)?.new ?? entry])),
  staged: new Set([...staged.keys()].filter((name) => !replaced.has(name))),
});

const restorePendingRefresh = (tree: WorkTree, earlier: PendingRefresh | null): void => {
  if (earlier === null) return forgetPendingRefresh(tree);
  writePendingRefresh(tree, earlier);
};

const hasConflicts = (staged: Differences) => [...staged.values()].some((each) => each.new === unmerged);

interface Lines {
  readonly staged: Differences;
  readonly toCommit: readonly string[];
  readonly uncommitted: Differences;
}

/**
 * Returns the lines that turn a copy of the user's index into HEAD plus these files. Deletions sort first, because a
 * folder may replace a file.
 */
const indexLines = ({ staged, toCommit, uncommitted }: Lines): string => {
  const unstaged = hasConflicts(staged) ? [] : [...staged].map(([name, each]) => [name, each.old] as const);
  const entries = new Map([...unstaged, ...toCommit.map((name) => [name, uncommitted.get(name)!.new] as const)]);
  return [...entries]
    .map(([name, entry]) => `${entry.replace(/^0+ /, '0 ')}\t${name}\0`)
    .toSorted()
    .join('');
};

const reasonOf = (
  { code, stdout, stderr, timedOut }: GitResult,
  { maxMs = commitLimitMs }: Pick<CommitRequest, 'maxMs'>,
): string => {
  if (timedOut)
    return `a hook or the signing program was still running after ${duration(maxMs)}, so the commit was given up`;
  const output = `${stderr}\n${toUtf8(stdout)}`.trim().slice(-maxReasonLength - maxRedactedLength);
  return output || `git commit exited with code ${code}`;
};

/** A hook may print as much as a whole test run. The caller redacts its output and shortens it to this length. */
export const maxReasonLength = 2000;

/** Last lines that do not depend on the cause. */
const uninformative = /^(?:fatal: failed to write commit object|husky - .*|)$/;

/** Returns the line of the output of git and hooks that explains why the commit failed. */
export const commitErrorLine = (why: string): string => {
  const lines = why.split('\n').map((line) => line.trim());
  const informative = lines.filter((line) => !uninformative.test(line));
  const errors = informative.filter((line) => /^(?:error|gpg): /.test(line));
  return errors.slice(0, 2).join('; ') || (informative.at(-1) ?? lines.at(-1) ?? '');
};

/** Returns the commit that is checked out, null if there is none yet, and its tree. */
const headOf = async (cwd: string): Promise<{ commit: string | null; tree: string }> => {
  const { code, stdout } = await git(['rev-parse', 'HEAD^{commit}', 'HEAD^{tree}'], { cwd });
  const [commit = '', tree = ''] = stdout.split('\n');
  return code === 0 ? { commit, tree } : { commit: null, tree: await emptyTree(cwd) };
};

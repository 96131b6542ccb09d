import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeSafely, renameSafely, writeSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import { listOf, object, orNull, pairOf, required, text } from '../text/shape.ts';
import { git, type GitResult } from './call/git.ts';
import { rawDiff, rawIndexDiff, type RawDifference } from './raw-diff.ts';
import type { WorkTree } from './work-tree.ts';

/**
 * Spool commits from a separate index, so the user's index is stale until it is refreshed: the next `git commit` of
 * the user would revert the work. Before the commit, the entries of the index are saved in the git folder. They are
 * deleted after the refresh, by this process or by the next Spool in the same work tree.
 */
export interface PendingRefresh {
  /** A commit after which the refresh failed. */
  readonly behind: Behind | null;
  /** A commit that is about to be created. */
  readonly about: AboutToCommit | null;
}

/** Entries of the index, by name: `100644 <id>`. */
type Entries = ReadonlyMap<string, string>;

interface Behind {
  readonly commit: string;
  readonly entries: Entries;
}

interface AboutToCommit {
  /** The parent of the commit; null for the first commit. */
  readonly head: string | null;
  readonly entries: Entries;
  /** Other files whose index entry differs from HEAD. */
  readonly staged: ReadonlySet<string>;
}

export type Refreshed =
  | {
      readonly kind: 'refreshed';
      readonly names: readonly string[];
      /** Files that a later commit from the stale index has reverted. */
      readonly undone: readonly string[];
    }
  | { readonly kind: 'behind'; readonly why: string };

const pendingRefreshFile = ({ gitDir }: WorkTree) => join(gitDir, 'spool-index.json');

/** Best effort: on a full disk, the commit fails as well. */
export const writePendingRefresh = (tree: WorkTree, { behind, about }: PendingRefresh): void => {
  const pending = {
    v: 1,
    behind: behind && { ...behind, entries: [...behind.entries] },
    about: about && { ...about, entries: [...about.entries], staged: [...about.staged] },
  };
  const file = pendingRefreshFile(tree);
  const draft = `${file}.${crypto.randomUUID()}`;
  try {
    // Replaces a link that an agent may have put there.
    writeSafely(draft, JSON.stringify(pending), 'create');
    renameSafely(draft, file);
  } catch {
    forget(draft);
    // The index is still refreshed right after the commit, unless Spool is killed.
  }
};

/** Returns null if the index is not stale. One that is incomplete was written before its commit, and is ignored. */
export const readPendingRefresh = (tree: WorkTree): PendingRefresh | null => {
  const saved = savedRefresh(readJson(pendingRefreshFile(tree)));
  if (saved === undefined) {
    forgetPendingRefresh(tree);
    return null;
  }
  const { behind, about } = saved;
  return {
    behind: behind && { ...behind, entries: new Map(behind.entries) },
    about: about && { ...about, entries: new Map(about.entries), staged: new Set(about.staged) },
  };
};

const savedEntries = listOf(pairOf(text, text));

const savedRefresh = object({
  behind: required(orNull(object({ commit: required(text), entries: required(savedEntries) }))),
  about: required(
    orNull(object({ head: required(orNull(text)), entries: required(savedEntries), staged: required(listOf(text)) })),
  ),
});

/** If it cannot be deleted, the next refresh finds that nothing is left to do. */
export const forgetPendingRefresh = (tree: WorkTree): void => forget(pendingRefreshFile(tree));

const forget = (file: string): void => {
  try {
    removeSafely(file);
  } catch {
    // Best effort.
  }
};

interface RefreshOptions {
  /** The number of retries while another process has locked the index. */
  readonly retries: number;
  /** The commit has just been created. */
  readonly justCommitted?: boolean;
}

/** Updates the index to HEAD for files whose entry is as it was before Spool's commit. Newer staged changes stay. */
export const refreshIndex = async (
  tree: WorkTree,
  pending: PendingRefresh,
  { retries, justCommitted = false }: RefreshOptions,
): Promise<Refreshed> => {
  const cwd = tree.root;
  const differing = await rawIndexDiff(cwd, 'HEAD');
  if (differing === null) return headIsUnborn(tree);
  // The commit does not exist if Spool was killed before it, or if the branch was moved back.
  const about =
    pending.about !== null && (justCommitted || (await commitOn(cwd, pending.about.head))) ? pending.about : null;
  const saved = new Map([...(pending.behind?.entries ?? []), ...(about?.entries ?? [])]);
  const own = [...saved].filter(([name, entry]) => differing.get(name)?.new === entry);
  const stale = new Map([...own, ...(about === null ? [] : await addedByHooks(cwd, about, { saved, differing }))]);
  const names = [...stale.keys()];
  const reset = names.length === 0 ? null : await withRetries(() => resetPaths(cwd, names), retries);
  if (reset !== null && reset.code !== 0) {
    const commit = (about && (await commitOn(cwd, about.head))) ?? pending.behind?.commit ?? 'HEAD';
    writePendingRefresh(tree, { behind: { commit, entries: new Map([...saved, ...stale]) }, about: null });
    return { kind: 'behind', why: reasonOf(tree, reset) };
  }
  const matching = [...saved].filter(([name]) => !differing.has(name));
  const commit = (about && !justCommitted && (await commitOn(cwd, about.head))) || pending.behind?.commit;
  const undone = matching.length === 0 || !commit ? [] : await revertedSince(cwd, commit, matching);
  forgetPendingRefresh(tree);
  return { kind: 'refreshed', names, undone };
};

const resetPaths = (cwd: string, names: readonly string[]): Promise<GitResult> =>
  git(['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'], { cwd, input: literally(names) });

/** An index cannot be behind a branch without commits. */
const headIsUnborn = async (tree: WorkTree): Promise<Refreshed> => {
  const { code, stderr } = await git(['rev-parse', '--verify', 'HEAD'], { cwd: tree.root });
  if (code === 0 || !/Needed a single revision/.test(stderr))
    return { kind: 'behind', why: 'git cannot read the index' };
  forgetPendingRefresh(tree);
  return { kind: 'refreshed', names: [], undone: [] };
};

interface Candidates {
  readonly saved: Entries;
  readonly differing: ReadonlyMap<string, RawDifference>;
}

/** Returns entries that the commit changed although Spool did not, and that are still in the index as before. */
const addedByHooks = async (
  cwd: string,
  { head, staged }: AboutToCommit,
  { saved, differing }: Candidates,
): Promise<(readonly [string, string])[]> => {
  const others = [...differing].filter(([name]) => !saved.has(name) && !staged.has(name));
  const commit = others.length === 0 ? null : await commitOn(cwd, head);
  const changed = commit === null ? null : await rawDiff(cwd, head ?? (await emptyTree(cwd)), commit);
  return others
    .filter(([name, { new: entry }]) => changed?.get(name)?.old === entry)
    .map(([name, { new: entry }]) => [name, entry] as const);
};

/** Returns the names whose entry in HEAD is again the one before the commit. */
const revertedSince = async (
  cwd: string,
  commit: string,
  entries: readonly (readonly [string, string])[],
): Promise<string[]> => {
  const since = await rawDiff(cwd, commit, 'HEAD');
  return entries.filter(([name, entry]) => since?.get(name)?.new === entry).map(([name]) => name);
};

/** Returns the first commit after `head` on the branch; null if there is none. */
const commitOn = async (cwd: string, head: string | null): Promise<string | null> => {
  const not = head === null ? [] : [`^${head}`];
  const { stdout } = await git(['rev-list', '--first-parent', 'HEAD', ...not, '--'], { cwd });
  return stdout.trim().split('\n').at(-1) || null;
};

export const emptyTree = async (cwd: string): Promise<string> =>
  (await git(['mktree'], { cwd, input: '' })).stdout.trim();

/** Matches names literally, even with `*` or `:`. A variable would do the same, but hooks would inherit it. */
const literally = (names: readonly string[]) => names.map((name) => `:(literal,top)${name}`).join('\0');

const isLocked = ({ stderr }: GitResult) => /\.lock'?: File exists/.test(stderr);

const reasonOf = (tree: WorkTree, result: GitResult): string =>
  isLocked(result) ? `${lockOf(tree)} exists` : result.stderr.split('\n')[0]!;

/** Returns the path of the index lock as a user would type it. */
const lockOf = ({ root, index }: WorkTree): string => {
  const path = relative(root, `${index}.lock`);
  return path.startsWith('..') ? `${index}.lock` : path;
};

/** Retries while another process has locked the index or the branch. */
export const withRetries = async (call: () => Promise<GitResult>, maxRetries: number): Promise<GitResult> => {
  for (let retries = 0; ; retries++) {
    const result = await call();
    if (result.code === 0 || !isLocked(result) || retries === maxRetries) return result;
    await delay(retryEveryMs);
  }
};

const retryEveryMs = 250;

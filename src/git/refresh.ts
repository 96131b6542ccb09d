import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeSafely, renameSafely, writeSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import { listOf, object, orNull, pairOf, required, text } from '../text/shape.ts';
import { git, type GitResult } from './call/git.ts';
import { between, indexAgainst, type RawDifference } from './raw.ts';
import type { WorkTree } from './work-tree.ts';

/**
 * Spool commits from an index of its own, so the user's index is behind until it is refreshed: the next ordinary
 * `git commit` would take the work out again. What the index had is noted before the commit, in the folder of git, and
 * stays noted until the refresh is done, by this Spool or by the next one in the same work tree.
 */
export interface IndexNote {
  /** A commit that was made, and could not be followed by a refresh. */
  readonly behind: Behind | null;
  /** A commit that is about to be made. */
  readonly about: AboutToCommit | null;
}

/** What the index has of files, by name: `100644 <id>`. */
type Entries = ReadonlyMap<string, string>;

interface Behind {
  readonly commit: string;
  readonly entries: Entries;
}

interface AboutToCommit {
  /** The commit on top of which it is made; null for the first one. */
  readonly head: string | null;
  readonly entries: Entries;
  /** Other files of which the index has something else than HEAD. */
  readonly staged: ReadonlySet<string>;
}

export type Refreshed =
  | {
      readonly kind: 'refreshed';
      readonly names: readonly string[];
      /** What a later commit, from an index that was behind, has taken out of HEAD again. */
      readonly undone: readonly string[];
    }
  | { readonly kind: 'behind'; readonly why: string };

const indexNoteFile = ({ gitDir }: WorkTree) => join(gitDir, 'spool-index.json');

/** Best effort: a disk that is full refuses the commit as well. */
export const writeIndexNote = (tree: WorkTree, { behind, about }: IndexNote): void => {
  const note = {
    v: 1,
    behind: behind && { ...behind, entries: [...behind.entries] },
    about: about && { ...about, entries: [...about.entries], staged: [...about.staged] },
  };
  const file = indexNoteFile(tree);
  const draft = `${file}.${crypto.randomUUID()}`;
  try {
    // An agent can have put a link there, which is replaced.
    writeSafely(draft, JSON.stringify(note), 'create');
    renameSafely(draft, file);
  } catch {
    forget(draft);
    // The index is refreshed right behind the commit all the same, unless Spool is killed.
  }
};

/** null when the index is not behind. One that was cut off was written before its commit. */
export const readIndexNote = (tree: WorkTree): IndexNote | null => {
  const saved = savedNote(readJson(indexNoteFile(tree)));
  if (saved === undefined) {
    forgetIndexNote(tree);
    return null;
  }
  const { behind, about } = saved;
  return {
    behind: behind && { ...behind, entries: new Map(behind.entries) },
    about: about && { ...about, entries: new Map(about.entries), staged: new Set(about.staged) },
  };
};

const savedEntries = listOf(pairOf(text, text));

const savedNote = object({
  behind: required(orNull(object({ commit: required(text), entries: required(savedEntries) }))),
  about: required(
    orNull(object({ head: required(orNull(text)), entries: required(savedEntries), staged: required(listOf(text)) })),
  ),
});

/** Where it cannot be deleted, it is looked at again, and found to be settled. */
export const forgetIndexNote = (tree: WorkTree): void => forget(indexNoteFile(tree));

const forget = (file: string): void => {
  try {
    removeSafely(file);
  } catch {
    // Best effort.
  }
};

interface HowToRefresh {
  /** How often to try again while somebody holds the index. */
  readonly tries: number;
  /** What the note is about was done a moment ago. */
  readonly justCommitted?: boolean;
}

/** Brings the index up to HEAD where it is as it was before Spool's commit; what somebody has staged since stays. */
export const refreshIndex = async (
  tree: WorkTree,
  note: IndexNote,
  { tries, justCommitted = false }: HowToRefresh,
): Promise<Refreshed> => {
  const cwd = tree.root;
  const differing = await indexAgainst(cwd, 'HEAD');
  if (differing === null) return headIsUnborn(tree);
  // It was not made when Spool was killed before it, or when somebody has moved the branch back.
  const about = note.about !== null && (justCommitted || (await commitOn(cwd, note.about.head))) ? note.about : null;
  const noted = new Map([...(note.behind?.entries ?? []), ...(about?.entries ?? [])]);
  const own = [...noted].filter(([name, entry]) => differing.get(name)?.new === entry);
  const stale = new Map([...own, ...(about === null ? [] : await addedByHooks(cwd, about, { noted, differing }))]);
  const names = [...stale.keys()];
  const reset = names.length === 0 ? null : await withRetries(() => resetPaths(cwd, names), tries);
  if (reset !== null && reset.code !== 0) {
    const commit = (about && (await commitOn(cwd, about.head))) ?? note.behind?.commit ?? 'HEAD';
    writeIndexNote(tree, { behind: { commit, entries: new Map([...noted, ...stale]) }, about: null });
    return { kind: 'behind', why: reasonOf(tree, reset) };
  }
  const settled = [...noted].filter(([name]) => !differing.has(name));
  const commit = (about && !justCommitted && (await commitOn(cwd, about.head))) || note.behind?.commit;
  const undone = settled.length === 0 || !commit ? [] : await takenOut(cwd, commit, settled);
  forgetIndexNote(tree);
  return { kind: 'refreshed', names, undone };
};

const resetPaths = (cwd: string, names: readonly string[]): Promise<GitResult> =>
  git(['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'], { cwd, input: literally(names) });

/** Nothing can be behind a branch without commits. */
const headIsUnborn = async (tree: WorkTree): Promise<Refreshed> => {
  const { code, stderr } = await git(['rev-parse', '--verify', 'HEAD'], { cwd: tree.root });
  if (code === 0 || !/Needed a single revision/.test(stderr))
    return { kind: 'behind', why: 'git cannot read the index' };
  forgetIndexNote(tree);
  return { kind: 'refreshed', names: [], undone: [] };
};

interface Candidates {
  readonly noted: Entries;
  readonly differing: ReadonlyMap<string, RawDifference>;
}

/** What is in the commit although Spool did not put it there, and is in the index as it was before. */
const addedByHooks = async (
  cwd: string,
  { head, staged }: AboutToCommit,
  { noted, differing }: Candidates,
): Promise<(readonly [string, string])[]> => {
  const others = [...differing].filter(([name]) => !noted.has(name) && !staged.has(name));
  const commit = others.length === 0 ? null : await commitOn(cwd, head);
  const changed = commit === null ? null : await between(cwd, head ?? (await emptyTree(cwd)), commit);
  return others
    .filter(([name, { new: entry }]) => changed?.get(name)?.old === entry)
    .map(([name, { new: entry }]) => [name, entry] as const);
};

/** Those that HEAD has again as the index had them before the commit. */
const takenOut = async (
  cwd: string,
  commit: string,
  entries: readonly (readonly [string, string])[],
): Promise<string[]> => {
  const since = await between(cwd, commit, 'HEAD');
  return entries.filter(([name, entry]) => since?.get(name)?.new === entry).map(([name]) => name);
};

/** The commit that was made on top of another one; null when HEAD has none. */
const commitOn = async (cwd: string, head: string | null): Promise<string | null> => {
  const not = head === null ? [] : [`^${head}`];
  const { stdout } = await git(['rev-list', '--first-parent', 'HEAD', ...not, '--'], { cwd });
  return stdout.trim().split('\n').at(-1) || null;
};

export const emptyTree = async (cwd: string): Promise<string> =>
  (await git(['mktree'], { cwd, input: '' })).stdout.trim();

/** Names as they are, whatever `*` or `:` they hold. A variable would do the same, but hooks would inherit it. */
const literally = (names: readonly string[]) => names.map((name) => `:(literal,top)${name}`).join('\0');

const isLocked = ({ stderr }: GitResult) => /\.lock'?: File exists/.test(stderr);

const reasonOf = (tree: WorkTree, result: GitResult): string =>
  isLocked(result) ? `${lockOf(tree)} exists` : result.stderr.split('\n')[0]!;

/** The lock of the index, as a person would type it. */
const lockOf = ({ root, index }: WorkTree): string => {
  const path = relative(root, `${index}.lock`);
  return path.startsWith('..') ? `${index}.lock` : path;
};

/** Somebody else may be at the index, or at the branch, for a moment. */
export const withRetries = async (call: () => Promise<GitResult>, mostTries: number): Promise<GitResult> => {
  for (let tries = 0; ; tries++) {
    const result = await call();
    if (result.code === 0 || !isLocked(result) || tries === mostTries) return result;
    await delay(triesEveryMs);
  }
};

const triesEveryMs = 250;

import { existsSync } from 'node:fs';
import { removeSafely } from '../../files/safe.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { git } from '../call/git.ts';
import { type Adder, createAdder, readVerbose } from './adder.ts';
import { unstage, writeTree } from './temp-index.ts';
import { createGitlinks, type Gitlinks, gitlinksIn } from './gitlinks.ts';
import { createHiddenFiles, type HiddenFiles } from './hidden.ts';
import { isRuleFile } from './ignored.ts';
import type { IgnoredBefore } from './ignored-before.ts';
import { coveredByAny, type SkippedPath } from './skipped.ts';
import { createSkippedPaths, indexFingerprint, type SkippedPaths } from './skipped-paths.ts';
import { type PreviousSnapshot, type NewPaths, findSkipped } from './find-skipped.ts';
import { copyIndex, isIntact, type WorkTree } from '../work-tree.ts';

export interface TreeSnapshotter {
  /**
   * Returns the id of a tree with all current tracked and untracked (not ignored) files, except skipped ones; null if
   * git fails. Files that have not changed since the last time are not read again.
   */
  take(): Promise<string | null>;
  /** Reports that the user's index has changed, but only to match the last tree. */
  committed(): void;
  skipped(): readonly SkippedPath[];
  /** The known nested repositories; some may be gone. */
  nested(): Iterable<string>;
  /** The error of git for the last tree that is not about a single file; null if there was none. */
  problem(): string | null;
}

export interface SnapshotterOptions {
  /** The paths that were skipped before. */
  readonly skipped?: readonly SkippedPath[];
  /** The files that Spool's own output is written to, by `fileKey`. */
  readonly ownOutput?: () => ReadonlySet<string>;
  /** Detects files that look like secrets, which are skipped. */
  readonly redactor?: Redactor;
  readonly ignored?: Pick<IgnoredBefore, 'rules' | 'readRules' | 'has'>;
  /** The last tree of an interrupted run. */
  readonly since?: Pick<PreviousSnapshot, 'treeId' | 'atMs'> | null;
}

/** One tree of the current files. */
export interface TreeSnapshot extends Pick<TreeSnapshotter, 'skipped' | 'nested' | 'problem'> {
  readonly id: string;
}

export const snapshotTree = async (tree: WorkTree, options: SnapshotterOptions = {}): Promise<TreeSnapshot | null> => {
  const snapshotter = createTreeSnapshotter(tree, options);
  const id = await snapshotter.take();
  removeSafely(tree.tempIndex);
  return id === null ? null : { ...snapshotter, id };
};

/** How far the clock of a file system may lag behind. */
const clockLagMs = 20;

/**
 * Takes trees one after the other. Its index at `tempIndex` is reused to find changes. A changed tree is built from the
 * user's index again, because a file in an index is never ignored.
 */
export const createTreeSnapshotter = (tree: WorkTree, options: SnapshotterOptions = {}): TreeSnapshotter => {
  const state = initialState(tree, options);
  const { skipped, links, adder } = state;
  return {
    take: () => takeTree(state),
    committed: () => {
      const now = indexFingerprint(tree);
      if (state.linksReadFrom === state.builtFrom) state.linksReadFrom = now;
      state.builtFrom = now;
    },
    skipped: skipped.all,
    nested: () => {
      const isSkipped = skipped.matcher();
      return [...links.names()].filter((name) => !isSkipped(`${name}/.git`));
    },
    problem: adder.problem,
  };
};

/** What is known from one tree to the next. */
interface SnapshotterState {
  readonly tree: WorkTree;
  readonly options: SnapshotterOptions;
  readonly skipped: SkippedPaths;
  readonly links: Gitlinks;
  readonly hidden: HiddenFiles;
  readonly adder: Adder;
  readonly wasIgnored: PreviousSnapshot['wasIgnored'];
  previous: PreviousSnapshot | null;
  lastTree: string | null;
  /** The fingerprint of the user's index from which the last tree was built. */
  builtFrom: string | null;
  /** The fingerprint of the user's index whose gitlinks are known. */
  linksReadFrom: string | null;
}

const initialState = (tree: WorkTree, options: SnapshotterOptions): SnapshotterState => {
  const skipped = createSkippedPaths(tree, options.skipped ?? []);
  const links = createGitlinks(tree);
  const wasIgnored = options.ignored?.has ?? (() => false);
  return {
    tree,
    options,
    skipped,
    links,
    hidden: createHiddenFiles(tree),
    adder: createAdder(tree, skipped, links),
    wasIgnored,
    previous: options.since ? { ...options.since, wasIgnored, outside: options.ignored?.rules() ?? null } : null,
    lastTree: null,
    builtFrom: null,
    linksReadFrom: null,
  };
};

const takeTree = async (state: SnapshotterState): Promise<string | null> => {
  const { tree, options, skipped, adder, wasIgnored } = state;
  adder.reset();
  if (!isIntact(tree)) return null;
  await skipped.removeOutdated(state.builtFrom);
  const outside = (await options.ignored?.readRules()) ?? null;
  const newPaths = await findNewPaths(state, outside);
  state.lastTree = newPaths && (await treeWith(state, newPaths));
  if (state.lastTree !== null)
    state.previous = { treeId: state.lastTree, outside, wasIgnored, atMs: Date.now() - clockLagMs };
  return state.lastTree;
};

/** Returns the differences to the last tree; null if git fails. `outside` are the ignore rules outside the tree. */
const findNewPaths = async (state: SnapshotterState, outside: string | null): Promise<NewPaths | null> => {
  const { tree, links, adder, previous } = state;
  if (state.lastTree === null || !existsSync(tree.tempIndex)) return findUntracked(state);
  const result = await adder.add(['--dry-run']);
  if (result === null) return null;
  const { added: files, removed } = readVerbose(result.stdout);
  const added = [...files, ...(await links.moved(adder.nested()))];
  const rulesChanged = previous?.outside !== outside || [...added, ...removed].some(isRuleFile);
  return { names: added, removed: removed.length, untracked: false, oldRules: rulesChanged ? previous : null };
};

/** Without a last tree, every untracked file is new. */
const findUntracked = async (state: SnapshotterState): Promise<NewPaths> => {
  const { tree, skipped, links, hidden, previous } = state;
  state.linksReadFrom = indexFingerprint(tree);
  const listed = await git(['ls-files', '-v', '--stage', '--others', '--exclude-standard', '-z'], { cwd: tree.root });
  const lines = hidden.collect(listed.stdout.split('\0').filter(Boolean));
  links.add(gitlinksIn(lines));
  const names = lines.filter((line) => !isTracked.test(line) && !skipped.own.has(line));
  return { names, removed: 0, untracked: true, oldRules: previous };
};

/** Returns the last tree if nothing in it has changed, and builds a new one otherwise; null if git fails. */
const treeWith = async (state: SnapshotterState, newPaths: NewPaths): Promise<string | null> => {
  const { tree, options, skipped, links, lastTree } = state;
  const found = await findSkipped(tree, newPaths, options.ownOutput ?? (() => new Set()));
  skipped.add(found.skipped);
  links.add(found.nested);
  if (options.redactor) await skipped.addSecrets(newPaths, options.redactor);
  const isSame =
    lastTree !== null &&
    indexFingerprint(tree) === state.builtFrom &&
    newPaths.removed === 0 &&
    newPaths.names.every(skipped.matcher());
  if (isSame && existsSync(tree.tempIndex)) return lastTree;
  state.builtFrom = indexFingerprint(tree);
  return buildTree(state);
};

const buildTree = async (state: SnapshotterState): Promise<string | null> => {
  const { tree, skipped, links, hidden, adder } = state;
  await copyIndex(tree.index, tree.tempIndex);
  const ignored = skipped.of('ignored');
  if (ignored.length > 0) await unstage(tree, coveredByAny(ignored));
  const secrets = skipped.of('secret');
  if (secrets.length > 0) await unstage(tree, coveredByAny(secrets), { back: true });
  if (skipped.own.folder !== null) await unstage(tree, skipped.own.has, { back: true });
  if (state.linksReadFrom !== state.builtFrom) await readLinks(state);
  await hidden.show();
  if ((await adder.add()) === null || !(await links.put(adder.nested()))) return null;
  return writeTree(tree);
};

const readLinks = async (state: SnapshotterState): Promise<void> => {
  const { tree, links, hidden } = state;
  state.linksReadFrom = state.builtFrom;
  const call = { cwd: tree.root, env: { GIT_INDEX_FILE: tree.tempIndex } };
  const listed = await git(['ls-files', '-v', '--stage', '-z'], call);
  links.add(gitlinksIn(hidden.collect(listed.stdout.split('\0').filter(Boolean))));
};

/** A line of `ls-files --stage` for a file in the index, without the tag of `-v`. */
const isTracked = /^\d{6} [0-9a-f]{40,64} \d\t/;

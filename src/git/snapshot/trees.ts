import { existsSync } from 'node:fs';
import { removeSafely } from '../../files/safe.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { addAll } from './add.ts';
import { git, type GitResult } from '../call/git.ts';
import { fileAt, pathOf } from '../paths.ts';
import { createGitlinks, gitlinksIn } from './gitlinks.ts';
import { createHiddenFiles } from './hidden.ts';
import { isRuleFile } from './ignored.ts';
import type { IgnoredBefore } from './ignored-before.ts';
import { coveredByAny, type SkippedPath } from './skipped.ts';
import { readRefusals } from './refusals.ts';
import { createSkippedPaths, indexStamp } from './skipped-paths.ts';
import { createFilterFailures } from './filter-failures.ts';
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

/** The maximum number of files that are skipped one by one because git cannot add them. */
const maxRefused = 100;

/**
 * Takes trees one after the other. Its index at `tempIndex` is reused to find changes. A changed tree is built from the
 * user's index again, because a file in an index is never ignored.
 */
export const createTreeSnapshotter = (tree: WorkTree, options: SnapshotterOptions = {}): TreeSnapshotter => {
  const skipped = createSkippedPaths(tree, options.skipped ?? []);
  const links = createGitlinks(tree);
  const hidden = createHiddenFiles(tree);
  /** The stamp of the user's index whose gitlinks are known. */
  let linksIndex: string | null = null;
  const wasIgnored = options.ignored?.has ?? (() => false);
  let previous: PreviousSnapshot | null = options.since
    ? { ...options.since, wasIgnored, outside: options.ignored?.rules() ?? null }
    : null;
  /** The stamp of the user's index from which the last tree was built. */
  let lastIndex: string | null = null;
  let lastTree: string | null = null;
  let problem: string | null = null;

  /** Returns the nested repositories that are checked out and not skipped. */
  const inside = (): string[] => {
    const isSkipped = skipped.matcher();
    return links.present().filter((name) => !isSkipped(`${name}/.git`));
  };

  /** Adds everything that can be added except nested repositories. Returns null if git fails. */
  const add = async (flags: readonly string[] = []): Promise<GitResult | null> => {
    const filterFailures = createFilterFailures(tree);
    for (let tries = 0; tries < maxRefused; tries++) {
      const without = [...skipped.all().map(({ name }) => name), ...inside()].filter((name) =>
        existsSync(pathOf(tree.root, name)),
      );
      const result = await addAll(tree, { without, flags });
      const refusals = readRefusals(result.stderr, (name) => fileAt(tree.root, name) === name);
      skipped.addRefused(refusals.files);
      links.note(refusals.empty);
      problem = refusals.other;
      if (wasAdded(result.code)) return result;
      problem ??= result.stderr.split('\n').at(-1) ?? null;
      if (refusals.files.length === 0) return null;
      const skippedNow = [...without, ...refusals.files.map(({ name }) => name)];
      skipped.addRefused(await filterFailures.find(refusals.files, skippedNow));
    }
    return null;
  };

  /** Returns the differences to the last tree; null if git fails. */
  const findNewPaths = async (outside: string | null): Promise<NewPaths | null> => {
    if (lastTree === null || !existsSync(tree.tempIndex)) return listAll();
    const result = await add(['--dry-run']);
    if (result === null) return null;
    const { added: files, removed } = readVerbose(result.stdout);
    const added = [...files, ...(await links.moved(inside()))];
    const rulesChanged = previous?.outside !== outside || [...added, ...removed].some(isRuleFile);
    return { names: added, removed: removed.length, untracked: false, oldRules: rulesChanged ? previous : null };
  };

  /** Without a last tree, every untracked file is new. */
  const listAll = async (): Promise<NewPaths> => {
    linksIndex = indexStamp(tree);
    const listed = await git(['ls-files', '-v', '--stage', '--others', '--exclude-standard', '-z'], { cwd: tree.root });
    const lines = hidden.note(listed.stdout.split('\0').filter(Boolean));
    links.note(gitlinksIn(lines));
    return { names: lines.filter((line) => !isTracked.test(line)), removed: 0, untracked: true, oldRules: previous };
  };

  const buildTree = async (): Promise<string | null> => {
    await copyIndex(tree.index, tree.tempIndex);
    const ignored = skipped.of('ignored');
    if (ignored.length > 0) await unstage(tree, coveredByAny(ignored));
    const secrets = skipped.of('secret');
    if (secrets.length > 0) await unstage(tree, coveredByAny(secrets), { back: true });
    if (linksIndex !== lastIndex) {
      linksIndex = lastIndex;
      const call = { cwd: tree.root, env: { GIT_INDEX_FILE: tree.tempIndex } };
      const listed = await git(['ls-files', '-v', '--stage', '-z'], call);
      links.note(gitlinksIn(hidden.note(listed.stdout.split('\0').filter(Boolean))));
    }
    await hidden.show();
    if ((await add()) === null || !(await links.put(inside()))) return null;
    return writeTree(tree);
  };

  const takeNow = async (outside: string | null): Promise<string | null> => {
    const newPaths = await findNewPaths(outside);
    if (newPaths === null) return null;
    const found = await findSkipped(tree, newPaths, options.ownOutput ?? (() => new Set()));
    skipped.add(found.skipped);
    links.note(found.nested);
    if (options.redactor) await skipped.addSecrets(newPaths, options.redactor);
    const isSame =
      lastTree !== null &&
      indexStamp(tree) === lastIndex &&
      newPaths.removed === 0 &&
      newPaths.names.every(skipped.matcher());
    if (isSame && existsSync(tree.tempIndex)) return lastTree;
    lastIndex = indexStamp(tree);
    return buildTree();
  };

  return {
    async take() {
      problem = null;
      if (!isIntact(tree)) return null;
      await skipped.removeOutdated(lastIndex);
      const outside = (await options.ignored?.readRules()) ?? null;
      lastTree = await takeNow(outside);
      if (lastTree !== null) previous = { treeId: lastTree, outside, wasIgnored, atMs: Date.now() - clockLagMs };
      return lastTree;
    },
    committed: () => {
      const now = indexStamp(tree);
      if (linksIndex === lastIndex) linksIndex = now;
      lastIndex = now;
    },
    skipped: skipped.all,
    nested: () => {
      const isSkipped = skipped.matcher();
      return [...links.names()].filter((name) => !isSkipped(`${name}/.git`));
    },
    problem: () => problem,
  };
};

/** Everything was added, or everything except unreadable files. */
const wasAdded = (code: number) => code === 0 || code === 1;

/** Parses lines of `add 'name'` and `remove 'name'`; a name may contain line ends. */
const readVerbose = (output: string): { added: string[]; removed: string[] } => {
  const [added, removed]: [string[], string[]] = [[], []];
  for (const line of output.split(/'\n(?=add '|remove '|$)/).filter(Boolean)) {
    if (line.startsWith("add '")) added.push(line.slice(5));
    else removed.push(line.slice(8));
  }
  return { added, removed };
};

/** A line of `ls-files --stage` for a file in the index, without the tag of `-v`. */
const isTracked = /^\d{6} [0-9a-f]{40,64} \d\t/;

/**
 * Removes unwanted staged files that are not in HEAD from the index. With `back`, those in HEAD get their entry of
 * HEAD.
 */
const unstage = async (
  tree: WorkTree,
  isUnwanted: (name: string) => boolean,
  { back = false }: { back?: boolean } = {},
): Promise<void> => {
  const call = { cwd: tree.root, env: { GIT_INDEX_FILE: tree.tempIndex } };
  const staged = (await git(['ls-files', '-z'], call)).stdout.split('\0').filter((name) => name && isUnwanted(name));
  if (staged.length === 0) return;
  const { stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', 'HEAD'], call);
  const committed = new Map(stdout.split('\0').map((line) => [line.slice(line.indexOf('\t') + 1), line]));
  const input = staged.filter((name) => !committed.has(name)).join('\0');
  if (input !== '') await git(['update-index', '--force-remove', '-z', '--stdin'], { ...call, input });
  const lines = back ? staged.flatMap((name) => committed.get(name) ?? []).map((line) => `${line}\0`) : [];
  if (lines.length > 0) await git(['update-index', '-z', '--index-info'], { ...call, input: lines.join('') });
};

const writeTree = async ({ root, tempIndex }: WorkTree): Promise<string | null> => {
  const { code, stdout } = await git(['write-tree'], { cwd: root, env: { GIT_INDEX_FILE: tempIndex } });
  return code === 0 ? stdout.trim() : null;
};

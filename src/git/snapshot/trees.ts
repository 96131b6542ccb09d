import { existsSync, statSync } from 'node:fs';
import { removeSafely } from '../../files/safe.ts';
import { join } from 'node:path';
import type { Redactor } from '../../secrets/redact.ts';
import { addAll } from './add.ts';
import { fileAt, git, type GitResult, pathOf } from '../call/git.ts';
import { createGitlinks, gitlinksIn } from './gitlinks.ts';
import { isRuleFile } from './ignored.ts';
import type { IgnoredBefore } from './ignored-before.ts';
import { coveredByAny, type SkippedPath } from './skipped.ts';
import { readRefusals, type RefusedFile } from './refusals.ts';
import { createFilterFailures } from './filter-failures.ts';
import { isLarge, type PreviousSnapshot, type NewPaths, findSkipped, trackedIn } from './find-skipped.ts';
import { findSecrets } from '../commit-filter.ts';
import { copyIndex, isIntact, fingerprint, type WorkTree } from '../work-tree.ts';

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
  const skipped = new Map((options.skipped ?? []).map((each) => [each.name, each]));
  /** Signatures of files that git refused, and of its settings, by name. */
  const refused = new Map<string, string>();
  /** Signatures of files that look like secrets, by name. */
  const secret = new Map<string, string>();
  const links = createGitlinks(tree);
  /** The stamp of the user's index whose gitlinks are known. */
  let listed: string | null = null;
  const wasIgnored = options.ignored?.has ?? (() => false);
  let previous: PreviousSnapshot | null = options.since
    ? { ...options.since, wasIgnored, outside: options.ignored?.rules() ?? null }
    : null;
  let start: string | null = null;
  let last: string | null = null;
  let problem: string | null = null;
  /** Also changes if the repository was created again. */
  const stamp = () => `${fingerprint(tree.index)} ${statSync(tree.gitDir, { throwIfNoEntry: false })?.ino}`;

  /** Removes entries of files whose reason no longer applies. */
  const dropStale = async () => {
    const large = [...skipped.values()].filter(({ kind }) => kind === 'large').map(({ name }) => name);
    const tracked = large.length === 0 || stamp() === start ? new Set() : new Set(await trackedIn(tree));
    for (const name of large) if (tracked.has(name) || !isLarge(tree, name)) skipped.delete(name);
    for (const [name, settings] of refused) if (settings !== settingsOf(tree, name)) skipped.delete(name);
    for (const [name, then] of secret) if (then !== secretStampOf(name)) skipped.delete(name);
  };

  /** Changes if the file changed, or HEAD may contain it. */
  const secretStampOf = (name: string) => `${fingerprint(pathOf(tree.root, name))} ${stamp()}`;

  const skipSecrets = async ({ names, untracked }: NewPaths, redactor: Redactor): Promise<void> => {
    const open = untracked ? [...names, ...(await changedSinceHead(tree))] : names;
    const isSkipped = coveredByAny([...skipped.values()]);
    const files = open.filter((name) => !name.endsWith('/') && !isSkipped(name));
    for (const { name, why } of await findSecrets(tree, files, redactor)) {
      skipped.set(name, { name, kind: 'secret', why });
      secret.set(name, secretStampOf(name));
    }
  };

  const refuse = (files: readonly RefusedFile[]): void => {
    for (const { name, why } of files.filter((file) => !skipped.has(file.name))) {
      skipped.set(name, { name, kind: 'refused', why });
      refused.set(name, settingsOf(tree, name));
    }
  };

  /** Returns the nested repositories that are checked out and not skipped. */
  const inside = (): string[] => {
    const isSkipped = coveredByAny([...skipped.values()]);
    return links.present().filter((name) => !isSkipped(`${name}/.git`));
  };

  /** Adds everything that can be added except nested repositories. Returns null if git fails. */
  const add = async (flags: readonly string[] = []): Promise<GitResult | null> => {
    const filterFailures = createFilterFailures(tree);
    for (let tries = 0; tries < maxRefused; tries++) {
      const without = [...skipped.keys(), ...inside()].filter((name) => existsSync(pathOf(tree.root, name)));
      const result = await addAll(tree, { without, flags });
      const refusals = readRefusals(result.stderr, (name) => fileAt(tree.root, name) === name);
      refuse(refusals.files);
      links.note(refusals.empty);
      problem = refusals.other;
      if (wasAdded(result.code)) return result;
      problem ??= result.stderr.split('\n').at(-1) ?? null;
      if (refusals.files.length === 0) return null;
      refuse(await filterFailures.find(refusals.files, [...without, ...refusals.files.map(({ name }) => name)]));
    }
    return null;
  };

  /** Returns the differences to the last tree; null if git fails. */
  const findNewPaths = async (outside: string | null): Promise<NewPaths | null> => {
    if (last === null || !existsSync(tree.tempIndex)) return survey();
    const result = await add(['--dry-run']);
    if (result === null) return null;
    const { added: files, removed } = readVerbose(result.stdout);
    const added = [...files, ...(await links.moved(inside()))];
    const rulesChanged = previous?.outside !== outside || [...added, ...removed].some(isRuleFile);
    return { names: added, removed: removed.length, untracked: false, oldRules: rulesChanged ? previous : null };
  };

  const survey = async (): Promise<NewPaths> => {
    listed = stamp();
    const { stdout } = await git(['ls-files', '--stage', '--others', '--exclude-standard', '-z'], { cwd: tree.root });
    const lines = stdout.split('\0').filter(Boolean);
    links.note(gitlinksIn(lines));
    return { names: lines.filter((line) => !isTracked.test(line)), removed: 0, untracked: true, oldRules: previous };
  };

  const buildTree = async (): Promise<string | null> => {
    await copyIndex(tree.index, tree.tempIndex);
    const ignored = [...skipped.values()].filter(({ kind }) => kind === 'ignored');
    if (ignored.length > 0) await unstage(tree, coveredByAny(ignored));
    const secrets = [...skipped.values()].filter(({ kind }) => kind === 'secret');
    if (secrets.length > 0) await unstage(tree, coveredByAny(secrets), { back: true });
    if (listed !== start) {
      listed = start;
      const call = { cwd: tree.root, env: { GIT_INDEX_FILE: tree.tempIndex } };
      links.note(gitlinksIn((await git(['ls-files', '--stage', '-z'], call)).stdout.split('\0')));
    }
    if ((await add()) === null || !(await links.put(inside()))) return null;
    return writeTree(tree);
  };

  const takeNow = async (outside: string | null): Promise<string | null> => {
    const newPaths = await findNewPaths(outside);
    if (newPaths === null) return null;
    const found = await findSkipped(tree, newPaths, options.ownOutput ?? (() => new Set()));
    for (const each of found.skipped) skipped.set(each.name, each);
    links.note(found.nested);
    if (options.redactor) await skipSecrets(newPaths, options.redactor);
    const isSame =
      last !== null &&
      stamp() === start &&
      newPaths.removed === 0 &&
      newPaths.names.every(coveredByAny([...skipped.values()]));
    if (isSame && existsSync(tree.tempIndex)) return last;
    start = stamp();
    return buildTree();
  };

  return {
    async take() {
      problem = null;
      if (!isIntact(tree)) return null;
      await dropStale();
      const outside = (await options.ignored?.readRules()) ?? null;
      last = await takeNow(outside);
      if (last !== null) previous = { treeId: last, outside, wasIgnored, atMs: Date.now() - clockLagMs };
      return last;
    },
    committed: () => {
      const now = stamp();
      if (listed === start) listed = now;
      start = now;
    },
    skipped: () => [...skipped.values()],
    nested: () => {
      const isSkipped = coveredByAny([...skipped.values()]);
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

/** A line of `ls-files --stage` for a file in the index. */
const isTracked = /^\d{6} [0-9a-f]{40,64} \d\t/;

/**
 * Returns files whose index entry or contents differ from HEAD, possibly more; all tracked files if there is no HEAD.
 */
const changedSinceHead = async (tree: WorkTree): Promise<string[]> => {
  const { code, stdout } = await git(['diff-index', '--name-only', '-z', 'HEAD'], { cwd: tree.root });
  return code === 0 ? stdout.split('\0').filter(Boolean) : (await trackedIn(tree)).filter(Boolean);
};

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

/** Changes if git may accept a file that it has refused. */
const settingsOf = ({ root, gitDir }: WorkTree, name: string): string =>
  [pathOf(root, name), join(root, '.gitattributes'), join(gitDir, 'config')].map(fingerprint).join(' ');

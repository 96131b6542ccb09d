import { existsSync } from 'node:fs';
import type { FileDiff } from '../../git/diff.ts';
import { createFolderWatch } from '../../git/snapshot/folder-watch.ts';
import { pathOf, statsAt, toUtf8 } from '../../git/paths.ts';
import { openIgnoredBefore } from '../../git/snapshot/ignored-before.ts';
import {
  covers,
  type SkippedPath,
  parseSkipped,
  type SkipReason,
  stillSkipped,
  withTimes,
} from '../../git/snapshot/skipped.ts';
import { createNestedWatch, type NestedFiles } from '../../git/snapshot/nested.ts';
import { createTreeSnapshotter, type SnapshotterOptions } from '../../git/snapshot/trees.ts';
import { createHeadWatch, type WorkTree } from '../../git/work-tree.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { joinLines, pluralise, someOf } from '../../text/format.ts';
import { createOwnOutput } from './own-output.ts';
import { ensureRunState, type RunContext } from '../context.ts';

/** The state of a work tree. */
export interface Snapshot {
  readonly id: string;
  readonly head: string | null;
  /** The files of nested repositories. */
  readonly nested: NestedFiles;
}

export interface Snapshots {
  /** Takes a snapshot; null if git fails. Announces each skipped path once, and saves the list with the run. */
  take(): Promise<Snapshot | null>;
  askHead(): Promise<string | null>;
  /** See `TreeSnapshotter`. */
  committed(): void;
  problem(): string | null;
  /** Returns the changes inside nested repositories, except those that are in `changes` themselves. */
  inside(snapshots: readonly [Snapshot, Snapshot], changes: readonly FileDiff[]): FileDiff[];
  /**
   * Returns whether a file still exists but is excluded from snapshots. If an earlier snapshot has it, it would look
   * deleted.
   */
  isSkipped(name: string): boolean;
  /** Returns the skipped paths, except files from before the run that have not changed since. */
  skipped(): readonly SkippedPath[];
}

export type SnapshotContext = Pick<RunContext, 'project' | 'plan' | 'lock' | 'emit' | 'notes' | 'redactor' | 'folder'>;

/** `since` is the last tree of an interrupted run. */
export const createSnapshots = (
  context: SnapshotContext,
  tree: WorkTree,
  since: SnapshotterOptions['since'],
): Snapshots => {
  // A file that was too large, or that git refused, may be fine by now, so it is checked again.
  let listed: readonly SkippedPath[] = parseSkipped(context.notes.read('skipped.json'));
  const before = stillSkipped(listed).filter(({ kind }) => kind === 'ignored' || kind === 'output');
  const ignored = openIgnoredBefore(tree, context.notes);
  const trees = createTreeSnapshotter(tree, {
    skipped: before,
    ownOutput: createOwnOutput(),
    redactor: context.redactor,
    ignored,
    since: since ?? null,
  });
  const nested = createNestedWatch(tree);
  const folders = createFolderWatch(tree);
  const askHead = createHeadWatch(tree);
  const announced = new Set(before.map(({ name }) => name));
  let written = '[]';
  /** The stamps of files from before the run, which are not its uncommitted work until they change. */
  let skippedAtStart: ReadonlyMap<string, string> | null = context.plan.firstIteration === 1 ? null : new Map();

  const isThere = (name: string) => existsSync(pathOf(tree.root, name));
  const stampOf = (name: string): string => {
    const stats = statsAt(tree.root, name);
    return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : '';
  };

  const recordSkipped = (treeId: string | null): void => {
    const list = trees.skipped();
    if (treeId !== null) listed = withTimes(listed, list, { treeId, isThere });
    skippedAtStart ??= new Map(list.map(({ name }) => [name, stampOf(name)]));
    const text = JSON.stringify(listed);
    if (text === written) return;
    written = text;
    ensureRunState(context);
    context.notes.write('skipped.json', listed);
    const fresh = list.filter(({ name }) => !announced.has(name));
    for (const { name } of fresh) announced.add(name);
    const isCommitted = (name: string) => context.plan.commit && !skippedAtStart?.has(name);
    for (const text of noticesFor(fresh, { isCommitted, redactor: context.redactor }))
      context.emit({ type: 'notice', text });
  };

  /** Announces new files in folders that are skipped as a whole. */
  const announceNewInFolders = async (): Promise<void> => {
    const whole = trees.skipped().filter(({ name }) => name.endsWith('/'));
    const names = await folders.findNew(whole.map(({ name }) => name));
    if (names.length === 0) return;
    const why = 'in a folder that was ignored before the ignore rules changed';
    context.emit({ type: 'notice', text: `Excluded from commits and checkpoints: ${namesOf(names)} (${why}).` });
  };

  return {
    async take() {
      const [id, head] = await Promise.all([trees.take(), askHead()]);
      recordSkipped(id);
      // The old ignore rules are needed until the paths that they ignored are on the list of skipped paths.
      if (id !== null) await ignored.save(() => ensureRunState(context));
      await announceNewInFolders();
      return id === null ? null : { id, head, nested: await nested.read(trees.nested()) };
    },
    askHead,
    committed: trees.committed,
    problem: trees.problem,
    inside: ([from, to], changes) => {
      const counted = new Set(changes.map(({ name }) => name));
      return nested.diff(from.nested, to.nested).filter(({ name }) => !counted.has(name));
    },
    skipped: () => trees.skipped().filter(({ name }) => skippedAtStart?.get(name) !== stampOf(name)),
    isSkipped: (name) => isThere(name) && trees.skipped().some((each) => covers(each, name)),
  };
};

const maxNames = 10;

interface NoticeOptions {
  /** Whether a path would be committed if it were not skipped. */
  readonly isCommitted: (name: string) => boolean;
  readonly redactor: Redactor;
}

const noticesFor = (fresh: readonly SkippedPath[], { isCommitted, redactor }: NoticeOptions): string[] => {
  const of = (kind: SkipReason) => fresh.filter((each) => each.kind === kind);
  const together = (['ignored', 'output'] as const).map(of).filter(({ length }) => length > 0);
  const refused = of('refused');
  const more =
    refused.length > maxNames ? [`Skipped ${pluralise(refused.length - maxNames, 'more file')}: git add failed.`] : [];
  return [
    ...together.map(
      (list) => `Excluded from commits and checkpoints: ${namesOf(list.map(({ name }) => name))} (${list[0]!.why}).`,
    ),
    ...of('secret').map(
      ({ name, why }) => `Not ${isCommitted(name) ? 'committed' : 'in checkpoints'}: ${nameOf(name)} (${why}).`,
    ),
    ...of('large').map(({ name, why }) => `Not in checkpoints: ${nameOf(name)} (${why}).`),
    ...refused
      .slice(0, maxNames)
      .map(({ name, why }) => `Skipped ${nameOf(name)}: git add failed: ${redactor.oneLine(why)}`),
    ...more,
  ];
};

const namesOf = (names: readonly string[]): string => someOf(names.map(toUtf8), names.length, maxNames);

const nameOf = (name: string) => joinLines(toUtf8(name));

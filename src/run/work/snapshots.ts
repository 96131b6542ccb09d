import type { FileDiff } from '../../git/diff.ts';
import { createFolderWatch } from '../../git/tree-snapshots/folder-watch.ts';
import { openIgnoredBefore } from '../../git/tree-snapshots/ignored-before.ts';
import { covers, type SkippedPath } from '../../git/tree-snapshots/skipped.ts';
import { createNestedWatch, type NestedFiles } from '../../git/tree-snapshots/nested.ts';
import { createTreeSnapshotter, type SnapshotterOptions } from '../../git/tree-snapshots/snapshotter.ts';
import { createHeadWatch, type WorkTree } from '../../git/work-tree.ts';
import { ensureRunState, type RunContext } from '../context.ts';
import { createOwnOutput } from './own-output.ts';
import { isThere, openSkippedList } from './skipped-list.ts';

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

export type SnapshotContext = Pick<
  RunContext,
  'project' | 'plan' | 'lock' | 'emit' | 'fileLists' | 'redactor' | 'folder'
>;

/** `since` is the last tree of an interrupted run. */
export const createSnapshots = (
  context: SnapshotContext,
  tree: WorkTree,
  since: SnapshotterOptions['since'],
): Snapshots => {
  const skippedList = openSkippedList(context, tree);
  const ignored = openIgnoredBefore(tree, context.fileLists);
  const trees = createTreeSnapshotter(tree, {
    skipped: skippedList.before,
    ownOutput: createOwnOutput(),
    redactor: context.redactor,
    ignored,
    since: since ?? null,
  });
  const nested = createNestedWatch(tree);
  const folders = createFolderWatch(tree);
  const askHead = createHeadWatch(tree);
  return {
    async take() {
      const [id, head] = await Promise.all([trees.take(), askHead()]);
      skippedList.record(trees.skipped(), id);
      // The old ignore rules are needed until the paths that they ignored are on the list of skipped paths.
      if (id !== null) await ignored.save(() => ensureRunState(context));
      skippedList.announceInFolders(await folders.findNew(foldersIn(trees.skipped())));
      return id === null ? null : { id, head, nested: await nested.read(trees.nested()) };
    },
    askHead,
    committed: trees.committed,
    problem: trees.problem,
    inside: ([from, to], changes) => {
      const counted = new Set(changes.map(({ name }) => name));
      return nested.diff(from.nested, to.nested).filter(({ name }) => !counted.has(name));
    },
    skipped: () => trees.skipped().filter(skippedList.hasChanged),
    isSkipped: (name) => isThere(tree, name) && trees.skipped().some((each) => covers(each, name)),
  };
};

/** Folders that are skipped as a whole. */
const foldersIn = (skipped: readonly SkippedPath[]): string[] =>
  skipped.map(({ name }) => name).filter((name) => name.endsWith('/'));

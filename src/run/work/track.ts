import { createTreeDiff, type FileDiff, summariseDiff } from '../../git/diff.ts';
import { saveWork } from '../../git/checkpoint.ts';
import { toUtf8 } from '../../git/paths.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import type { DiffStat, Uncommitted } from '../../ralph/events.ts';
import type { DoneWork, IterationChanges, LoopHost } from '../../ralph/loop-host.ts';
import { finishIteration, type StartedIteration, type TreeDiff } from './finish-iteration.ts';
import { createProblemReporter, goneAtEnd, isGone, warnIfDetached } from './git-problems.ts';
import { createIndexRefresher } from './index-refresher.ts';
import { stillLost } from './lost-edits.ts';
import { openUncommittedList } from './uncommitted-list.ts';
import { type Tracking, openTracking, savedCheckpoints, type TrackingContext } from './open-tracking.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';
import { findUncommitted } from './uncommitted.ts';

export interface WorkTracker {
  readonly track: LoopHost['trackWork'];
  readonly uncommitted: LoopHost['uncommitted'];
  readonly changed: LoopHost['changed'];
  /**
   * Saves the files in the middle of an iteration. Returns the commit; null if nothing has changed since the last time
   * or the beginning of the iteration, or if git fails. One at a time, and only between `track` and its result.
   */
  save(): Promise<string | null>;
  /** Makes the next iteration take a new snapshot, because files may have changed since the last one. */
  invalidate(): void;
  /** Saves what the gate of an iteration has changed: its commands run what the agent has written. */
  afterGate(iteration: number): Promise<void>;
}

/** Tracks what an iteration changes in the work tree, saves it as a checkpoint, and commits it. */
export const createWorkTracker = (context: TrackingContext): WorkTracker =>
  context.tree === null ? withoutGit : createGitTracker(context, context.tree);

const nothing: IterationChanges = { git: null, commit: null, commitProblem: null, checkpoint: null };

const withoutGit: WorkTracker = {
  track: async () => async () => nothing,
  uncommitted: async () => [],
  changed: async () => null,
  save: async () => null,
  invalidate: () => {},
  afterGate: async () => {},
};

const createGitTracker = (context: TrackingContext, tree: WorkTree): WorkTracker => {
  if (context.plan.commit) warnIfDetached(tree, context.emit);
  const state = initialState(context, tree);
  return {
    track: async (iteration) => {
      const started = await startIteration(state, iteration);
      return started === null ? async () => nothing : (done) => endIteration(state, started, done);
    },
    save: () => saveNow(state),
    invalidate: () => {
      state.latest = null;
    },
    afterGate: (iteration) => saveAfterGate(state, iteration),
    uncommitted: () => uncommittedWork(state),
    changed: () => changedByRun(state),
  };
};

/** What is known from one iteration to the next. */
interface TrackerState extends Pick<
  StartedIteration,
  'index' | 'uncommittedList' | 'diff' | 'announced' | 'touched' | 'detachedCommits' | 'lostEdits'
> {
  readonly context: TrackingContext;
  readonly tree: WorkTree;
  readonly reportProblem: ReturnType<typeof createProblemReporter>;
  readonly nestedRepositories: Set<string>;
  /** null before the first iteration. */
  opened: Tracking | null;
  /** Why the changes of an iteration are unknown; null if all are known. */
  unknown: string | null;
  /** The last snapshot, if nothing has changed since; null otherwise. */
  latest: Snapshot | null;
  /** The tree at the beginning of the iteration, or as it was saved last. */
  savedTree: string | null;
}

const initialState = (context: TrackingContext, tree: WorkTree): TrackerState => ({
  context,
  tree,
  index: createIndexRefresher(tree, context.emit),
  uncommittedList: openUncommittedList(context.fileLists),
  diff: createTreeDiff(tree),
  announced: new Set(),
  touched: new Set(),
  detachedCommits: [],
  lostEdits: new Map(),
  reportProblem: createProblemReporter(tree, context),
  nestedRepositories: new Set(),
  opened: null,
  unknown: null,
  latest: null,
  savedTree: null,
});

/** Returns null if git fails. */
const startIteration = async (state: TrackerState, iteration: number): Promise<StartedIteration | null> => {
  const { context, tree, index, uncommittedList, diff, announced, touched, detachedCommits, lostEdits } = state;
  await index.beforeAgent();
  const { checkpoints, snapshots, dirtyAtStart, userEdits, interrupted } = await ensureOpened(state);
  const before = state.latest ?? (await snapshots.take());
  state.latest = null;
  if (before === null) {
    await noteUnknown(state, snapshots, iteration);
    return null;
  }
  await checkpoints.before(iteration, before.id);
  state.savedTree = before.id;
  return {
    ...context,
    tree,
    diff,
    iteration,
    before,
    beginning: checkpoints.newestWith(before.id),
    snapshots,
    index,
    checkpoints,
    announced,
    uncommittedList,
    touched,
    detachedCommits,
    lostEdits,
    dirtyAtStart,
    userEdits,
    interrupted: iteration === context.plan.firstIteration ? interrupted : new Set(),
  };
};

const ensureOpened = async (state: TrackerState): Promise<Tracking> => {
  if (state.opened !== null) return state.opened;
  state.opened = await openTracking(state.context, state.tree, state.uncommittedList);
  state.latest = state.opened.first;
  return state.opened;
};

const endIteration = async (
  state: TrackerState,
  started: StartedIteration,
  done: DoneWork,
): Promise<IterationChanges> => {
  const { before, snapshots } = started;
  const finished = await finishIteration(started, done);
  if (finished === null) {
    await noteUnknown(state, snapshots, started.iteration);
    return nothing;
  }
  const { changes, after } = finished;
  for (const path of [...before.nested.keys(), ...after.nested.keys()]) state.nestedRepositories.add(toUtf8(path));
  // Without a commit, no hook has run, so this snapshot is still valid for the next iteration.
  if (changes.commit === null && changes.commitProblem === null) state.latest = after;
  return changes;
};

const noteUnknown = async (state: TrackerState, snapshots: Snapshots, iteration: number): Promise<void> => {
  const why = await state.reportProblem(snapshots, iteration);
  state.unknown ??= why;
};

const saveNow = async (state: TrackerState): Promise<string | null> => {
  const now = (await state.opened?.snapshots.take()) ?? null;
  if (now === null || now.id === state.savedTree) return null;
  state.savedTree = now.id;
  return saveWork(state.tree, { change: state.context.plan.change, treeId: now.id, head: now.head });
};

const saveAfterGate = async ({ opened }: TrackerState, iteration: number): Promise<void> => {
  if (opened === null) return;
  const now = await opened.snapshots.take();
  if (now !== null) await opened.checkpoints.before(iteration + 1, now.id, true);
};

const uncommittedWork = async (state: TrackerState): ReturnType<LoopHost['uncommitted']> => {
  const { context, tree, index, opened, uncommittedList, touched, detachedCommits, lostEdits } = state;
  if (isGone(tree)) return [unknownWork(goneAtEnd(tree))];
  await index.atEnd();
  if (opened === null) return [];
  const unknown = state.unknown === null ? [] : [unknownWork(state.unknown)];
  const { snapshots } = opened;
  const lost = lostEdits.size === 0 ? [] : await stillLost({ ...context, tree, lostEdits }, await snapshots.take());
  if (!context.plan.commit) return [...unknown, ...lost];
  const { redactor } = context;
  return [
    ...unknown,
    ...lost,
    ...(await findUncommitted({ tree, snapshots, uncommittedList, touched, detachedCommits, redactor })),
  ];
};

const unknownWork = (why: string): Uncommitted => ({ why, files: [], count: 0 });

const changedByRun = async ({
  context,
  tree,
  opened,
  diff,
  nestedRepositories,
  unknown,
}: TrackerState): Promise<DiffStat | null> => {
  if (isGone(tree) || unknown !== null) return null;
  // If only the gate of a resumed run was left to do, nothing has been tracked.
  const checkpoints = opened?.checkpoints ?? (await savedCheckpoints(context, tree));
  const ranges = await checkpoints.ranges();
  const inNested = context.view().files.filter((name) => isInside(name, nestedRepositories));
  return ranges && diffStat(diff, ranges, inNested);
};

const isInside = (name: string, folders: ReadonlySet<string>): boolean =>
  [...folders].some((folder) => name === folder || name.startsWith(`${folder}/`));

/** Adds up the differences, and the files in nested repositories, which no tree has. Each file counts once. */
const diffStat = async (
  diff: TreeDiff,
  ranges: readonly (readonly [string, string])[],
  inNested: readonly string[],
): Promise<DiffStat | null> => {
  const changes: FileDiff[] = [];
  for (const [from, to] of ranges) {
    const found = await diff(from, to);
    if (found === null) return null;
    changes.push(...found);
  }
  const { insertions, deletions } = summariseDiff(changes, []);
  return { files: new Set([...changes.map(({ name }) => toUtf8(name)), ...inNested]).size, insertions, deletions };
};

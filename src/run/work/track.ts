import { existsSync } from 'node:fs';
import { createTreeDiff, type FileDiff, summariseDiff } from '../../git/diff.ts';
import { checkpointRecorder } from '../../store/user-record/checkpoints.ts';
import { type Checkpoints, openCheckpoints, saveWork } from '../../git/checkpoint.ts';
import { whyNoGit } from '../../git/call/guards.ts';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import { commitsBetween, isDetached, isIntact, operationInProgress, type WorkTree } from '../../git/work-tree.ts';
import type { DiffStat } from '../../ralph/events.ts';
import type { DoneWork, IterationChanges, LoopHost } from '../../ralph/loop-host.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { commitSubject } from './commit-subject.ts';
import { type CommitContext, commitWork, type IterationWork, noticeOnce } from './commit.ts';
import { addSyncedEdits } from '../workspace/copies.ts';
import { recordLeftBehind, recallUncommitted } from './interrupted.ts';
import type { RunContext } from '../context.ts';
import { createIndexRefresher } from './index-refresher.ts';
import { createSnapshots, type Snapshot, type SnapshotContext, type Snapshots } from './snapshots.ts';
import { type Ledger, openLedger } from './ledger.ts';
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

type WorkContext = CommitContext &
  SnapshotContext &
  Pick<RunContext, 'tree' | 'copies' | 'isResumed' | 'crashedMidIteration' | 'env' | 'project' | 'view'>;

/** Tracks what an iteration changes in the work tree, saves it as a checkpoint, and commits it. */
export const createWorkTracker = (context: WorkContext): WorkTracker =>
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

const createGitTracker = (context: WorkContext, tree: WorkTree): WorkTracker => {
  const { emit } = context;
  if (context.plan.commit) warnIfDetached(tree, emit);
  const announced = new Set<string>();
  const index = createIndexRefresher(tree, emit);
  const ledger = openLedger(context.notes);
  const reportProblem = createProblemReporter(tree, context);
  const diff = createTreeDiff(tree);
  const touched = new Set<string>();
  const detachedCommits: IterationWork['detachedCommits'] = [];
  const nestedRepositories = new Set<string>();
  let opened: Opened | null = null;
  let latest: Snapshot | null = null;
  /** The tree at the beginning of the iteration, or as it was saved last. */
  let savedTree: string | null = null;
  return {
    save: async () => {
      const now = (await opened?.snapshots.take()) ?? null;
      if (now === null || now.id === savedTree) return null;
      savedTree = now.id;
      return saveWork(tree, { change: context.plan.change, treeId: now.id, head: now.head });
    },
    invalidate: () => {
      latest = null;
    },
    afterGate: async (iteration) => {
      const now = (await opened?.snapshots.take()) ?? null;
      if (now !== null) await opened!.checkpoints.before(iteration + 1, now.id, true);
    },
    track: async (iteration) => {
      await index.beforeAgent();
      if (opened === null) {
        opened = await openFirst(context, tree, ledger);
        latest = opened.first;
      }
      const { checkpoints, snapshots, dirtyAtStart } = opened;
      const interrupted = iteration === context.plan.firstIteration ? opened.interrupted : new Set<string>();
      const before = latest ?? (await snapshots.take());
      latest = null;
      if (before === null) {
        await reportProblem(snapshots);
        return async () => nothing;
      }
      await checkpoints.before(iteration, before.id);
      savedTree = before.id;
      const started: StartedIteration = {
        ...context,
        tree,
        diff,
        iteration,
        before,
        snapshots,
        index,
        checkpoints,
        announced,
        ledger,
        touched,
        detachedCommits,
        dirtyAtStart,
        interrupted,
      };
      return async (done) => {
        const finished = await finishIteration(started, done);
        if (finished === null) {
          await reportProblem(snapshots);
          return nothing;
        }
        const { changes, after } = finished;
        for (const path of [...before.nested.keys(), ...after.nested.keys()]) nestedRepositories.add(toUtf8(path));
        // Without a commit, no hook has run, so this snapshot is still valid for the next iteration.
        if (changes.commit === null && changes.commitProblem === null) latest = after;
        return changes;
      };
    },
    uncommitted: async () => {
      if (isGone(tree)) return [{ why: gone.replace(/\.$/, ''), files: [], count: 0 }];
      await index.atEnd();
      if (!context.plan.commit || opened === null) return [];
      const { redactor } = context;
      return findUncommitted({ tree, snapshots: opened.snapshots, ledger, touched, detachedCommits, redactor });
    },
    changed: async () => {
      if (isGone(tree)) return null;
      // If only the gate of a resumed run was left to do, nothing has been tracked.
      const checkpoints = opened?.checkpoints ?? (await savedCheckpoints(context, tree));
      const ranges = await checkpoints.ranges();
      const inNested = context.view().files.filter((name) => isInside(name, nestedRepositories));
      return ranges && diffStat(diff, ranges, inNested);
    },
  };
};

type StartedIteration = WorkContext &
  Omit<IterationWork, 'subject' | 'ticked'> & {
    /** All files that the run has changed. */
    readonly touched: Set<string>;
    readonly diff: TreeDiff;
  };

type TreeDiff = ReturnType<typeof createTreeDiff>;

interface FinishedIteration {
  readonly changes: IterationChanges;
  /** The work tree before anything was committed. */
  readonly after: Snapshot;
}

/** Saves what an iteration has changed as a checkpoint, and commits it. Returns null if git fails. */
const finishIteration = async (
  started: StartedIteration,
  { lastWords, ticked }: DoneWork,
): Promise<FinishedIteration | null> => {
  const { plan, redactor, snapshots, ledger, iteration } = started;
  const after = await snapshots.take();
  if (after === null) return null;
  if (plan.commit) await addSyncedEdits(started, ledger);
  const subject = (columns: number) => commitSubject({ ticked, lastWords, iteration }, redactor, columns);
  const changes = await saveChanges({ ...started, subject, ticked }, after);
  return changes && { changes, after };
};

const saveChanges = async (
  work: IterationWork & Pick<StartedIteration, 'touched' | 'diff'>,
  after: Snapshot,
): Promise<IterationChanges | null> => {
  const { tree, snapshots, before, checkpoints, iteration } = work;
  const all = await work.diff(before.id, after.id);
  if (all === null) return null;
  const changes = all.filter(({ name }) => !snapshots.isSkipped(name));
  for (const { name, nested, after: now } of changes)
    if (!nested && work.dirtyAtStart.get(name) !== now) work.touched.add(name);
  const inside = snapshots.inside([before, after], changes);
  const git = summariseDiff([...changes, ...inside], await commitsBetween(tree, [before.head, after.head]));
  const checkpoint = await checkpoints.after(iteration, after.id);
  if (checkpoint === null) work.emit({ type: 'notice', text: 'git could not save a checkpoint of this iteration.' });
  if (work.plan.commit) for (const name of repositoriesOf(inside, after)) noticeOnce(work, name, nestedNotice(name));
  return { git, checkpoint, ...(await commitWork(work, after, { changes, git: summariseDiff(changes, git.commits) })) };
};

const repositoriesOf = (inside: readonly FileDiff[], { nested }: Snapshot): string[] =>
  [...nested.keys()].filter((path) => inside.some(({ name }) => name === path || name.startsWith(`${path}/`)));

const nestedNotice = (name: string) => `Not committed: ${toUtf8(name)} (nested repository).`;

/** Opens the checkpoints and takes the first snapshot. Restores what an interrupted run left uncommitted. */
const openFirst = async (context: WorkContext, tree: WorkTree, ledger: Ledger): Promise<Opened> => {
  const { plan, workspace } = context;
  if (plan.commit) await recallUncommitted(context, tree, ledger);
  const { crashedTree, snapshots, checkpoints } = await openCheckpointsOf(context, tree);
  const now = await snapshots.take();
  if (now === null) return { snapshots, checkpoints, first: null, dirtyAtStart: new Map(), interrupted: new Set() };
  // In a worktree, all changes since an interrupted iteration began are its own.
  const left =
    crashedTree === null
      ? { treeId: now.id, own: new Set<string>() }
      : workspace.worktree !== null
        ? { treeId: crashedTree, own: new Set<string>() }
        : await recordLeftBehind({ ...context, tree, ledger }, crashedTree, now.id);
  const first = { ...now, id: left.treeId };
  const dirtyAtStart = plan.firstIteration === 1 ? await uncommittedIn(tree, first) : new Map<string, string>();
  return { snapshots, checkpoints, first, dirtyAtStart, interrupted: left.own };
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

/** Returns the mode and id (`100644 <id>`) of every file that differs from HEAD, by name. */
const uncommittedIn = async (tree: WorkTree, { head, id }: Snapshot): Promise<ReadonlyMap<string, string>> => {
  const open = head === null ? null : await rawDiff(tree.root, head, id);
  return new Map([...(open ?? [])].map(([name, { new: now }]) => [name, now]));
};

/** Returns whether .git was deleted. */
const isGone = (tree: WorkTree) => !isIntact(tree) || !existsSync(tree.gitDir);

/** Returns a function that reports why git failed. A permanent problem is reported once. */
const createProblemReporter = (
  tree: WorkTree,
  { emit, redactor }: Pick<RunContext, 'emit' | 'redactor'>,
): ((snapshots: Snapshots) => Promise<void>) => {
  let isAnnounced = false;
  return async (snapshots) => {
    const why = await whyNoGit(tree.root);
    const last = isGone(tree) ? gone : why && refused(redactor.oneLine(why));
    if (last === null) return emit({ type: 'notice', text: unreadable(snapshots, redactor) });
    if (!isAnnounced) emit({ type: 'notice', text: last });
    isAnnounced = true;
  };
};

const unreadable = (snapshots: Snapshots, redactor: Redactor): string => {
  const why = snapshots.problem();
  const text = 'git cannot read the work tree: no checkpoint or commit for this iteration.';
  return why === null ? text : `${text} git says: ${redactor.oneLine(why)}`;
};

const refused = (why: string): string =>
  `${why}: changes are no longer tracked or committed. Fix it, then start again.`;

const gone = '.git was deleted: changes are no longer tracked or committed.';

const warnIfDetached = (tree: WorkTree, emit: RunContext['emit']): void => {
  // Does not run git. Nothing is committed during a rebase.
  if (!isDetached(tree) || operationInProgress(tree) !== null) return;
  emit({
    type: 'notice',
    text: 'Detached HEAD: commits are not on a branch. To keep them: git switch -c <name>',
  });
};

interface Opened {
  readonly snapshots: Snapshots;
  readonly checkpoints: Checkpoints;
  /** null if git fails. */
  readonly first: Snapshot | null;
  readonly dirtyAtStart: IterationWork['dirtyAtStart'];
  /** The files that the iteration which is repeated first had changed before it was interrupted. */
  readonly interrupted: ReadonlySet<string>;
}

interface OpenedCheckpoints extends Pick<Opened, 'snapshots' | 'checkpoints'> {
  /** The tree of the last checkpoint before an interrupted iteration; null if none was interrupted. */
  readonly crashedTree: string | null;
}

const openCheckpointsOf = async (context: WorkContext, tree: WorkTree): Promise<OpenedCheckpoints> => {
  const checkpoints = await savedCheckpoints(context, tree);
  const crashedTree = context.crashedMidIteration ? checkpoints.lastTree() : null;
  return { snapshots: createSnapshots(context, tree, checkpoints.found), checkpoints, crashedTree };
};

const savedCheckpoints = ({ plan, project, env, isResumed }: WorkContext, tree: WorkTree): Promise<Checkpoints> =>
  openCheckpoints(tree, {
    ...plan,
    finished: plan.firstIteration - 1,
    isResumed,
    record: checkpointRecorder(project, plan.change, env),
  });

import { type Checkpoints, openCheckpoints } from '../../git/checkpoint.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { checkpointRecorder } from '../../store/user-state/checkpoints.ts';
import type { RunContext } from '../context.ts';
import type { CommitContext, IterationWork } from './commit.ts';
import { recordLeftBehind, recallUncommitted } from './interrupted.ts';
import type { UncommittedList } from './uncommitted-list.ts';
import { createSnapshots, type Snapshot, type SnapshotContext, type Snapshots } from './snapshots.ts';

export type TrackingContext = CommitContext &
  SnapshotContext &
  Pick<RunContext, 'tree' | 'copies' | 'isResumed' | 'crashedMidIteration' | 'env' | 'project' | 'view'>;

export interface Tracking {
  readonly snapshots: Snapshots;
  readonly checkpoints: Checkpoints;
  /** null if git fails. */
  readonly first: Snapshot | null;
  readonly dirtyAtStart: IterationWork['dirtyAtStart'];
  /** The versions of the files with uncommitted changes of the user, by git name. */
  readonly userEdits: ReadonlyMap<string, string>;
  /** The files that the iteration which is repeated first had changed before it was interrupted. */
  readonly interrupted: ReadonlySet<string>;
}

/** Opens the checkpoints and takes the first snapshot. Restores what an interrupted run left uncommitted. */
export const openTracking = async (
  context: TrackingContext,
  tree: WorkTree,
  uncommittedList: UncommittedList,
): Promise<Tracking> => {
  const { plan, workspace } = context;
  if (plan.commit) await recallUncommitted(context, tree, uncommittedList);
  const { crashedTree, snapshots, checkpoints } = await openCheckpointsOf(context, tree);
  const now = await snapshots.take();
  const unknown = new Map<string, string>();
  if (now === null)
    return { snapshots, checkpoints, first: null, dirtyAtStart: unknown, userEdits: unknown, interrupted: new Set() };
  // In a worktree, all changes since an interrupted iteration began are its own.
  const left =
    crashedTree === null
      ? { treeId: now.id, own: new Set<string>() }
      : workspace.worktree !== null
        ? { treeId: crashedTree, own: new Set<string>() }
        : await recordLeftBehind({ ...context, tree, uncommittedList }, crashedTree, now.id);
  const first = { ...now, id: left.treeId };
  const isFirst = plan.firstIteration === 1;
  // A worktree has copies of the user's files. A resumed run without commits cannot tell its own work from the user's.
  const mayHaveEdits = workspace.worktree === null && (isFirst || plan.commit);
  const dirty = isFirst || mayHaveEdits ? await uncommittedIn(tree, first) : unknown;
  const own = new Set(uncommittedList.all());
  return {
    snapshots,
    checkpoints,
    first,
    dirtyAtStart: isFirst ? dirty : unknown,
    userEdits: mayHaveEdits ? new Map([...dirty].filter(([name]) => !own.has(name))) : unknown,
    interrupted: left.own,
  };
};

interface OpenedCheckpoints extends Pick<Tracking, 'snapshots' | 'checkpoints'> {
  /** The tree of the last checkpoint before an interrupted iteration; null if none was interrupted. */
  readonly crashedTree: string | null;
}

const openCheckpointsOf = async (context: TrackingContext, tree: WorkTree): Promise<OpenedCheckpoints> => {
  const checkpoints = await savedCheckpoints(context, tree);
  const crashedTree = context.crashedMidIteration ? checkpoints.lastTree() : null;
  return { snapshots: createSnapshots(context, tree, checkpoints.found), checkpoints, crashedTree };
};

export const savedCheckpoints = (
  { plan, project, env, isResumed }: TrackingContext,
  tree: WorkTree,
): Promise<Checkpoints> =>
  openCheckpoints(tree, {
    ...plan,
    finishedIterations: plan.firstIteration - 1,
    isResumed,
    record: checkpointRecorder(project, plan.change, env),
  });

/** Returns the mode and id (`100644 <id>`) of every file that differs from HEAD, by name. */
const uncommittedIn = async (tree: WorkTree, { head, id }: Snapshot): Promise<ReadonlyMap<string, string>> => {
  const open = head === null ? null : await rawDiff(tree.root, head, id);
  return new Map([...(open ?? [])].map(([name, { new: now }]) => [name, now]));
};

import { type createTreeDiff, type FileDiff, summariseDiff } from '../../git/diff.ts';
import { toUtf8 } from '../../git/paths.ts';
import { commitsBetween } from '../../git/work-tree.ts';
import type { DoneWork, IterationChanges } from '../../ralph/loop-host.ts';
import { addSyncedEdits } from '../workspace/copies.ts';
import { commitSubject } from './commit-subject.ts';
import { commitWork, type IterationWork, noticeOnce } from './commit.ts';
import { type EditedIteration, reportLostEdits } from './lost-edits.ts';
import type { TrackingContext } from './open-tracking.ts';
import type { Snapshot } from './snapshots.ts';

export type StartedIteration = TrackingContext &
  Omit<IterationWork, 'subject' | 'ticked' | 'lost'> &
  EditedIteration & {
    /** All files that the run has changed. */
    readonly touched: Set<string>;
    readonly diff: TreeDiff;
  };

export type TreeDiff = ReturnType<typeof createTreeDiff>;

interface FinishedIteration {
  readonly changes: IterationChanges;
  /** The work tree before anything was committed. */
  readonly after: Snapshot;
}

/** Saves what an iteration has changed as a checkpoint, and commits it. Returns null if git fails. */
export const finishIteration = async (
  started: StartedIteration,
  { lastWords, ticked }: DoneWork,
): Promise<FinishedIteration | null> => {
  const { plan, redactor, snapshots, uncommittedList, iteration } = started;
  const after = await snapshots.take();
  if (after === null) return null;
  if (plan.commit) await addSyncedEdits(started, uncommittedList);
  const subject = (columns: number) => commitSubject({ ticked, lastWords, iteration }, redactor, columns);
  const changes = await saveChanges({ ...started, subject, ticked }, after);
  return changes && { changes, after };
};

const saveChanges = async (
  work: Omit<IterationWork, 'lost'> & StartedIteration,
  after: Snapshot,
): Promise<IterationChanges | null> => {
  const { tree, snapshots, before, checkpoints, iteration } = work;
  const all = await work.diff(before.id, after.id);
  if (all === null) return null;
  const changes = all.filter(({ name }) => !snapshots.isSkipped(name));
  const inside = snapshots.inside([before, after], changes);
  const git = summariseDiff([...changes, ...inside], await commitsBetween(tree, [before.head, after.head]));
  const checkpoint = await checkpoints.after(iteration, after.id);
  if (checkpoint === null) work.emit({ type: 'notice', text: 'git could not save a checkpoint of this iteration.' });
  if (work.plan.commit) for (const name of repositoriesOf(inside, after)) noticeOnce(work, name, nestedNotice(name));
  const lost = await reportLostEdits(work, after, { changes, commits: git.commits });
  for (const { name, nested, after: now } of changes)
    if (!nested && work.dirtyAtStart.get(name) !== now && !lost.has(name)) work.touched.add(name);
  const changed = { changes, git: summariseDiff(changes, git.commits) };
  return { git, checkpoint, ...(await commitWork({ ...work, lost }, after, changed)) };
};

const repositoriesOf = (inside: readonly FileDiff[], { nested }: Snapshot): string[] =>
  [...nested.keys()].filter((path) => inside.some(({ name }) => name === path || name.startsWith(`${path}/`)));

const nestedNotice = (name: string) => `Not committed: ${toUtf8(name)} (nested repository).`;

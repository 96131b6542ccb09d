import { changeOf, deletedChanges, listChanges } from '../changes/sources.ts';
import { lastSaved, tasksOf as tasksOfChange, tasksOfRun } from '../changes/tasks/current.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { asUserError } from '../errors.ts';
import type { TaskCount } from '../ralph/record.ts';
import { type RunRow, withoutRun } from '../ralph/run-row.ts';
import { spentUsage } from '../ralph/usage.ts';
import { currentStatus, phaseOf, type RunView } from '../ralph/view.ts';
import type { Redactor } from '../secrets/redact.ts';
import { elapsedNow, lastActivity } from '../store/activity.ts';
import { leftoversOf } from '../store/leftovers.ts';
import { changesWithRuns } from '../store/runs.ts';
import type { Project } from '../store/project.ts';
import type { LockOwner } from '../store/lock-owner.ts';
import { queueText } from '../store/run-lock.ts';
import { loopOwner, queuedBy, stateStamp } from '../store/state.ts';
import { asRecorded } from '../store/user-state/steps.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { dayTime } from '../text/format.ts';
import { activityText } from './activity.ts';
import { commandLine } from '../text/shell-words.ts';
import { steeringText } from './steering.ts';
import { symbolsFor } from './symbols.ts';

/**
 * Whether a list without --all shows a run: runs of archived changes are left out, and complete ones of deleted
 * changes.
 */
export const isListed = ({ archived, deleted, status }: RunRow): boolean =>
  status === 'running' || (!archived && !(deleted && status === 'complete'));

interface RowsRequest {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly redactor: Redactor;
}

/**
 * Returns a function that reads the last run of every change that was ever run: running ones first, then those that are
 * queued, then the latest. It may be called often: a run that is over is read again only if its state has changed.
 */
export const createRowReader = (request: RowsRequest): ((now: Date) => Promise<RunRow[]>) => {
  const known = new Map<string, { readonly stamp: string; readonly row: RunRow | null }>();
  const read = async (change: string, now: Date): Promise<RunRow | null> => {
    const queue = queuedBy(request.project, change);
    if (queue !== null && loopOwner(request.project, change) === null) return batchRow(request.project, change, queue);
    const stamp = stateStamp(request.project, change);
    const before = known.get(change);
    if (before?.stamp === stamp && !mayChange(before.row)) return before.row;
    const row = await rowOf(change, { ...request, now });
    known.set(change, { stamp, row });
    return row;
  };
  /** Something else in the place of one file must not hide the other changes. */
  const readSafely = (change: string, now: Date) =>
    read(change, now).catch((error: unknown) => {
      if (asUserError(error) === null) throw error;
      return unreadableRow(change, 'its files');
    });
  return async (now) => {
    const active = new Set(await listChanges(request.project));
    const deleted = new Set(await deletedChanges(request.project));
    const rows = await Promise.all(changesWithRuns(request.project).map((change) => readSafely(change, now)));
    return rows
      .filter((row) => row !== null)
      .map((row) => ({ ...row, archived: !active.has(row.change) && !deleted.has(row.change) }))
      .map((row) => (deleted.has(row.change) ? asDeleted(row) : row))
      .toSorted(byActivity);
  };
};

const asDeleted = (row: RunRow): RunRow => ({
  ...row,
  deleted: true,
  activity: ['change deleted', ...(row.activity === null ? [] : [row.activity])].join('; '),
});

/** Whether a run may look different although its state has not changed. */
const mayChange = (row: RunRow | null): boolean => row !== null && (row.status === 'running' || row.leftovers > 0);

/** Running ones first, then those that are queued, then the latest. */
export const byActivity = (a: RunRow, b: RunRow): number => {
  const rank = ({ status }: RunRow) => ['running', 'queued'].indexOf(status) + 1 || 3;
  const time = ({ startedAt, endedAt, status }: RunRow) => (status === 'running' ? startedAt : (endedAt ?? startedAt));
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  // The first one in the queue starts next.
  if (a.status === 'queued') return `${a.startedAt} ${a.change}` < `${b.startedAt} ${b.change}` ? -1 : 1;
  return time(a) < time(b) ? 1 : -1;
};

/** A change that waits in a batch. */
const batchRow = async (project: Project, change: string, owner: LockOwner): Promise<RunRow> => {
  const tasks = await changeOf(project, change)
    .then((target) => tasksOfChange(project, target))
    .catch(() => null);
  return {
    ...withoutRun,
    change,
    status: 'queued',
    tasks: tasks && countTasks(tasks),
    startedAt: owner.since,
    activity: queueText(owner, new Date()),
  };
};

const unreadableRow = (change: string, what = 'state.json'): RunRow => ({
  ...withoutRun,
  change,
  status: 'unreadable',
  activity: `${what} cannot be read; see "${commandLine('spool', 'status', change)}"`,
});

const rowOf = async (change: string, request: RowsRequest & { readonly now: Date }): Promise<RunRow | null> => {
  const { project, env, redactor, now } = request;
  const last = await lastSaved(project, change);
  if (last === null) return unreadableRow(change);
  const saved = last.view;
  if (saved === null) return null;
  const view = asRecorded(userStateFolder(project, change, env), { ...saved, change });
  const status = currentStatus(view, loopOwner(project, change) !== null);
  const leftovers = status === 'interrupted' ? leftoversOf(project, view).length : 0;
  const { run, iteration, finishedIterations, maxIterations, startedAt, endedAt } = view;
  return {
    change,
    run,
    status,
    phase: phaseOf({ ...view, status }),
    iteration,
    finishedIterations,
    maxIterations,
    tasks: status === 'running' || view.tasks === null ? await tasksOf(project, view) : view.tasks,
    proof: view.proof ?? null,
    startedAt,
    endedAt,
    elapsedMs: status === 'running' ? elapsedNow(project, view, now) : view.elapsedMs,
    usage: spentUsage(view),
    activity: redacted(redactor, activityOf({ ...view, status }, leftovers, request)),
    leftovers,
    archived: false,
    deleted: false,
  };
};

const tasksOf = async (project: Project, view: RunView): Promise<TaskCount | null> => {
  const tasks = await tasksOfRun(project, view).catch(() => null);
  return tasks && countTasks(tasks);
};

const maxActivity = 200;

const redacted = (redactor: Redactor, text: string | null): string | null =>
  text === null ? null : redactor.oneLine(text, maxActivity);

const activityOf = (
  view: RunView,
  leftovers: number,
  { project, env }: Pick<RowsRequest, 'project' | 'env'>,
): string | null => {
  if (view.status !== 'running') return endOf(view, leftovers);
  const steering = steeringText(view);
  if (view.pausedAt && steering) return steering;
  if (view.waiting) return `waiting until ${dayTime(new Date(view.waiting.untilMs))}: ${view.waiting.why}`;
  const activity =
    lastActivity(project, view, (event) =>
      activityText(event, { symbols: symbolsFor(env), root: view.workspace?.root ?? null }),
    )?.text ?? null;
  return [steering, activity].filter((text) => text !== null).join('; ') || null;
};

const endOf = ({ detail, error }: RunView, leftovers: number): string => {
  if (detail ?? error) return (detail ?? error)!;
  if (leftovers === 0) return 'the process is gone';
  const processes = leftovers === 1 ? '1 process of its agent is' : `${leftovers} processes of its agent are`;
  return `the process is gone; ${processes} still running`;
};

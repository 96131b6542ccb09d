import { listChanges } from '../changes/sources.ts';
import { tasksOfRun, lastSaved } from '../changes/current-tasks.ts';
import { countTasks } from '../changes/tasks.ts';
import { type Usage, unknownUsage } from '../ralph/agent-events.ts';
import type { TaskCount } from '../ralph/record.ts';
import { addUsage, totalUsage } from '../ralph/usage.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import type { Redactor } from '../secrets/redact.ts';
import { elapsedNow, lastActivity } from '../store/activity.ts';
import { changesWithRuns } from '../store/runs.ts';
import type { Project } from '../store/project.ts';
import { loopOwner, stateStamp } from '../store/state.ts';
import { asRecorded } from '../store/user-record/steps.ts';
import { userRecordFolder } from '../store/user-record/folder.ts';
import { clockTime, relativeDay, duration } from '../text/format.ts';
import { activityText } from './activity.ts';
import { costOf } from './figures.ts';
import { type Canvas, type FitColumn, fitTable } from './fit-table.ts';
import { colourOf } from './status.ts';
import { steeringText } from './steering.ts';
import { symbolsFor } from './symbols.ts';

/** The last run of a change. Missing values are null. */
export interface RunRow {
  readonly change: string;
  readonly run: string;
  readonly status: RunView['status'];
  readonly iteration: number;
  readonly finishedIterations: number;
  readonly maxIterations: number | null;
  readonly tasks: TaskCount | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly elapsedMs: number;
  readonly usage: Usage | null;
  /** What it does now, or why it ended. */
  readonly activity: string | null;
  /** Its change is not active any more. */
  readonly archived: boolean;
}

interface RowsRequest {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly redactor: Redactor;
}

/**
 * Returns a function that reads the last run of every change that was ever run, running ones first, then the latest. It
 * may be called often: a run that is over is read again only if its state has changed.
 */
export const createRowReader = (request: RowsRequest): ((now: Date) => Promise<RunRow[]>) => {
  const known = new Map<string, { readonly stamp: string; readonly row: RunRow | null }>();
  const read = async (change: string, now: Date): Promise<RunRow | null> => {
    const stamp = stateStamp(request.project, change);
    const before = known.get(change);
    if (before?.stamp === stamp && before.row?.status !== 'running') return before.row;
    const row = await rowOf(change, { ...request, now });
    known.set(change, { stamp, row });
    return row;
  };
  return async (now) => {
    const active = new Set(await listChanges(request.project));
    const rows = await Promise.all(changesWithRuns(request.project).map((change) => read(change, now)));
    return rows
      .filter((row) => row !== null)
      .map((row) => ({ ...row, archived: !active.has(row.change) }))
      .toSorted(byActivity);
  };
};

const byActivity = (a: RunRow, b: RunRow): number => {
  const rank = ({ status }: RunRow) => (status === 'running' ? 0 : 1);
  const time = ({ startedAt, endedAt, status }: RunRow) => (status === 'running' ? startedAt : (endedAt ?? startedAt));
  return rank(a) - rank(b) || (time(a) < time(b) ? 1 : -1);
};

const rowOf = async (change: string, request: RowsRequest & { readonly now: Date }): Promise<RunRow | null> => {
  const { project, env, redactor, now } = request;
  const saved = (await lastSaved(project, change))?.view ?? null;
  if (saved === null) return null;
  const view = asRecorded(userRecordFolder(project, change, env), { ...saved, change });
  const status = currentStatus(view, loopOwner(project, change) !== null);
  const { run, iteration, finishedIterations, maxIterations, startedAt, endedAt } = view;
  return {
    change,
    run,
    status,
    iteration,
    finishedIterations,
    maxIterations,
    tasks: status === 'running' || view.tasks === null ? await tasksOf(project, view) : view.tasks,
    startedAt,
    endedAt,
    elapsedMs: status === 'running' ? elapsedNow(project, view, now) : view.elapsedMs,
    usage: addUsage(totalUsage(view), status === 'running' ? view.currentUsage : null),
    activity: redacted(redactor, activityOf(view, status, request)),
    archived: false,
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
  status: RunView['status'],
  { project, env }: Pick<RowsRequest, 'project' | 'env'>,
): string | null => {
  if (status !== 'running') return view.detail ?? view.error ?? 'the process is gone';
  const steering = steeringText(view);
  if (view.pausedAt && steering) return steering;
  if (view.waiting) return `waiting until ${clockTime(new Date(view.waiting.untilMs))}: ${view.waiting.why}`;
  const activity =
    lastActivity(project, view, (event) =>
      activityText(event, { symbols: symbolsFor(env), root: view.workspace?.root ?? null }),
    )?.text ?? null;
  return [steering, activity].filter((text) => text !== null).join('; ') || null;
};

/** Renders a line for each run, below the titles of the columns. No line is wider than the terminal. */
export const renderRows = (rows: readonly RunRow[], now: Date, canvas: Canvas): string[] =>
  fitTable(columnsAt(now), rows, canvas).map(canvas.symbols.replace);

const columnsAt = (now: Date): FitColumn<RunRow>[] => [
  { title: 'state', value: ({ status }) => status, style: ({ status }) => colourOf(status) },
  { title: 'change', value: ({ change }) => change, min: 9 },
  {
    title: '#',
    numeric: true,
    value: ({ iteration, maxIterations }) =>
      maxIterations === null ? String(iteration) : `${iteration}/${maxIterations}`,
    drop: 3,
  },
  { title: 'tasks', numeric: true, value: ({ tasks }) => (tasks ? `${tasks.done}/${tasks.total}` : '-'), drop: 1 },
  { title: 'time', numeric: true, value: ({ elapsedMs }) => wholeSeconds(elapsedMs), drop: 2 },
  { title: 'cost', numeric: true, value: ({ usage }) => costOf(usage ?? unknownUsage), drop: 4 },
  { title: 'ended', value: ({ status, endedAt }) => endText(status, endedAt, now), drop: 6 },
  { title: 'activity', value: ({ activity }) => activity ?? '', min: 10, drop: 5 },
];

const wholeSeconds = (ms: number): string => (ms < 1000 ? '0s' : duration(Math.floor(ms / 1000) * 1000));

const endText = (status: RunView['status'], endedAt: string | null, now: Date): string => {
  if (status === 'running') return '';
  if (endedAt === null) return '-';
  const at = new Date(endedAt);
  const day = relativeDay(at, now);
  return day === 'today' ? clockTime(at) : `${day} ${clockTime(at)}`;
};

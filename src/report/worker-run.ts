import type { IterationRecord } from '../ralph/record.ts';
import { isWorking, type RunView } from '../ralph/view.ts';
import { dayTime, timeAgo } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Canvas } from './canvas.ts';
import { fact } from './facts.ts';
import { costText } from './figures.ts';
import type { QueueRow } from './queue.ts';
import { recordLines, sentence, titleLines } from './render-run.ts';
import { markOf } from './status-style.ts';
import { steeringText } from './steering.ts';
import { commandLines, type Next, summarise } from './summary.ts';

/** A change in the queue, as `spool status` shows it. */
export interface QueuedChange extends QueueRow {
  readonly labels: readonly string[];
  readonly queued_at: Date;
  readonly queued_by: string;
  readonly epoch: number;
  readonly owner: string | null;
  readonly worker_seen: Date | null;
}

export interface QueuedFacts {
  /** The run of the change; null if no worker has started it. */
  readonly view: RunView | null;
  /** Its latest iterations, oldest first. */
  readonly records: readonly IterationRecord[];
  /** What it does now. */
  readonly activity: string | null;
}

/** The status of a run in the words of a run on this machine. One that waits or is paused has not ended. */
export const statusOfQueued = ({ state }: Pick<QueueRow, 'state'>): RunView['status'] | 'queued' => {
  switch (state) {
    case 'queued':
    case 'complete':
    case 'failed':
    case 'limit':
    case 'blocked':
      return state;
    case 'stopped':
      return 'interrupted';
    default:
      return 'running';
  }
};

/** Renders a change that workers run, as `renderRun` does for one on this machine. */
export const renderQueued = (row: QueuedChange, facts: QueuedFacts, canvas: Canvas): string[] => {
  const { view, records, activity } = facts;
  const line = (label: string, text: string) => (text === '' ? [] : fact(label, text, canvas));
  const lines = [
    ...titleLines(
      { change: row.id, mark: markFor(row, canvas), text: `${wordFor(row)}: ${sentence(detailOf(row, view))}` },
      canvas,
    ),
    ...(row.state === 'running' && !row.is_silent && activity !== null ? line('Now', activity) : []),
    ...line('Worker', workerText(row)),
    ...line('Queued', `${dayTime(row.queued_at, row.now)} by ${row.queued_by}${extraText(row)}`),
    ...(view === null ? [] : summarise({ ...view, ...timesNow(row, view) }, { records, now: row.now }, canvas)),
    ...line('Total', row.cost_usd > 0 && row.epoch > 1 ? totalText(row) : ''),
    ...(view === null ? [] : recordLines(view, records, canvas)),
    '',
    ...commandLines(nextFor(row, view), canvas.style),
  ];
  return lines.map(canvas.symbols.replace);
};

const markFor = (row: QueuedChange, canvas: Canvas): string => {
  const status = statusOfQueued(row);
  if (status === 'queued') return canvas.style('dim', canvas.symbols.queued);
  return markOf(row.is_silent ? 'interrupted' : status, canvas);
};

const words: Readonly<Record<string, string>> = {
  queued: 'Queued',
  running: 'Running',
  waiting: 'Waiting',
  paused: 'Paused',
  stopped: 'Stopped',
  complete: 'Complete',
  failed: 'Failed',
  limit: 'Not complete',
  blocked: 'Blocked',
};

const wordFor = ({ state, is_silent: isSilent }: QueuedChange): string =>
  isSilent ? 'Silent' : (words[state] ?? state);

/** What the state of a change means, as a sentence after the word for it. */
const detailOf = (row: QueuedChange, view: RunView | null): string => {
  const { state, detail, host, now } = row;
  if (row.is_silent) {
    const seen = row.worker_seen === null ? '' : ` since ${sinceText(row.worker_seen, now)}`;
    return `no sign of worker ${row.owner} on ${host}${seen}; another worker takes over`;
  }
  switch (state) {
    case 'running':
      return runningText(row, view);
    case 'queued':
      if (row.blocked_by !== null) return `waits for ${row.blocked_by}, which changes the same requirement`;
      return view === null || row.iteration === null || view.endedAt === null || view.status !== 'interrupted'
        ? 'the next free worker takes it'
        : `the next free worker continues after iteration ${view.finishedIterations}`;
    case 'waiting':
      return `until ${dayTime(row.available_at, now)}${detail === null ? '' : `: ${detail}`}; then any worker continues`;
    case 'paused':
    case 'stopped':
      return [view === null ? 'not started' : `after iteration ${view.finishedIterations}`, detail]
        .filter((text) => text !== null)
        .join(', ');
    default:
      return detail ?? view?.detail ?? state;
  }
};

const runningText = ({ host, claimed_at: at, now }: QueuedChange, view: RunView | null): string => {
  const since = at === null ? '' : `, since ${dayTime(at, now)}`;
  if (view === null || view.status !== 'running') return `starting on ${host}${since}`;
  const of = view.maxIterations === null ? '' : ` of ${view.maxIterations}`;
  const wait =
    view.waiting === null ? '' : `, waiting until ${dayTime(new Date(view.waiting.untilMs), now)}: ${view.waiting.why}`;
  const steering = steeringText(view);
  return `iteration ${view.iteration}${of} on ${host}${since}${wait}${steering === null ? '' : `, ${steering}`}`;
};

/** `build-3 on host-a, seen just now`; `attempt 3` if it is not the first. */
const workerText = ({ owner, host, worker_seen: seen, epoch, now }: QueuedChange): string => {
  if (owner === null) return '';
  const attempt = epoch > 1 ? `, attempt ${epoch}` : '';
  return `${owner} on ${host}${seen === null ? '' : `, seen ${timeAgo(seen.toISOString(), now)}`}${attempt}`;
};

const sinceText = (at: Date, now: Date): string => `${dayTime(at, now)} (${timeAgo(at.toISOString(), now)})`;

const extraText = ({ priority, labels }: QueuedChange): string =>
  [priority === 0 ? '' : `, priority ${priority}`, labels.length === 0 ? '' : `, for ${labels.join(' ')}`].join('');

const totalText = ({ cost_usd: costUsd, epoch }: QueuedChange): string =>
  `${costText({ costUsd })} in ${epoch} attempts, including lost ones`;

/** The saved time of a run that is running is that of its last event. */
export const timesNow = (row: QueuedChange, view: RunView): Pick<RunView, 'elapsedMs' | 'status'> => {
  const status = statusOfQueued(row);
  const isRunning = row.state === 'running' && view.status === 'running' && !row.is_silent && isWorking(view);
  const since = isRunning ? Math.max(0, row.now.getTime() - Date.parse(view.updatedAt)) : 0;
  return { elapsedMs: Math.round(view.elapsedMs + since), status: status === 'queued' ? view.status : status };
};

const nextFor = ({ id, state, detail }: QueuedChange, view: RunView | null): Next[] => {
  const on = (command: string, ...more: readonly string[]) => commandLine('spool', command, id, ...more);
  const logs: Next[] = view === null ? [] : [['Logs', on('logs')]];
  switch (state) {
    case 'running':
    case 'queued':
    case 'waiting':
      return [
        ['Follow', on('logs', '--follow')],
        ['Stop', on('stop')],
      ];
    case 'paused':
      return [['Resume', on('resume')], ['Stop', on('stop')], ...logs];
    case 'stopped':
      return [['Resume', on('resume')], ...logs];
    case 'complete':
      return detail?.startsWith('landed ') ? logs : [['Publish', on('publish')], ['Land', on('land')], ...logs];
    default:
      return [['Try again', commandLine('spool', 'queue', 'add', id)], ...logs];
  }
};

import type { RemoteState, RunRow } from '../ralph/run-row.ts';
import { spentUsage } from '../ralph/usage.ts';
import { phaseOf, type RunPhase, type RunView } from '../ralph/view.ts';
import { dayTime, timeAgo } from '../text/format.ts';
import { detailText } from './queue.ts';
import { type QueuedChange, statusOfQueued, timesNow } from './worker-run.ts';
import { steeringText } from './steering.ts';

/** A change that workers run, as a row of `spool status`. */
export const workerRow = (row: QueuedChange, view: RunView | null): RunRow => {
  const status = statusOfQueued(row);
  const isOver = status !== 'running' && status !== 'queued';
  return {
    change: row.id,
    run: view?.run ?? null,
    status,
    phase: phaseOfQueued(row, view),
    iteration: view?.iteration ?? 0,
    finishedIterations: view?.finishedIterations ?? 0,
    maxIterations: view?.maxIterations ?? null,
    tasks: view?.tasks ?? null,
    proof: view?.proof ?? null,
    startedAt: status === 'queued' || view === null ? row.queued_at.toISOString() : view.startedAt,
    endedAt: isOver ? (view?.endedAt ?? null) : null,
    elapsedMs: view === null ? 0 : timesNow(row, view).elapsedMs,
    usage: view && spentUsage(view),
    activity: activityOf(row, view),
    leftovers: 0,
    archived: false,
    deleted: false,
    remote: remoteOf(row),
  };
};

/** A change that waits or is paused has no worker, so its view may be an old one. */
export const phaseOfQueued = ({ state }: QueuedChange, view: RunView | null): RunPhase | null => {
  if (state === 'waiting' || state === 'paused') return state;
  return state === 'running' && view !== null ? phaseOf(view) : null;
};

/** Where and in which state workers have a change, for programs. */
export const remoteOf = (row: QueuedChange): RemoteState => ({
  state: row.state,
  silent: row.is_silent,
  detail: row.detail,
  worker: row.owner,
  host: row.host,
  since: row.claimed_at?.toISOString() ?? null,
  seen: row.worker_seen?.toISOString() ?? null,
  availableAt: row.available_at.toISOString(),
  blockedBy: row.blocked_by,
  queuedAt: row.queued_at.toISOString(),
  queuedBy: row.queued_by,
  attempts: row.epoch,
  costUsd: row.cost_usd,
});

const activityOf = (row: QueuedChange, view: RunView | null): string | null => {
  const worker = row.owner === null || row.owner === row.host ? '' : ` (${row.owner})`;
  const where = row.host === null ? '' : `on ${row.host}${worker}`;
  const steering = row.state === 'running' && view?.status === 'running' ? steeringText(view) : null;
  const state = row.state === 'waiting' || row.state === 'paused' || row.state === 'stopped' ? row.state : '';
  const since = row.state === 'running' && row.claimed_at !== null ? `since ${dayTime(row.claimed_at, row.now)}` : '';
  const what = [state, detailText(row)].filter(Boolean).join(' ');
  return [[where, since].filter(Boolean).join(' '), steering ?? '', what].filter(Boolean).join('; ') || null;
};

/** `running on host-a`, `waiting until 23:00`, `silent on host-a`. */
export const lastRunText = (row: QueuedChange): string => {
  const on = row.host === null ? '' : ` on ${row.host}`;
  if (row.is_silent) return `silent${on}`;
  if (row.state === 'waiting') return `waiting until ${dayTime(row.available_at, row.now)}`;
  if (row.state === 'complete' && !row.detail?.startsWith('landed ')) return 'complete, not landed';
  return `${row.state === 'complete' ? 'landed' : row.state}${on}`;
};

interface SilentWorker {
  readonly name: string;
  readonly host: string;
  readonly seenAt: Date;
  readonly running: number;
  readonly now: Date;
}

/** A line about a worker that has gone silent. */
export const silentText = ({ name, host, seenAt, running, now }: SilentWorker): string => {
  const had = running === 0 ? '' : `, which had ${running === 1 ? '1 change' : `${running} changes`}`;
  return `No sign of worker ${name} on ${host} since ${dayTime(seenAt, now)} (${timeAgo(seenAt.toISOString(), now)})${had}.`;
};

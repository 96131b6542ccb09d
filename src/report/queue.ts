import { clockTime, dayTime, timeAgo } from '../text/format.ts';
import { colorOf } from './status-style.ts';
import type { Column } from './table.ts';

/** A change in the queue, as a table shows it. */
export interface QueueRow {
  readonly project: string;
  readonly id: string;
  readonly state: string;
  readonly detail: string | null;
  readonly priority: number;
  readonly host: string | null;
  readonly claimed_at: Date | null;
  readonly available_at: Date;
  readonly iteration: number | null;
  readonly cost_usd: number;
  readonly is_silent: boolean;
  readonly blocked_by: string | null;
  readonly now: Date;
}

export const queueColumns = ({ showProject }: { readonly showProject: boolean }): Column<QueueRow>[] => [
  { title: 'change', value: ({ id }) => id, min: 20 },
  ...(showProject ? [{ title: 'repository', value: ({ project }: QueueRow) => project, min: 12, drop: 4 }] : []),
  { title: 'state', value: stateText, style: ({ state, is_silent }) => (is_silent ? 'yellow' : colorOf(state)) },
  { title: '#', numeric: true, value: ({ iteration }) => String(iteration ?? '-') },
  { title: 'cost', numeric: true, value: ({ cost_usd }) => (cost_usd > 0 ? `$${cost_usd.toFixed(2)}` : '-'), drop: 2 },
  { title: 'where', value: ({ host }) => host ?? '-', drop: 3 },
  {
    title: 'since',
    value: ({ claimed_at, now }) => (claimed_at ? timeAgo(claimed_at.toISOString(), now) : '-'),
    drop: 5,
  },
  { title: 'detail', value: detailText, min: 20, drop: 1 },
];

const stateText = ({ state, is_silent }: QueueRow): string => (is_silent ? 'silent' : state);

export const detailText = ({ state, detail, priority, available_at, blocked_by, is_silent, now }: QueueRow): string => {
  if (is_silent) return 'no sign of its worker; another one takes over';
  if (state === 'waiting' && available_at > now) return `until ${dayTime(available_at, now)}: ${detail ?? ''}`;
  if (blocked_by !== null) return `waits for ${blocked_by}, which changes the same requirement`;
  return detail ?? (priority === 0 ? '' : `priority ${priority}`);
};

/** A worker, as a table shows it. */
export interface WorkerRow {
  readonly name: string;
  readonly host: string;
  readonly slots: number;
  readonly running: number;
  readonly labels: readonly string[];
  readonly seenAt: Date;
  readonly startedAt: Date;
  readonly silent: boolean;
  readonly draining: boolean;
  readonly now: Date;
}

export const workerColumns: Column<WorkerRow>[] = [
  { title: 'worker', value: ({ name }) => name, min: 12 },
  { title: 'slots', numeric: true, value: ({ running, slots }) => `${running}/${slots}` },
  {
    title: 'state',
    value: ({ silent, draining, seenAt, now }) =>
      silent
        ? `silent since ${clockTime(seenAt)} (${timeAgo(seenAt.toISOString(), now)})`
        : draining
          ? 'draining'
          : 'ready',
    style: ({ silent }) => (silent ? 'yellow' : null),
  },
  { title: 'labels', value: ({ labels }) => labels.join(' '), drop: 1, min: 10 },
  { title: 'host', value: ({ host }) => host, drop: 2 },
];

import { timeAgo } from '../text/format.ts';
import type { Canvas } from './canvas.ts';
import type { ChangeRow } from './read-change-rows.ts';
import { statusText } from './last-run-text.ts';
import { colorOf } from './status-style.ts';
import { type Column, renderTable } from './table.ts';

/** Renders the table of `spool list`, one line for each change. */
export const renderChangesTable = (changes: readonly ChangeRow[], now: Date, canvas: Canvas): string[] =>
  renderTable(columnsFor(changes, now), changes, canvas);

/** The source of changes is shown if there are others than Spool's own, and their module if any has one. */
const columnsFor = (changes: readonly ChangeRow[], now: Date): readonly Column<ChangeRow>[] => [
  { title: 'change', value: ({ id }) => id, min: 20 },
  ...(changes.some(({ source }) => source !== 'spool') ? [sourceColumn] : []),
  ...(changes.some(({ source, module }) => source === 'spool' || module !== null) ? [moduleColumn] : []),
  { title: 'tasks', numeric: true, value: tasksText, style: ({ problem }) => (problem === null ? null : 'red') },
  {
    title: 'last run',
    value: ({ lastRun, queued, remote }) =>
      remote?.text ?? (queued ? 'queued' : lastRun === null ? 'never' : statusText(lastRun)),
    style: ({ lastRun, queued, remote }) =>
      remote ? colorOf(remote.status) : queued ? null : colorOf(lastRun?.phase ?? lastRun?.status),
  },
  {
    title: '#',
    numeric: true,
    value: ({ lastRun, queued, remote }) =>
      String((remote ? remote.iteration : queued ? null : lastRun?.iteration) ?? '-'),
    drop: 2,
  },
  { title: 'ended', value: ({ lastRun, queued, remote }) => (queued || remote ? '-' : endText(lastRun, now)), drop: 1 },
];

const tasksText = ({ tasks, problem }: ChangeRow): string => {
  if (problem !== null) return 'damaged';
  return tasks === null ? '-' : `${tasks.done}/${tasks.total}`;
};

const sourceColumn: Column<ChangeRow> = { title: 'source', value: ({ source }) => source, drop: 4 };
const moduleColumn: Column<ChangeRow> = { title: 'module', value: ({ module }) => module ?? '-', drop: 3 };

const endText = (lastRun: ChangeRow['lastRun'], now: Date): string =>
  lastRun?.status === 'running' || !lastRun?.endedAt ? '-' : timeAgo(lastRun.endedAt, now);

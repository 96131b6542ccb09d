import { duration, timeAgo } from '../text/format.ts';
import type { Canvas } from './canvas.ts';
import { costText } from './figures.ts';
import type { RunRow } from '../ralph/run-row.ts';
import { colorOf } from './status-style.ts';
import { type Column, renderTable } from './table.ts';

/** Renders a line for each run, below the titles of the columns. No line is wider than the terminal. */
export const renderRunsTable = (rows: readonly RunRow[], now: Date, canvas: Canvas): string[] =>
  renderTable(columnsAt(now), rows, canvas).map(canvas.symbols.replace);

const columnsAt = (now: Date): Column<RunRow>[] => [
  {
    title: 'state',
    value: ({ status, phase }) => phase ?? status,
    style: ({ status, phase }) =>
      status === 'queued' ? 'dim' : status === 'unreadable' ? 'red' : colorOf(phase ?? status),
  },
  { title: 'change', value: ({ change }) => change, min: 9 },
  {
    title: '#',
    numeric: true,
    value: ({ run, iteration, maxIterations }) =>
      run === null ? '' : maxIterations === null ? String(iteration) : `${iteration}/${maxIterations}`,
    drop: 3,
  },
  { title: 'tasks', numeric: true, value: ({ tasks }) => (tasks ? `${tasks.done}/${tasks.total}` : '-'), drop: 1 },
  {
    title: 'time',
    numeric: true,
    value: ({ run, elapsedMs }) => (run === null ? '' : wholeSeconds(elapsedMs)),
    drop: 2,
  },
  { title: 'cost', numeric: true, value: ({ usage }) => costText(usage) || '-', drop: 4 },
  { title: 'ended', value: ({ status, endedAt }) => endText(status, endedAt, now), drop: 6 },
  { title: 'activity', value: ({ activity }) => activity ?? '', min: 10, drop: 5 },
];

const wholeSeconds = (ms: number): string => (ms < 1000 ? '0s' : duration(Math.floor(ms / 1000) * 1000));

const endText = (status: RunRow['status'], endedAt: string | null, now: Date): string => {
  if (status === 'running' || status === 'queued' || status === 'unreadable') return '';
  return endedAt === null ? '-' : timeAgo(endedAt, now);
};

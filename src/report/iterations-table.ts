import type { IterationRecord } from '../ralph/record.ts';
import { iterationUsage } from '../ralph/usage.ts';
import { bar } from '../text/bar.ts';
import { duration, lineChanges, someOf } from '../text/format.ts';
import { costText } from './figures.ts';
import type { Canvas } from './canvas.ts';
import { type Column, renderTable } from './table.ts';
import { oneLine } from './shorten.ts';
import { outcomeOf, type Result } from './trouble.ts';

const styles: Record<Result, 'green' | 'red' | 'yellow' | null> = {
  done: 'green',
  'gave up': 'red',
  rejected: 'yellow',
  interrupted: 'yellow',
  failed: 'red',
  'checks failed': 'yellow',
  'no changes': null,
  worked: null,
};

const barWidth = 6;

/** One row per iteration, with bars for time and cost. */
export const renderIterationsTable = (records: readonly IterationRecord[], canvas: Canvas): string[] =>
  renderTable(columnsFor(records), records, canvas);

const columnsFor = (records: readonly IterationRecord[]): Column<IterationRecord>[] => {
  const longest = Math.max(0, ...records.map(({ durationMs }) => durationMs));
  const highestCost = Math.max(0, ...records.map((record) => iterationUsage(record)?.costUsd ?? 0));
  return [
    { title: '#', numeric: true, value: ({ iteration }) => String(iteration) },
    {
      title: 'result',
      value: (record) => outcomeOf(record).result,
      style: (record) => styles[outcomeOf(record).result],
    },
    {
      title: 'exit',
      numeric: true,
      value: exitOf,
      drop: 5,
    },
    { title: 'took', numeric: true, value: ({ durationMs }) => duration(durationMs) },
    { title: '', value: ({ durationMs }) => bar(durationMs, longest, barWidth), style: () => 'cyan', drop: 4 },
    {
      title: 'tasks',
      numeric: true,
      value: ({ tasks }) => (tasks === null ? '' : `${tasks.done}/${tasks.total}`),
      drop: 3,
    },
    { title: 'files', numeric: true, value: ({ git }) => (git === null ? '-' : String(git.filesChanged)), drop: 8 },
    {
      title: 'lines',
      value: ({ git }) => (git === null || git.filesChanged === 0 ? '-' : lineChanges(git)),
      drop: 9,
    },
    { title: 'cost', numeric: true, value: (record) => costText(iterationUsage(record)) || '-', drop: 2 },
    {
      title: '',
      value: (record) => bar(iterationUsage(record)?.costUsd ?? null, highestCost, barWidth),
      style: () => 'yellow',
      drop: 6,
    },
    {
      title: 'done',
      value: ({ ticked = [] }) =>
        someOf(
          ticked.map((title) => oneLine(title, 40)),
          ticked.length,
          2,
        ),
      min: 12,
      drop: 7,
    },
    { title: 'commit', value: ({ commit }) => commit?.slice(0, 8) ?? '-', drop: 10 },
  ];
};

/** An agent that stays running has no exit code. */
const exitOf = ({ end, exitCode, signal }: IterationRecord): string => {
  if (end === 'answered') return '';
  return exitCode === null ? (signal ?? '-') : String(exitCode);
};

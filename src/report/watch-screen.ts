import { usageOf } from '../ralph/usage.ts';
import { type RunPhase, runPhases } from '../ralph/view.ts';
import { pluralise, widthOf } from '../text/format.ts';
import { costText } from './figures.ts';
import type { Canvas } from './canvas.ts';
import type { RunRow } from '../ralph/run-row.ts';
import { renderRunsTable } from './runs-table.ts';
import { truncate } from './shorten.ts';

export interface WatchState {
  readonly rows: readonly RunRow[];
  /** Lines about the queue and its workers, above the last one. */
  readonly warnings: readonly string[];
  /** The change of the selected row. */
  readonly selected: string | null;
  /** The last line: a question, an answer or the keys. */
  readonly footer: string;
  readonly now: Date;
}

const maxWarnings = 3;

/** Renders the screen of `spool watch`: as many lines as it has at most, none of them wider. */
export const renderWatch = (
  { rows, warnings, selected, footer, now }: WatchState,
  { style, columns, symbols, height }: Canvas & { readonly height: number },
): string[] => {
  const fit = (line: string) => symbols.replace(truncate(line, columns - 1, '…'));
  const shownWarnings = warnings.slice(0, maxWarnings);
  const shown = around(rows, selected, Math.max(1, height - 6 - shownWarnings.length));
  const [titles = '', ...lines] = renderRunsTable(shown, now, { style, columns: columns - 3, symbols });
  const hidden = rows.length - shown.length;
  return [
    style('bold', fit(headline(rows))),
    '',
    ...(rows.length === 0 ? ['  No runs yet. Start one with "spool ralph".'].map(fit) : [`  ${titles}`]),
    ...lines.map((line, index) => `${shown[index]!.change === selected ? style('bold', '>') : ' '} ${line}`),
    ...(hidden > 0 ? [style('dim', fit(`  ${hidden} more`))] : []),
    '',
    ...shownWarnings.map((warning) => style('yellow', fit(warning))),
    fit(footer),
  ];
};

const headline = (rows: readonly RunRow[]): string => {
  const count = (wanted: RunRow['status'] | RunPhase) =>
    rows.filter(({ status, phase }) => (phase ?? status) === wanted).length;
  const others = ([...runPhases, 'queued'] as const)
    .filter((state) => count(state) > 0)
    .map((state) => ` · ${count(state)} ${state}`);
  const usage = usageOf(rows);
  const cost = usage?.costUsd ? ` · ${costText(usage)}` : '';
  return `${pluralise(rows.length, 'run')} · ${count('running')} running${others.join('')}${cost}`;
};

/** As many rows as fit, with the selected one among them. */
const around = (rows: readonly RunRow[], selected: string | null, count: number): readonly RunRow[] => {
  const at = Math.max(
    0,
    rows.findIndex(({ change }) => change === selected),
  );
  const first = Math.max(0, Math.min(at - Math.floor(count / 2), rows.length - count));
  return rows.slice(first, first + count);
};

/** What the keys do, in short if that does not fit. */
export const keyHelp = (columns: number): string =>
  fitting(
    columns,
    '↑↓ Enter open · s stop · S stop now · p pause · r resume · c context · q quit',
    '↑↓ Enter open · s stop · p/r · c context · q quit',
  );

/** The same while a run is opened. */
export const openKeyHelp = (columns: number): string =>
  fitting(
    columns,
    'q or Esc back · s stop · S stop now · p pause · r resume · c context',
    'q back · s stop · S now · p/r · c context',
  );

/** The last line leaves two columns free. */
const fitting = (columns: number, long: string, short: string): string => (widthOf(long) <= columns - 2 ? long : short);

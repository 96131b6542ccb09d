import { pluralise, widthOf, duration } from '../text/format.ts';
import { joinFitting, truncate } from './shorten.ts';
import type { Symbols } from './symbols.ts';
import { type Column, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** A run of a batch that is in progress. */
export interface DashboardRun {
  readonly change: string;
  /** It waits, and no agent works. */
  readonly isWaiting: boolean;
  /** `#2/50` */
  readonly iteration: string;
  /** `1/3`; empty if there are no tasks. */
  readonly tasks: string;
  /** The time of its iteration so far: `0:47`. */
  readonly time: string;
  /** `$0.01`; empty if it is unknown. */
  readonly cost: string;
  /** What it does: `$ npm test`. */
  readonly activity: string;
}

export interface DashboardState {
  readonly runs: readonly DashboardRun[];
  readonly queued: readonly string[];
  readonly total: number;
  readonly finished: number;
  readonly elapsedMs: number;
  readonly cost: string;
}

type DashboardTerminal = Pick<Terminal, 'style' | 'symbols' | 'columns' | 'rows'>;

/** Renders the dashboard: totals, a line per run, and the queue. Lines are narrower than the terminal. */
export const renderDashboard = (state: DashboardState, terminal: DashboardTerminal): string[] => {
  const { style, symbols } = terminal;
  const columns = terminal.columns - 1;
  // A row above the dashboard stays free.
  const rows = Math.max(1, terminal.rows - 1);
  const header = rows > 2 ? [headerText(state, columns, terminal)] : [];
  const queue = rows > 3 && state.queued.length > 0 ? [queueText(state.queued, columns, symbols)] : [];
  const room = rows - header.length - queue.length;
  const shown = state.runs.length <= room ? state.runs : state.runs.slice(0, Math.max(1, room - 1));
  const left = state.runs.length - shown.length;
  const more = left > 0 && shown.length < room ? [truncate(`${symbols.ellipsis} and ${left} more`, columns)] : [];
  return [...header, ...renderTable(columnsWith(symbols), shown, { style, symbols, columns }), ...more, ...queue];
};

const stopHint = 'Ctrl-C stops all';

/** `Running 3 of 6 · 3 queued · 2m 10s · $0.04                    Ctrl-C stops all` */
const headerText = (state: DashboardState, columns: number, { style, symbols }: DashboardTerminal): string => {
  const { separator, ellipsis } = symbols;
  const { runs, queued, total, finished, elapsedMs, cost } = state;
  const facts = [
    `Running ${runs.length} of ${total}`,
    finished === 0 ? '' : `${finished} ended`,
    queued.length === 0 ? '' : `${queued.length} queued`,
    duration(Math.floor(elapsedMs / 1000) * 1000),
    cost,
  ];
  const text = truncate(joinFitting(facts, { separator, columns }), columns, ellipsis);
  const room = Math.min(columns, 79) - widthOf(text) - widthOf(stopHint);
  const bold = style('bold', text);
  return room < 2 ? bold : `${bold}${' '.repeat(room)}${style('dim', stopHint)}`;
};

const queueText = (queued: readonly string[], columns: number, { queued: sign, ellipsis }: Symbols): string => {
  const ids = queued.map(shortId);
  for (let count = ids.length; count > 0; count--) {
    const more = count < ids.length ? `, ${ids.length - count} more` : '';
    const text = `${sign} queued: ${ids.slice(0, count).join(', ')}${more}`;
    if (widthOf(text) <= columns) return text;
  }
  return truncate(`${sign} ${pluralise(queued.length, 'change')} queued`, columns, ellipsis);
};

/** `002-01` of `002-01_add-refunds`. */
const shortId = (change: string): string => /^\d{3}-\d{2,}(?=_)/.exec(change)?.[0] ?? change;

/** The iteration stays. The activity is shortened once all figures that may be left out are. */
const columnsWith = ({ waiting, running }: Symbols): readonly Column<DashboardRun>[] => [
  {
    value: ({ change, isWaiting }) => `${isWaiting ? waiting : running} ${change}`,
    style: ({ isWaiting }) => (isWaiting ? 'yellow' : 'cyan'),
    // Enough to tell changes apart: `● 002-01_a…`.
    min: 11,
  },
  { value: ({ iteration }) => iteration },
  { value: ({ tasks }) => tasks, drop: 2 },
  { value: ({ time }) => time, drop: 1 },
  { value: ({ cost }) => cost, drop: 3 },
  { value: ({ activity }) => activity, min: 12 },
];

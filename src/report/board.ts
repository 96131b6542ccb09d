import { pluralise, widthOf, duration } from '../text/format.ts';
import { joinFitting, truncate } from './shorten.ts';
import type { Symbols } from './symbols.ts';

/** A run of a batch that is in progress. */
export interface BoardRun {
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

export interface BoardState {
  readonly runs: readonly BoardRun[];
  readonly queued: readonly string[];
  readonly total: number;
  readonly finished: number;
  readonly elapsedMs: number;
  readonly cost: string;
}

export interface BoardSize {
  readonly columns: number;
  readonly rows: number;
}

/** Renders the board: totals, a line per run, and the queue. Lines are narrower than the terminal. */
export const renderBoard = (state: BoardState, size: BoardSize, symbols: Symbols): string[] => {
  const columns = size.columns - 1;
  // A row above the board stays free.
  const rows = Math.max(1, size.rows - 1);
  const header = rows > 2 ? [headerText(state, columns, symbols)] : [];
  const queue = rows > 3 && state.queued.length > 0 ? [queueText(state.queued, columns, symbols)] : [];
  const room = rows - header.length - queue.length;
  const shown = state.runs.length <= room ? state.runs : state.runs.slice(0, Math.max(1, room - 1));
  const left = state.runs.length - shown.length;
  const more = left > 0 && shown.length < room ? [truncate(`${symbols.ellipsis} and ${left} more`, columns)] : [];
  return [...header, ...runLines(shown, columns, symbols), ...more, ...queue];
};

const stopHint = 'Ctrl-C stops all';

/** `Running 3 of 6 · 3 queued · 2m 10s · $0.04                    Ctrl-C stops all` */
const headerText = (state: BoardState, columns: number, { separator, ellipsis }: Symbols): string => {
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
  return room < 2 ? text : `${text}${' '.repeat(room)}${stopHint}`;
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

/** Which figures are shown, from wide to narrow terminals. */
const layouts: readonly (readonly (keyof BoardRun)[])[] = [
  ['iteration', 'tasks', 'time', 'cost'],
  ['iteration', 'tasks', 'time'],
  ['iteration', 'time'],
  ['iteration'],
];

/** Enough of an ID to tell changes apart: `002-01_a…`. */
const shortestId = 9;
const shortestActivity = 12;
const gap = '  ';

const runLines = (runs: readonly BoardRun[], columns: number, symbols: Symbols): string[] => {
  if (runs.length === 0) return [];
  const widest = (cells: readonly string[]) => Math.max(...cells.map(widthOf));
  const widestId = widest(runs.map(({ change }) => change));
  const widestActivity = widest(runs.map(({ activity }) => activity));
  const leastId = Math.min(widestId, shortestId);
  const leastActivity = Math.min(widestActivity, shortestActivity);
  const figuresOf = (layout: readonly (keyof BoardRun)[]) => {
    const used = layout.filter((name) => runs.some((run) => run[name] !== ''));
    const widths = used.map((name) => widest(runs.map((run) => String(run[name]))));
    return runs.map((run) => used.map((name, index) => pad(String(run[name]), widths[index]!)).join(gap));
  };
  const roomBeside = (figures: readonly string[]) => columns - 2 - gap.length - widthOf(figures[0]!);
  const choices = layouts.map(figuresOf);
  const figures = choices.find((each) => roomBeside(each) >= leastId + gap.length + leastActivity) ?? choices.at(-1)!;
  const room = roomBeside(figures);
  const idColumns = Math.max(Math.min(widestId, leastId), Math.min(widestId, room - gap.length - widestActivity));
  return runs.map((run, index) => {
    const sign = run.isWaiting ? symbols.waiting : symbols.running;
    const id = pad(truncate(run.change, Math.min(idColumns, room), symbols.ellipsis), Math.min(idColumns, room));
    const start = id.trim() === '' ? `${sign} ${figures[index]}` : `${sign} ${id}${gap}${figures[index]}`;
    const left = columns - widthOf(start) - gap.length;
    const activity = left < Math.min(widthOf(run.activity), 4) ? '' : truncate(run.activity, left, symbols.ellipsis);
    return truncate(`${start}${gap}${activity}`.trimEnd(), columns);
  });
};

const pad = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - widthOf(text)));

import { type RunEvent, unknownUsage } from '../ralph/events.ts';
import { totalUsage } from '../ralph/usage.ts';
import type { RunView, OnRunEvent } from '../ralph/view.ts';
import { duration, table, widthOf } from '../text/format.ts';
import { oneLine, truncate } from './shorten.ts';
import { costOf, filesChangedText } from './figures.ts';
import { allAllowed } from './live.ts';
import type { Terminal } from './terminal.ts';

/** The result of one change of a batch. */
export interface Outcome {
  readonly change: string;
  /** null if the change was not started. */
  readonly view: RunView | null;
  /** Why it was not started, or another remark. */
  readonly note: string | null;
}

export interface Dashboard {
  /** Returns the reporter of one run. */
  reportOf(change: string): OnRunEvent;
  log(line: string): void;
  dispose(): void;
}

/** Shows several runs on one terminal: if it is interactive, one line per run that is redrawn; otherwise one line per step. */
export const createDashboard = (terminal: Terminal): Dashboard => {
  const lines = new Map<string, Progress>();
  let drawn: string[] = [];

  const erase = () => {
    // Lines wrap when the window gets narrower.
    const rows = drawn.reduce((sum, text) => sum + Math.max(1, Math.ceil(widthOf(text) / terminal.columns)), 0);
    if (rows > 0) terminal.control({ erase: 'rows above', rows });
    drawn = [];
  };
  const draw = () => {
    if (!terminal.isInteractive) return;
    erase();
    // Lines that have scrolled out of the window cannot be redrawn.
    const fitting = [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, Math.max(1, terminal.rows - 2));
    drawn = fitting.map(([change, progress]) => fitLine(oneLine(change), progress, terminal.columns - 1));
    for (const text of drawn) terminal.log(`${text}\n`);
  };
  const log = (line: string) => {
    erase();
    terminal.log(`${line}\n`);
    draw();
  };

  return {
    log,
    reportOf: (change) => (event, view) => {
      if (event.type === 'run-ended') lines.delete(change);
      else if (event.type !== 'agent' && event.type !== 'notice') lines.set(change, progressOf(event, view));
      const step = stepOf(event, view);
      if (step === null) draw();
      else log(`${change}: ${step}`);
    },
    dispose: erase,
  };
};

/** Descriptions of the current step, longest first. */
type Progress = readonly string[];

const progressOf = (event: RunEvent, { iteration, maxIterations, elapsedMs }: RunView): Progress => {
  const of = maxIterations === null ? '' : ` of ${maxIterations}`;
  const state = event.type === 'waiting' ? 'waiting' : event.type === 'gate-started' ? 'verifying' : 'working';
  const why = event.type === 'waiting' ? `: ${oneLine(event.why)}` : '';
  return [
    `iteration ${iteration}${of}, ${state}${why}, ${duration(elapsedMs)}`,
    `iteration ${iteration}${of}, ${state}`,
    `${iteration}, ${state}`,
  ];
};

/** Enough of an ID to tell changes apart: `002-01_a…`. */
const shortIdLength = 9;

/** Returns one line that does not wrap, with as much of the ID as fits beside the progress. */
const fitLine = (change: string, progress: Progress, columns: number): string => {
  const roomBeside = (text: string) => columns - widthOf(text) - 2;
  const fits = (text: string) => roomBeside(text) >= Math.min(shortIdLength, widthOf(change));
  const text = progress.find(fits) ?? progress.at(-1)!;
  const id = truncate(change, roomBeside(text), '…');
  return truncate(id === '' ? text : `${id}  ${text}`, columns);
};

/** Returns the permanent line for an event; null if it has none. */
const stepOf = (event: RunEvent, view: RunView): string | null => {
  switch (event.type) {
    case 'notice':
      return event.text;
    case 'run-started':
      return event.plan.allowAll ? allAllowed(event.plan) : null;
    case 'iteration-finished': {
      const { iteration, error, rejected, completionFound, git } = event.record;
      const result = completionFound ? 'promise accepted' : (rejected ?? error?.message ?? 'not done yet');
      return `iteration ${iteration}, ${oneLine(result, 100)}${git === null ? '' : `, ${filesChangedText(git)}`}`;
    }
    case 'run-ended':
      return `${event.reason}, ${oneLine(event.detail)} (${duration(view.elapsedMs)})`;
    default:
      return null;
  }
};

/** Renders the final table, one line per change. */
export const renderOutcomes = (outcomes: readonly Outcome[]): string[] => {
  const rows = outcomes.map(({ change, view, note }) => {
    if (view === null) return [change, 'not started', '-', '-', '-', '-', note ?? ''];
    const { status, finishedIterations, elapsedMs, files, workspace } = view;
    const cost = costOf(totalUsage(view) ?? unknownUsage);
    return [
      change,
      status,
      String(finishedIterations),
      duration(elapsedMs),
      String(files.length),
      cost,
      note ?? workspace?.branch ?? '',
    ];
  });
  return table([['change', 'status', 'iterations', 'time', 'files', 'cost', 'where'], ...rows], [2, 3, 4, 5]);
};

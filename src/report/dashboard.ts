import type { RunEvent } from '../ralph/events.ts';
import { totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { pluralise, truncate, duration, oneLine, table, widthOf } from '../text/format.ts';
import { costOf } from './figures.ts';
import { allAllowed } from './live.ts';
import type { OnRunEvent } from '../ralph/view.ts';
import type { Terminal } from './terminal.ts';
import { unknownUsage } from '../ralph/events.ts';

/** How a change came out of a run of several. */
export interface Outcome {
  readonly change: string;
  /** null when it was not started. */
  readonly view: RunView | null;
  /** Why it was not started, or what else there is to say. */
  readonly note: string | null;
}

export interface Dashboard {
  /** The reader of one of the runs. */
  reportOf(change: string): OnRunEvent;
  say(line: string): void;
  dispose(): void;
}

/** Several runs on one terminal: on a screen one line for each that is drawn anew, otherwise a line for each step. */
export const createDashboard = (terminal: Terminal): Dashboard => {
  const lines = new Map<string, Progress>();
  let drawn: string[] = [];

  const erase = () => {
    // A window that was made narrower has wrapped what was drawn.
    const rows = drawn.reduce((sum, text) => sum + Math.max(1, Math.ceil(widthOf(text) / terminal.columns)), 0);
    if (rows > 0) terminal.control({ erase: 'rows above', rows });
    drawn = [];
  };
  const draw = () => {
    if (!terminal.isInteractive) return;
    erase();
    // No more than fit: lines that have scrolled away cannot be drawn again.
    const fitting = [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, Math.max(1, terminal.rows - 2));
    drawn = fitting.map(([change, progress]) => fitLine(oneLine(change), progress, terminal.columns - 1));
    for (const text of drawn) terminal.log(`${text}\n`);
  };
  const say = (line: string) => {
    erase();
    terminal.log(`${line}\n`);
    draw();
  };

  return {
    say,
    reportOf: (change) => (event, view) => {
      if (event.type === 'run-ended') lines.delete(change);
      else if (event.type !== 'agent' && event.type !== 'notice') lines.set(change, progressOf(event, view));
      const step = stepOf(event, view);
      if (step === null) draw();
      else say(`${change}: ${step}`);
    },
    dispose: erase,
  };
};

/** What happens now, from all there is to say of it down to the least. */
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

/** Enough of an id to tell it from others: `002-01_a…`. */
const shortId = 9;

/** One line that never wraps: of the id as much as there is room for beside what happens. */
const fitLine = (change: string, progress: Progress, columns: number): string => {
  const roomBeside = (text: string) => columns - widthOf(text) - 2;
  const fits = (text: string) => roomBeside(text) >= Math.min(shortId, widthOf(change));
  const text = progress.find(fits) ?? progress.at(-1)!;
  const id = truncate(change, roomBeside(text), '…');
  return truncate(id === '' ? text : `${id}  ${text}`, columns);
};

/** What is worth a line that stays. */
const stepOf = (event: RunEvent, view: RunView): string | null => {
  switch (event.type) {
    case 'notice':
      return event.text;
    case 'run-started':
      return event.plan.allowAll ? allAllowed(event.plan) : null;
    case 'iteration-finished': {
      const { iteration, error, rejected, completionFound, git } = event.record;
      const said = completionFound ? 'promised' : (rejected ?? error?.message ?? 'no promise yet');
      return `iteration ${iteration}, ${oneLine(said, 100)}${git === null ? '' : `, ${pluralise(git.filesChanged, 'file')} changed`}`;
    }
    case 'run-ended':
      return `${event.reason}, ${oneLine(event.detail)} (${duration(view.elapsedMs)})`;
    default:
      return null;
  }
};

/** The table at the end, one line for each change. */
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
  return table([['change', 'status', 'iterations', 'at work', 'files', 'cost', 'where'], ...rows], [2, 3, 4, 5]);
};

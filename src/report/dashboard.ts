import { type RunEvent } from '../ralph/events.ts';
import { unknownUsage } from '../ralph/agent-events.ts';
import { totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { type Column, duration, titledTable, widthOf } from '../text/format.ts';
import { oneLine, truncate } from './shorten.ts';
import { costOf, filesChangedText } from './figures.ts';
import { allAllowed } from './live.ts';
import type { Display } from './display.ts';
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
  displayOf(change: string): Display;
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
    displayOf: (change) => ({
      onEvent: (event, view) => {
        const activity = activityOf(event);
        if (event.type === 'run-ended') lines.delete(change);
        else if (activity !== null) lines.set(change, progressOf(activity, view));
        const steps = stepsOf(event, view);
        if (steps.length === 0) draw();
        else log(steps.map((step) => `${change}: ${step}`).join('\n'));
      },
      warn: log,
      dispose: () => {
        if (lines.delete(change)) draw();
      },
    }),
    dispose: erase,
  };
};

/** Descriptions of the current step, longest first. */
type Progress = readonly string[];

interface Activity {
  readonly name: 'working' | 'verifying' | 'waiting';
  readonly why?: string;
}

/** Returns what a run does after an event; null if the event does not change it. */
const activityOf = (event: RunEvent): Activity | null => {
  switch (event.type) {
    case 'run-started':
    case 'iteration-started':
    case 'iteration-pending':
    case 'iteration-finished':
    case 'attempt-deferred':
      return { name: 'working' };
    case 'gate-started':
      return { name: 'verifying' };
    case 'waiting':
      return { name: 'waiting', why: event.why };
    case 'agent':
    case 'notice':
    case 'run-ended':
      return null;
  }
};

const progressOf = ({ name, why }: Activity, { iteration, maxIterations, elapsedMs }: RunView): Progress => {
  const of = maxIterations === null ? '' : ` of ${maxIterations}`;
  const reason = why === undefined ? '' : `: ${oneLine(why)}`;
  return [
    `iteration ${iteration}${of}, ${name}${reason}, ${duration(elapsedMs)}`,
    `iteration ${iteration}${of}, ${name}`,
    `${iteration}, ${name}`,
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

/** Returns the permanent lines for an event. */
const stepsOf = (event: RunEvent, view: RunView): readonly string[] => {
  switch (event.type) {
    case 'notice':
      return [event.text];
    case 'run-started':
      return event.plan.allowAll ? [allAllowed(event.plan)] : [];
    case 'iteration-finished': {
      const { iteration, error, rejected, completionFound, git } = event.record;
      const result = completionFound ? 'promise accepted' : (rejected ?? error?.message ?? 'not done yet');
      return [`iteration ${iteration}, ${oneLine(result, 100)}${git === null ? '' : `, ${filesChangedText(git)}`}`];
    }
    case 'run-ended':
      return [`${event.reason}, ${oneLine(event.detail)} (${duration(view.elapsedMs)})`, ...(event.notes ?? [])];
    case 'iteration-started':
    case 'agent':
    case 'attempt-deferred':
    case 'waiting':
    case 'iteration-pending':
    case 'gate-started':
      return [];
  }
};

const outcomeColumns: readonly Column<Outcome>[] = [
  { title: 'change', value: ({ change }) => change },
  { title: 'status', value: ({ view }) => view?.status ?? 'not started' },
  { title: 'iterations', numeric: true, value: ({ view }) => (view === null ? '-' : String(view.finishedIterations)) },
  { title: 'time', numeric: true, value: ({ view }) => (view === null ? '-' : duration(view.elapsedMs)) },
  { title: 'files', numeric: true, value: ({ view }) => (view === null ? '-' : String(view.files.length)) },
  { title: 'cost', numeric: true, value: ({ view }) => costOf((view && totalUsage(view)) ?? unknownUsage) },
  { title: 'where', value: ({ view, note }) => note ?? view?.workspace?.branch ?? '' },
];

/** Renders the final table, one line per change. */
export const renderOutcomes = (outcomes: readonly Outcome[]): string[] => titledTable(outcomeColumns, outcomes);

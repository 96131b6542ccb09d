import { type RunEvent } from '../ralph/events.ts';
import { agentKey } from '../ralph/plan.ts';
import type { Usage } from '../ralph/agent-events.ts';
import type { TaskCount } from '../ralph/record.ts';
import { addUsage, spentUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { countdown } from '../text/duration.ts';
import { dayTime, duration, secondsTime } from '../text/format.ts';
import { type DashboardRun, renderDashboard } from './render-dashboard.ts';
import type { Canvas } from './canvas.ts';
import { costText } from './figures.ts';
import { createFooter } from './footer.ts';
import { allAllowed } from './introduction.ts';
import { resultText } from './iteration-lines.ts';
import { messageLines } from './message.ts';
import { oneLine } from './shorten.ts';
import type { Display } from './display.ts';
import { colorOf } from './status-style.ts';
import { reviewText } from './review-lines.ts';
import { pausedText, requestText } from './steering.ts';
import { type Column, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { toolText } from './tool-lines.ts';
import { switchText } from './ladder.ts';

/** The result of one change of a batch. */
export interface Outcome {
  readonly change: string;
  /** null if the change was not started. */
  readonly view: RunView | null;
  /** Why it was not started, or another remark. */
  readonly detail: string | null;
}

export interface Dashboard {
  /** Returns the reporter of one run. */
  displayOf(change: string): Display;
  /** A change of the queue is not run. */
  skip(change: string): void;
  log(message: string): void;
  dispose(): void;
}

/** What the dashboard knows about a run. */
interface Progress {
  readonly iteration: number;
  readonly maxIterations: number | null;
  readonly tasks: TaskCount | null;
  /** Before the iteration. */
  readonly tasksAtStart: TaskCount | null;
  readonly usage: Usage | null;
  /** When the iteration started, in ticks of the monotonic clock. */
  readonly since: number;
  readonly activity: string;
  /** In milliseconds since 1970; null if it does not wait. */
  readonly waitsUntilMs: number | null;
}

/** Shows several runs on one terminal: if it is interactive, a dashboard that is redrawn; otherwise one line per step. */
export const createDashboard = (terminal: Terminal, changes: readonly string[]): Dashboard => {
  const startedAt = performance.now();
  const queued = new Set(changes);
  const runs = new Map<string, Progress>();
  /** Of all runs, including those that ended. */
  const usages = new Map<string, Usage | null>();
  let finished = 0;

  const footer = createFooter(terminal, () => {
    if (runs.size === 0) return [];
    const state = {
      runs: [...runs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([change, run]) => boardRun(change, run)),
      queued: [...queued].map((change) => oneLine(change)),
      total: changes.length,
      finished,
      elapsedMs: performance.now() - startedAt,
      cost: costText([...usages.values()].reduce<Usage | null>(addUsage, null)),
    };
    return renderDashboard(state, terminal);
  });
  const log = (text: string) => footer.log(`${messageLines(text, terminal).join('\n')}\n`);
  const leave = (change: string) => {
    if (runs.delete(change)) finished++;
  };

  return {
    log,
    skip: (change) => {
      if (queued.delete(change)) finished++;
    },
    displayOf: (change) => {
      queued.delete(change);
      runs.set(change, idle);
      footer.start();
      return {
        onEvent: (event, view) => {
          const before = runs.get(change) ?? idle;
          usages.set(change, spentUsage(view));
          const steps = stepsOf(event, view, { before, terminal });
          if (event.type === 'run-ended') leave(change);
          else if (runs.has(change)) runs.set(change, { ...before, ...progressOf(event, view, terminal) });
          const stamp = terminal.isInteractive || !('at' in event) ? '' : `${secondsTime(new Date(event.at))} `;
          if (steps.length > 0) log(steps.map((step) => `${stamp}${change}: ${step}`).join('\n'));
          else if (event.type !== 'agent') footer.refresh();
        },
        warn: log,
        dispose: () => {
          if (runs.has(change)) {
            leave(change);
            footer.refresh();
          }
        },
      };
    },
    dispose: footer.stop,
  };
};

const idle: Progress = {
  iteration: 0,
  maxIterations: null,
  tasks: null,
  tasksAtStart: null,
  usage: null,
  since: performance.now(),
  activity: 'starting',
  waitsUntilMs: null,
};

/** Returns what an event changes. */
const progressOf = (event: RunEvent, view: RunView, { symbols }: Terminal): Partial<Progress> => {
  switch (event.type) {
    case 'run-started':
      return {
        maxIterations: view.maxIterations,
        iteration: view.iteration,
        tasks: event.tasks ?? null,
        tasksAtStart: event.tasks ?? null,
        since: performance.now(),
      };
    case 'iteration-started':
      return { iteration: event.iteration, since: performance.now(), activity: 'working', waitsUntilMs: null };
    case 'reviewer':
    case 'agent': {
      if (event.event.type === 'usage') return { usage: spentUsage(view) };
      if (event.event.type !== 'tool') return {};
      return { activity: toolText(event.event, { symbols, root: view.workspace?.root ?? null }) };
    }
    case 'gate-started':
      return { activity: `verifying: ${oneLine(event.commands.join('; '))}` };
    case 'review-started':
      return { activity: `review by ${oneLine(agentKey(event.agent))}`, waitsUntilMs: null };
    case 'tasks-changed':
      return { tasks: event.tasks };
    case 'iteration-finished': {
      const { tasks } = event.record;
      return { tasks, tasksAtStart: tasks, usage: spentUsage(view), activity: 'finishing the iteration' };
    }
    case 'waiting':
      return { waitsUntilMs: event.untilMs, activity: oneLine(event.why) };
    case 'notice':
      return event.activity === undefined ? {} : { activity: event.activity };
    case 'paused':
      return { activity: 'paused', waitsUntilMs: null };
    case 'resumed':
      return { activity: 'working' };
    case 'agent-switched':
    case 'attempt-deferred':
    case 'review-finished':
    case 'iteration-pending':
    case 'requested':
    case 'run-ended':
      return {};
  }
};

const boardRun = (change: string, run: Progress): DashboardRun => ({
  change: oneLine(change),
  isWaiting: run.waitsUntilMs !== null,
  iteration: run.iteration === 0 ? '' : `#${run.iteration}${run.maxIterations === null ? '' : `/${run.maxIterations}`}`,
  tasks: run.tasks === null ? '' : `${run.tasks.done}/${run.tasks.total}`,
  time: run.iteration === 0 || run.waitsUntilMs !== null ? '' : stopwatchText(performance.now() - run.since),
  cost: costText(run.usage),
  activity: run.waitsUntilMs === null ? run.activity : waitText(run.waitsUntilMs, run.activity),
});

/** `waiting 1m 26s: usage limit of opencode: slow down (HTTP 429)` */
const waitText = (untilMs: number, why: string): string =>
  `waiting ${duration(countdown(untilMs, Date.now()))} until ${dayTime(new Date(untilMs))}: ${why}`;

/** `0:47`, `1:02:03` */
const stopwatchText = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  const pad2 = (number: number) => String(number).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const rest = pad2(seconds % 60);
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${pad2(minutes % 60)}:${rest}`;
};

/** Returns the permanent lines for an event. */
const stepsOf = (
  event: RunEvent,
  view: RunView,
  { before, terminal }: { readonly before: Progress; readonly terminal: Terminal },
): readonly string[] => {
  switch (event.type) {
    case 'notice':
      return [event.text];
    case 'requested': {
      const text = requestText(event.command, view);
      return text === null ? [] : [text];
    }
    case 'paused':
      return [pausedText(view)];
    case 'resumed':
      return ['Resumed.'];
    case 'agent-switched':
      return [switchText(event.switched, view)];
    case 'run-started':
      return event.plan.allowAll ? [allAllowed(event.plan)] : [];
    case 'iteration-finished': {
      const { separator } = terminal.symbols;
      const { verdict, facts } = resultText(event.record, before.tasksAtStart, terminal.symbols);
      return [`iteration ${event.record.iteration}: ${verdict === '' ? '' : `${verdict}${separator}`}${facts}`];
    }
    case 'run-ended':
      return [`${event.reason}, ${oneLine(event.detail)} (${duration(view.elapsedMs)})`, ...(event.notes ?? [])];
    case 'review-finished':
      return [reviewText(event.review, terminal.symbols)];
    case 'iteration-started':
    case 'agent':
    case 'reviewer':
    case 'review-started':
    case 'tasks-changed':
    case 'attempt-deferred':
    case 'waiting':
    case 'iteration-pending':
    case 'gate-started':
      return [];
  }
};

const outcomeStyle = ({ view }: Outcome) => (view === null ? 'yellow' : colorOf(view.status));

const outcomeColumns: readonly Column<Outcome>[] = [
  { title: 'change', value: ({ change }) => change, min: 20 },
  { title: 'status', value: ({ view }) => view?.status ?? 'not started', style: outcomeStyle },
  {
    title: 'iterations',
    numeric: true,
    value: ({ view }) => (view === null ? '-' : String(view.finishedIterations)),
    drop: 3,
  },
  { title: 'time', numeric: true, value: ({ view }) => (view === null ? '-' : duration(view.elapsedMs)), drop: 2 },
  { title: 'files', numeric: true, value: ({ view }) => (view === null ? '-' : String(view.files.length)), drop: 4 },
  { title: 'cost', numeric: true, value: ({ view }) => costText(view && spentUsage(view)) || '-', drop: 1 },
  { title: 'where', value: ({ view, detail }) => detail ?? view?.workspace?.branch ?? '', min: 16 },
];

/** Renders the final table, one line per change, as wide as an interactive terminal. */
export const renderOutcomes = (
  outcomes: readonly Outcome[],
  { style, symbols, isInteractive, columns }: Canvas & Pick<Terminal, 'isInteractive'>,
): string[] => renderTable(outcomeColumns, outcomes, { style, symbols, columns: isInteractive ? columns : Infinity });

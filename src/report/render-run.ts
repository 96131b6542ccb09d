import type { IterationRecord } from '../ralph/record.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { dayTime, pluralise, someOf, widthOf } from '../text/format.ts';
import type { Canvas } from './canvas.ts';
import { fact } from './facts.ts';
import { renderIterationsTable } from './iterations-table.ts';
import { oneLine } from './shorten.ts';
import { markOf } from './status-style.ts';
import { steeringText } from './steering.ts';
import { nextCommands, summarise, type SummaryFacts } from './summary.ts';
import { wrap } from './wrap.ts';

export interface RunFacts extends SummaryFacts {
  /** Whether the process of the run is alive. */
  readonly alive: boolean;
  /** What the run does now. */
  readonly activity?: string | null;
  /** The ids of processes that are left of a run that was killed. */
  readonly leftovers?: readonly number[];
  /** Whether the branch of the run has landed. */
  readonly isLanded?: boolean;
  /** Renders a row for each of the records. */
  readonly table: boolean;
}

/**
 * Renders a run: what became of it, what it has done, its iterations, and the next commands. Shown by `spool status`, and
 * without the iterations at the end of a run, which has just shown them.
 */
export const renderRun = (saved: RunView, facts: RunFacts, canvas: Canvas): string[] => {
  const view = { ...saved, status: currentStatus(saved, facts.alive) };
  const { records, activity, leftovers = [], isLanded = false } = facts;
  const lines = [
    ...title(view, canvas),
    ...(activity && view.status === 'running' && !view.pausedAt ? fact('Now', activity, canvas) : []),
    ...(leftovers.length > 0 ? fact('Left over', leftoversText(leftovers), canvas) : []),
    ...summarise(view, facts, canvas),
    ...(facts.table ? recordLines(view, records, canvas) : []),
    '',
    ...nextCommands(view, { records, leftovers, isLanded }, canvas),
  ];
  return lines.map(canvas.symbols.replace);
};

/** A table of the iterations below an empty line, and how many are left out. */
export const recordLines = (view: RunView, records: readonly IterationRecord[], canvas: Canvas): string[] => {
  const earlier = view.finishedIterations - records.length;
  return [
    ...(records.length > 0 ? ['', ...indented(records, canvas)] : []),
    ...(earlier > 0 ? [`  ${pluralise(earlier, 'earlier iteration')} (--all shows all)`] : []),
  ];
};

/** `2 processes of the agent are still running (PID 4711, 4712)` */
const leftoversText = (pids: readonly number[]): string => {
  const processes = pids.length === 1 ? '1 process of the agent is' : `${pids.length} processes of the agent are`;
  return `${processes} still running (PID ${someOf(pids.map(String), pids.length, 5)})`;
};

const indented = (records: readonly IterationRecord[], canvas: Canvas): string[] =>
  renderIterationsTable(records, { ...canvas, columns: canvas.columns - 2 }).map((line) => `  ${line}`);

const words: Record<RunView['status'], string> = {
  running: 'Running',
  complete: 'Complete',
  limit: 'Not complete',
  failed: 'Failed',
  blocked: 'Blocked',
  interrupted: 'Interrupted',
};

const title = (view: RunView, canvas: Canvas): string[] => {
  const { change, status } = view;
  const word = status === 'running' && view.pausedAt ? 'Paused' : words[status];
  return titleLines({ change, mark: markOf(status, canvas), text: `${word}: ${sentence(detailOf(view))}` }, canvas);
};

/** `✔ 002-01_add-ralph-loop  Complete: done in iteration 2.` In two lines where that is too long. */
export const titleLines = (
  { change, mark, text }: { readonly change: string; readonly mark: string; readonly text: string },
  canvas: Canvas,
): string[] => {
  const name = oneLine(change);
  if (widthOf(name) + widthOf(text) + 4 <= canvas.columns) return [`${mark} ${canvas.style('bold', name)}  ${text}`];
  return [`${mark} ${canvas.style('bold', name)}`, ...wrap(text, canvas.columns - 2).map((line) => `  ${line}`)];
};

const detailOf = (view: RunView): string =>
  view.status === 'running' ? runningText(view) : (view.detail ?? endText(view));

const runningText = (view: RunView): string => {
  const { iteration, maxIterations, pid, waiting } = view;
  const of = maxIterations === null ? '' : ` of ${maxIterations}`;
  if (view.pausedAt)
    return `since ${dayTime(new Date(view.pausedAt))}, before iteration ${view.finishedIterations + 1}${of}, PID ${pid}`;
  const wait = waiting === null ? '' : `, waiting until ${dayTime(new Date(waiting.untilMs))}: ${waiting.why}`;
  const steering = steeringText(view);
  return `iteration ${iteration}${of}, PID ${pid}${wait}${steering === null ? '' : `, ${steering}`}`;
};

/** A process that was killed saves no reason, and neither does one that could not write. */
const endText = ({ error, pending }: RunView): string => {
  const gate = pending ? ' during the checks' : '';
  return error
    ? `ended by an error${gate}: ${error}`
    : `the process is gone${gate}: it was killed, or could not save why it ended`;
};

/** One line that ends with a full stop. */
export const sentence = (text: string): string => {
  const line = oneLine(text);
  let end = line.length;
  while (end > 0 && '.…'.includes(line[end - 1]!)) end--;
  return `${line.slice(0, end)}.`;
};

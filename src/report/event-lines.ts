import type { RunEvent } from '../ralph/events.ts';
import { agentKey, type AgentChoice } from '../ralph/plan.ts';
import type { IterationRecord, TaskCount } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import { atTime, clockTime, duration, secondsTime } from '../text/format.ts';
import { canvasOf } from './canvas.ts';
import { type IntroductionOptions, introduce, shownCommand } from './introduction.ts';
import { mentionLines, resultText, ruleText } from './iteration-lines.ts';
import { switchText } from './ladder.ts';
import { messageLines } from './message.ts';
import { oneLine } from './shorten.ts';
import { findingLines, reviewStyle, reviewText } from './review-lines.ts';
import { pausedText, requestText } from './steering.ts';
import { renderRun } from './render-run.ts';
import type { Style, Terminal } from './terminal.ts';

export interface EventLineOptions extends IntroductionOptions {
  /** Also show the mentions of the promise that were ignored, and all settings of the run. */
  readonly verbose: boolean;
  /** Returns the folder with the prompts and logs of a run, relative to the current folder. */
  readonly folderOf: (view: RunView) => string;
  /** Returns the last iterations of a run, including those before it was resumed. */
  readonly recordsOf: (view: RunView) => readonly IterationRecord[];
}

/** What the lines of an event depend on besides the event. */
export interface EventContext {
  readonly view: RunView;
  readonly terminal: Terminal;
  readonly options: EventLineOptions;
  /** Before the iteration. */
  readonly tasks: TaskCount | null;
  /** The latest ones that were shown. */
  readonly records: readonly IterationRecord[];
  /** The attempt that was deferred just before the event; it has not been shown. */
  readonly deferred: Deferred | null;
}

export type Deferred = Of<'attempt-deferred'>;

type Of<Type extends RunEvent['type']> = RunEvent & { readonly type: Type };

/** Returns the lines that stay on the screen for an event. What agents say and do is shown elsewhere. */
export const linesOf = (event: RunEvent, context: EventContext): string[] => [
  ...deferredLines(event, context),
  ...ownLines(event, context),
];

const ownLines = (event: RunEvent, context: EventContext): string[] => {
  const { view, terminal, options } = context;
  const message = (text: string, style: Style) => styledMessage(text, style, terminal);
  switch (event.type) {
    case 'run-started':
      return introduce(event, options, terminal);
    case 'agent-switched':
      return ['', ...message(switchText(event.switched, view), 'yellow')];
    case 'iteration-started':
      return startLines(event, context);
    case 'notice':
      return message(event.text, 'yellow');
    case 'iteration-finished':
      return resultLines(event, context);
    case 'waiting':
      return waitLines(event, context);
    case 'requested': {
      const text = requestText(event.command, view);
      return text === null ? [] : message(text, 'yellow');
    }
    case 'paused':
      return message(pausedText(view), 'yellow');
    case 'resumed':
      return message('Resumed.', 'yellow');
    case 'gate-started':
      return message(`Verifying: ${event.commands.map((command) => shownCommand(command)).join('; ')}`, 'dim');
    case 'review-started': {
      const again = event.attempt > 1 ? ' (again)' : '';
      return message(`Reviewing with ${oneLine(agentKey(event.agent))}${again}`, 'dim');
    }
    case 'review-finished':
      return [
        ...message(reviewText(event.review, terminal.symbols), reviewStyle(event.review)),
        ...findingLines(event.review).flatMap((line) => messageLines(line, terminal)),
      ];
    case 'run-ended':
      return endLines(event, context);
    case 'reviewer':
    case 'agent':
    case 'tasks-changed':
    case 'attempt-deferred':
    case 'iteration-pending':
      return [];
    default:
      return event satisfies never;
  }
};

/** Each row is styled by itself: a style must not reach into the next line. */
const styledMessage = (text: string, style: Style, terminal: Terminal): string[] =>
  messageLines(text, terminal).map((row) => terminal.style(style, row));

/** In a log, lines that are hours apart carry the time. */
const stamp = (at: string, { isInteractive }: Terminal): string =>
  isInteractive ? '' : `${secondsTime(new Date(at))} `;

const startLines = (event: Of<'iteration-started'>, context: EventContext): string[] => {
  const { view, terminal } = context;
  const of = view.maxIterations === null ? '' : `/${view.maxIterations}`;
  const by = view.agents.length > 1 ? `, ${agentName(event.agent, context)}` : '';
  const title = `Iteration ${event.iteration}${of}${by}`;
  const clock = clockTime(new Date(event.at));
  const text = terminal.isInteractive ? ruleText(title, clock, terminal) : `${stamp(event.at, terminal)}${title}`;
  return ['', terminal.style('bold', text)];
};

/** `Claude Code`, or `Claude Code opus` for a rung of a ladder, where agents may differ only in their models. */
const agentName = ({ harness, model }: AgentChoice, { view, options }: EventContext): string => {
  const { title } = options.findHarness(harness);
  return view.ladder && model !== null ? `${title} ${oneLine(model)}` : title;
};

const resultLines = ({ record, at }: Of<'iteration-finished'>, context: EventContext): string[] => {
  const { view, terminal, options, tasks } = context;
  const { isInteractive, symbols } = terminal;
  const { style, verdict, facts } = resultText(record, tasks, symbols);
  const start = isInteractive ? `${symbols.result} ` : `${stamp(at, terminal)}Iteration ${record.iteration}: `;
  const text = `${start}${verdict === '' ? '' : `${verdict}${symbols.separator}`}${facts}`;
  return [
    ...(style === null ? messageLines(text, terminal) : styledMessage(text, style, terminal)),
    ...[...tamperingAdvice(record, view), ...(options.verbose ? mentionLines(record) : [])].flatMap((line) =>
      messageLines(line, terminal),
    ),
  ];
};

/** Returns the commands that restore or accept what the gate rejected as tampering. */
const tamperingAdvice = ({ gate }: IterationRecord, { workspace }: RunView): string[] => {
  const where = workspace?.worktree ? ` (in ${workspace.root})` : '';
  return [
    ...(gate?.restore ?? []).map((way) => `  To restore it${where}: ${oneLine(way)}`),
    ...(gate?.accept ? [`  To accept it: ${gate.accept}`] : []),
  ];
};

/** How the run continues after a deferred attempt, in one line. At the end of the run, its last iteration says it. */
const deferredLines = (event: RunEvent, context: EventContext): string[] => {
  const { deferred, view, terminal } = context;
  if (deferred === null || event.type === 'iteration-finished') return [];
  const problem = problemText(deferred, view.agents.length > 1 ? agentName(deferred.attempt, context) : null);
  return styledMessage(`${problem}${continuation(event, deferred, context)}`, 'yellow', terminal);
};

const continuation = (event: RunEvent, { attempt }: Deferred, context: EventContext): string => {
  if (event.type === 'waiting') return ` Resuming ${whenText(event)}.`;
  if (event.type !== 'iteration-started') return '';
  const isOther = event.agent.harness !== attempt.harness || event.agent.model !== attempt.model;
  return isOther ? ` Falling back to ${agentName(event.agent, context)}.` : ' Trying again.';
};

/** `Usage limit reached (HTTP 429).`, or `OpenCode: usage limit reached (HTTP 429).` if there are several agents. */
const problemText = ({ attempt: { error } }: Deferred, agent: string | null): string => {
  const message = oneLine(error?.message ?? 'not available', maxReason);
  const text = error?.kind === 'rate-limit' ? limitText(message) : message;
  const start = agent === null ? text.charAt(0).toUpperCase() : `${agent}: ${text.charAt(0)}`;
  return sentence(`${start}${text.slice(1)}`);
};

const maxReason = 200;

/** Says once that it is a usage limit: the message of the provider may say it as well. */
const limitText = (message: string): string =>
  /\b(?:usage|rate)[ -]limit/i.test(message) ? message : `usage limit reached: ${message}`;

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

const waitLines = (event: Of<'waiting'>, { deferred, terminal }: EventContext): string[] => {
  if (deferred !== null) return [];
  return styledMessage(`Resuming ${whenText(event)}: ${oneLine(event.why)}.`, 'dim', terminal);
};

const oneMinute = 60_000;

/** `in 5s`, `at 06:51`, `tomorrow at 00:10`. */
const whenText = ({ untilMs, at }: Of<'waiting'>): string => {
  const ms = Math.max(0, untilMs - Date.parse(at));
  return ms < oneMinute ? `in ${duration(ms)}` : atTime(new Date(untilMs), new Date(at));
};

const endLines = ({ notes = [] }: Of<'run-ended'>, { view, terminal, options, records }: EventContext): string[] => {
  const saved = options.recordsOf(view);
  const known = saved.length > records.length ? saved : records;
  return [
    '',
    ...renderRun(view, { records: known, alive: false, table: true, now: new Date() }, canvasOf(terminal)),
    ...styledMessage(`  Prompts and logs: ${options.folderOf(view)}`, 'dim', terminal),
    ...notes.flatMap((note) => styledMessage(note, 'yellow', terminal)),
  ];
};

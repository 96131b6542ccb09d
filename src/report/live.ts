import { addUsage, totalUsage } from '../ralph/usage.ts';
import type { AgentEvent, Usage } from '../ralph/agent-events.ts';
import type { RunPlan } from '../ralph/plan.ts';
import type { IterationRecord, TaskCount } from '../ralph/record.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { clockTime, duration, pluralise, secondsTime } from '../text/format.ts';
import { createAgentLines } from './agent-lines.ts';
import { canvasOf } from './canvas.ts';
import type { Display } from './display.ts';
import { costText, shortTokens } from './figures.ts';
import { type IntroductionOptions, introduce, shownCommand } from './introduction.ts';
import { mentionLines, resultText, ruleText } from './iteration-lines.ts';
import { oneLine } from './shorten.ts';
import { createStatusLine } from './status-line.ts';
import { pausedText, requestText } from './steering.ts';
import { renderRun } from './status.ts';
import type { Terminal } from './terminal.ts';
import { toolText } from './tool-lines.ts';
import { wrap } from './wrap.ts';

export interface LiveOptions extends IntroductionOptions {
  /** Show the agent's messages and tool calls. */
  readonly stream: boolean;
  /** Also show reasoning and the mentions of the promise that were ignored, and all settings of the run. */
  readonly verbose: boolean;
  /** Returns the folder with the prompts and logs of a run, relative to the current folder. */
  readonly folderOf: (view: RunView) => string;
  /** Shows no status line: the events are those of a run in the past. */
  readonly isReplay?: boolean;
}

const oneMinute = 60_000;
const maxRecords = 20;

/** Renders the events of a run as text. */
export const createLiveReporter = (terminal: Terminal, options: LiveOptions): Display => {
  const { style, symbols } = terminal;
  let plan: RunPlan | null = null;
  let tasks: TaskCount | null = null;
  let root: string | null = null;
  /** Those of the current iteration. */
  let toolCalls = 0;
  let lastTool = '';
  let usage: Usage | null = null;
  /** The latest ones, for the end. */
  let records: readonly IterationRecord[] = [];

  /** The most important first, as the last ones are left out on a narrow terminal. */
  const figures = (): string[] => [
    toolCalls === 0 ? '' : pluralise(toolCalls, 'tool'),
    tasks === null ? '' : `${tasks.done}/${tasks.total} tasks`,
    costText(usage),
    options.stream ? '' : lastTool,
    shortTokens(usage),
  ];
  const statusLine = createStatusLine(terminal, figures);
  const startStatus: typeof statusLine.start = (...status) =>
    options.isReplay ? undefined : statusLine.start(...status);
  const agent = createAgentLines(terminal, statusLine, { ...options, root: () => root });

  const log = (line: string) => {
    agent.endLine();
    statusLine.log(`${line}\n`);
  };
  /** In a log, lines that are hours apart carry the time. */
  const stamp = (at: string) => (terminal.isInteractive ? '' : `${secondsTime(new Date(at))} `);

  const onAgent = (event: AgentEvent, view: RunView): void => {
    if (event.type === 'tool') {
      toolCalls++;
      if (!options.stream) lastTool = toolText(event, { symbols, root });
    }
    if (event.type === 'usage') usage = spentOf(view);
    if (options.stream) agent.show(event);
  };

  const onIterationStarted = (event: RunEvent & { type: 'iteration-started' }, view: RunView) => {
    statusLine.stop();
    const title = iterationTitle(event, plan, options);
    const clock = clockTime(new Date(event.at));
    log('');
    log(style('bold', terminal.isInteractive ? ruleText(title, clock, terminal) : `${stamp(event.at)}${title}`));
    [toolCalls, lastTool, usage] = [0, '', spentOf(view)];
    startStatus(`${options.harness(event.agent.harness).title} is working…`, { sinceMs: Date.parse(event.at) });
  };

  const onIterationFinished = ({ record, at }: RunEvent & { type: 'iteration-finished' }, view: RunView) => {
    statusLine.stop();
    const { style: colour, verdict, facts } = resultText(record, tasks, symbols);
    tasks = record.tasks ?? tasks;
    records = [...records, record].slice(-maxRecords);
    const start = terminal.isInteractive ? `${symbols.result} ` : `${stamp(at)}Iteration ${record.iteration}: `;
    const text = `${start}${verdict === '' ? '' : `${verdict}${symbols.separator}`}${facts}`;
    for (const row of terminal.isInteractive ? wrap(text, terminal.columns, '  ') : [text])
      log(colour === null ? row : style(colour, row));
    for (const line of tamperingAdvice(record, view)) log(line);
    if (options.verbose) mentionLines(record).forEach(log);
  };

  const onWaiting = ({ untilMs, why, at }: RunEvent & { type: 'waiting' }) => {
    const ms = Math.max(0, untilMs - Date.parse(at));
    const until = ms < oneMinute ? '' : ` (until ${clockTime(new Date(untilMs))})`;
    log(style('dim', `Waiting ${duration(ms)}${until}: ${oneLine(why)}.`));
    startStatus('Resuming in', { untilMs });
  };

  const onEvent = (event: RunEvent, view: RunView): void => {
    switch (event.type) {
      case 'run-started':
        plan = event.plan;
        tasks = event.tasks ?? null;
        root = event.workspace.root;
        return introduce(event, options, terminal).forEach(log);
      case 'iteration-started':
        return onIterationStarted(event, view);
      case 'agent':
        return onAgent(event.event, view);
      case 'notice':
        return log(style('yellow', event.text));
      case 'iteration-finished':
        return onIterationFinished(event, view);
      case 'attempt-deferred':
        statusLine.stop();
        return log(style('yellow', describeDeferred(event, view, options)));
      case 'waiting':
        return onWaiting(event);
      case 'requested': {
        const text = requestText(event.command, view);
        return text === null ? undefined : log(style('yellow', text));
      }
      case 'paused':
        statusLine.stop();
        log(style('yellow', pausedText(view)));
        return startStatus('Paused', { sinceMs: Date.parse(event.at) });
      case 'resumed':
        statusLine.stop();
        return log(style('yellow', 'Resumed.'));
      case 'iteration-pending':
        return;
      case 'gate-started':
        statusLine.stop();
        log(style('dim', `Verifying: ${event.commands.map((command) => shownCommand(command)).join('; ')}`));
        return startStatus('Verifying…', { sinceMs: Date.now() });
      case 'run-ended':
        statusLine.stop();
        log('');
        for (const line of renderRun(view, { records, alive: false, table: true, now: new Date() }, canvasOf(terminal)))
          log(line);
        log(style('dim', `  Prompts and logs: ${options.folderOf(view)}`));
        for (const note of event.notes ?? []) log(style('yellow', note));
        return terminal.isInteractive && !options.isReplay ? terminal.bell() : undefined;
      default:
        return event satisfies never;
    }
  };

  return {
    onEvent,
    warn: log,
    dispose: () => {
      agent.endLine();
      statusLine.stop();
    },
  };
};

const spentOf = (view: RunView): Usage | null => addUsage(totalUsage(view), view.currentUsage);

const iterationTitle = (
  event: RunEvent & { type: 'iteration-started' },
  plan: RunPlan | null,
  { harness }: LiveOptions,
) => {
  const of = plan === null || plan.maxIterations === Infinity ? '' : `/${plan.maxIterations}`;
  const by = (plan?.agents.length ?? 1) > 1 ? `, ${harness(event.agent.harness).title}` : '';
  return `Iteration ${event.iteration}${of}${by}`;
};

/** Returns the commands that restore or accept what the gate rejected as tampering. */
const tamperingAdvice = ({ gate }: IterationRecord, { workspace }: RunView): string[] => {
  if (!gate?.accept) return [];
  const where = workspace?.worktree ? ` (in ${workspace.root})` : '';
  return [
    ...(gate.restore ?? []).map((way) => `  To restore it${where}: ${oneLine(way)}`),
    `  To accept it: ${gate.accept}`,
  ];
};

const describeDeferred = (
  event: RunEvent & { type: 'attempt-deferred' },
  view: RunView,
  { harness }: LiveOptions,
): string => {
  const { attempt } = event;
  const others = view.agents.length > 1 ? ' Falling back to another agent if one is available.' : '';
  const problem = attempt.error?.kind === 'rate-limit' ? 'hit its usage limit' : 'is not available';
  const why = oneLine(attempt.error?.message ?? 'no reason given', 200);
  return `${harness(attempt.harness).title} ${problem}: ${why} (not counted as an iteration).${others}`;
};

import type { AgentEvent } from '../ralph/agent-events.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { IterationRecord } from '../ralph/record.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';
import { createAgentLines } from './agent-lines.ts';
import type { Display } from './display.ts';
import { type Deferred, type EventLineOptions, linesOf } from './event-lines.ts';
import { createLiveFigures } from './live-figures.ts';
import { messageLines } from './message.ts';
import { shownIterations } from './shown-iterations.ts';
import { type Clock, createStatusLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

export interface LiveOptions extends EventLineOptions {
  /** Show the agent's messages and tool calls. */
  readonly stream: boolean;
  /** Also show reasoning and the mentions of the promise that were ignored, and all settings of the run. */
  readonly verbose: boolean;
  /** Shows no status line: the events are those of a run in the past. */
  readonly isReplay?: boolean;
}

/** Renders the events of a run as text: lines that stay, and a status line below them. */
export const createLiveReporter = (terminal: Terminal, options: LiveOptions): Display => {
  const figures = createLiveFigures({ symbols: terminal.symbols, showsTool: !options.stream });
  const statusLine = createStatusLine(terminal, figures.texts);
  let root: string | null = null;
  const agent = createAgentLines(terminal, statusLine, { ...options, root: () => root });
  /** The latest ones, for the end. */
  let records: readonly IterationRecord[] = [];
  let deferred: Deferred | null = null;

  const log = (line: string) => {
    agent.endLine();
    statusLine.log(`${line}\n`);
  };
  const onEvent = (event: RunEvent, view: RunView): void => {
    root = view.workspace?.root ?? root;
    if (event.type === 'agent' || event.type === 'reviewer') {
      figures.count(event, view);
      return options.stream ? agent.show(event.event) : undefined;
    }
    const lines = linesOf(event, { view, terminal, options, tasks: figures.tasksAtStart(), records, deferred });
    deferred = event.type === 'attempt-deferred' ? event : null;
    if (event.type === 'iteration-finished') records = [...records, event.record].slice(-shownIterations);
    figures.count(event, view);
    if (endsStatus.has(event.type)) statusLine.stop();
    lines.forEach(log);
    if (options.isReplay) return;
    const status = statusOf(event, options);
    if (status !== null) statusLine.start(...status);
    if (event.type === 'run-ended' && terminal.isInteractive) terminal.bell();
  };

  return {
    onEvent: limitsOnce(onEvent),
    joinAt: figures.joinAt,
    warn: (text) => messageLines(text, terminal).forEach(log),
    dispose: () => {
      agent.endLine();
      statusLine.stop();
    },
  };
};

const endsStatus = new Set<RunEvent['type']>([
  'iteration-started',
  'iteration-finished',
  'attempt-deferred',
  'paused',
  'resumed',
  'gate-started',
  'review-started',
  'review-finished',
  'run-ended',
]);

/** Returns what the status line says from an event on; null if that does not change. */
const statusOf = (event: RunEvent, { findHarness }: LiveOptions): [label: string, clock: Clock] | null => {
  switch (event.type) {
    case 'iteration-started':
      return [`${findHarness(event.agent.harness).title} is working…`, { sinceMs: Date.parse(event.at) }];
    case 'gate-started':
      return ['Verifying…', { sinceMs: Date.now() }];
    case 'review-started':
      return [`${findHarness(event.agent.harness).title} reviews…`, { sinceMs: Date.parse(event.at) }];
    case 'notice':
      return event.activity === undefined ? null : ['Committing…', { sinceMs: Date.now() }];
    case 'waiting':
      return ['Resuming in', { untilMs: event.untilMs }];
    case 'paused':
      return ['Paused', { sinceMs: Date.parse(event.at) }];
    default:
      return null;
  }
};

/**
 * Holds back a usage limit that an agent reports until the agent continues or ends. If the attempt is then deferred, the
 * limit is left out: the line about the deferred attempt says it.
 */
const limitsOnce = (onEvent: OnRunEvent): OnRunEvent => {
  let held: { readonly event: RunEvent; readonly view: RunView } | null = null;
  return (event, view) => {
    const reported = event.type === 'agent' ? event.event : null;
    if (reported !== null && isLimit(reported)) {
      held = { event, view };
      return;
    }
    if (held !== null && (reported === null || continuing.has(reported.type))) {
      if (event.type !== 'attempt-deferred') onEvent(held.event, held.view);
      held = null;
    }
    onEvent(event, view);
  };
};

const isLimit = (event: AgentEvent): boolean => event.type === 'error' && event.kind === 'rate-limit';

/** Events of an agent that continues after a problem. */
const continuing = new Set<AgentEvent['type']>(['text', 'reasoning', 'tool', 'error']);

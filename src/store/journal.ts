import type { AgentEvent, Usage } from '../ralph/agent-events.ts';
import type { RunEvent } from '../ralph/events.ts';
import { commandLine } from '../text/shell-words.ts';
import { addUsage } from '../ralph/usage.ts';
import { publicView, type RunView } from '../ralph/view.ts';
import { createIncrementalRedactor, type Redactor } from '../secrets/redact.ts';
import { createOutputText, isOutput, type OutputEvent, withBoundedTexts } from './event-text.ts';
import { openJournalLines } from './journal-lines.ts';
import { createOutputBudget } from './output-budget.ts';

/** The events of a run, for readers in other processes. */
export interface Journal {
  /** Adds an event and the view that it led to. Never throws, and returns before the event is on disk. */
  append(event: RunEvent, view: RunView): void;
  dispose(): void;
}

export interface JournalOptions {
  readonly change: string;
  readonly redactor: Redactor;
  /** Called once, with the reason why the journal cannot be written. */
  readonly onProblem: (problem: string) => void;
}

const flushMs = 100;
const maxBuffered = 256 * 1024;

/** The length of a line without its text. */
const lineOverhead = 128;

/** Events that come after the end of an agent. */
const endsOutput: ReadonlySet<RunEvent['type']> = new Set([
  'iteration-pending',
  'iteration-finished',
  'attempt-deferred',
  'run-ended',
]);

/**
 * Opens the journal of a run, and appends to it. Output of an agent reaches the disk within `flushMs`, all
 * other events at once. Nothing is synced: only the history must survive a power cut.
 */
export const openJournal = (file: string, { change, redactor, onProblem }: JournalOptions): Journal => {
  const lines = openJournalLines(file, onProblem);
  const clean = createIncrementalRedactor<RunView>(redactor);
  let timer: NodeJS.Timeout | null = null;
  let lastView: RunView | null = null;

  const write = (event: RunEvent): number => {
    const view = lastView!;
    return lines.add({
      at: new Date().toISOString(),
      elapsedMs: view.elapsedMs,
      event,
      ...(lines.needView() && { view: publicView(view, clean) }),
    });
  };
  const agent = createAgentWriter({ change, redactor }, write);

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    agent.writeOutput();
    lines.flush();
  };

  const append = (event: RunEvent): void => {
    if (event.type === 'agent' || event.type === 'reviewer') {
      agent.append(event.type, event.event);
      if (lines.size() + agent.size() > maxBuffered) return flush();
      timer ??= setTimeout(flush, flushMs).unref();
      return;
    }
    agent.writeRest(endsOutput.has(event.type));
    if (event.type === 'iteration-started' || event.type === 'review-started') agent.start(event.iteration);
    write(redactor.data(event));
    flush();
  };

  return {
    append: (event, view) => {
      lastView = view;
      append(event);
    },
    dispose: () => {
      if (lastView !== null) flush();
      lines.close();
    },
  };
};

/** Writes what an agent says and does, up to a limit. */
const createAgentWriter = (
  { change, redactor }: Pick<JournalOptions, 'change' | 'redactor'>,
  write: (event: RunEvent) => number,
) => {
  const output = createOutputText(redactor);
  const budget = createOutputBudget();
  let iteration = 0;
  let isAnnounced = false;
  /** Output without structure has been left out. What follows may be the end of a secret, so none is written any more. */
  let isCut = false;
  /** The last message that was left out. */
  let ending: AgentEvent | null = null;
  /** The usage that was left out. The view needs it. */
  let droppedUsage: Usage | null = null;
  /** Who says what is written next. */
  let speaker: 'agent' | 'reviewer' = 'agent';
  const writeEvent = (event: AgentEvent): number => write({ type: speaker, event });
  const writeOutput = (): void => output.take().forEach(writeEvent);

  const announce = (): void => {
    if (isAnnounced) return;
    isAnnounced = true;
    const all = commandLine('spool', 'logs', change, String(iteration), '--raw');
    write({ type: 'notice', text: `Some of the output is left out from here on. To see all of it: ${all}` });
  };
  const addOutput = (event: OutputEvent): void => {
    if (isCut) return;
    output.add(event);
    budget.use(event.text.length + lineOverhead);
    if (budget.mayWrite()) return;
    writeOutput();
    // The text that it holds back is no longer complete.
    output.reset();
    isCut = true;
    announce();
  };
  const writeOrDrop = (event: AgentEvent): void => {
    if (budget.mayWrite()) {
      ending = null;
      return budget.use(writeEvent(event));
    }
    if (event.type === 'usage') droppedUsage = addUsage(droppedUsage, event);
    if (event.type === 'text') ending = event;
    announce();
  };

  return {
    /** The size of the output that is not written yet. */
    size: output.size,
    writeOutput,
    append(by: typeof speaker, event: AgentEvent): void {
      speaker = by;
      if (isOutput(event)) return addOutput(event);
      writeOutput();
      writeOrDrop(withBoundedTexts(event, redactor));
    },
    /** Writes what is left before another event. */
    writeRest(hasEnded: boolean): void {
      if (hasEnded) output.end();
      writeOutput();
      if (hasEnded && ending !== null) writeEvent(ending);
      ending = null;
      if (droppedUsage !== null) writeEvent({ type: 'usage', ...droppedUsage });
      droppedUsage = null;
    },
    /** The next output is that of this iteration. */
    start(next: number): void {
      iteration = next;
      isAnnounced = false;
      isCut = false;
      budget.reset();
    },
  };
};

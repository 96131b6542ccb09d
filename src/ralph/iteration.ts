import { cleanText } from './promise/clean.ts';
import { createEcho } from './promise/echo.ts';
import { withoutBlocks } from './handover/blocks.ts';
import { findHandover } from './handover/find.ts';
import { unknownUsage, type AgentError, type AgentEvent, type TurnEnd, type Usage } from './agent-events.ts';
import { type Denials, type IterationRecord, type RepeatedCall } from './record.ts';
import { type RunPlan } from './plan.ts';
import { saysNothing } from './promise/tag-position.ts';
import { addUsage } from './usage.ts';
import { createSearch } from './promise/search.ts';
import { isTrailer } from './promise/trailer.ts';

export type Verdict = Pick<
  IterationRecord,
  | 'completionFound'
  | 'evidence'
  | 'rejected'
  | 'mentions'
  | 'usage'
  | 'tools'
  | 'repeated'
  | 'error'
  | 'denied'
  | 'blocked'
  | 'handover'
>;

interface Observed extends Pick<RunPlan, 'completionPromise' | 'blockedPromise'> {
  /** The agent may leave notes for the next iteration. */
  readonly handover?: boolean;
  /** Prefixes of lines that the agent CLI itself prints after the agent's message. */
  readonly trailer?: readonly string[];
}

/** Observes the events of one iteration and judges them after its process has ended. */
export const observeIteration = (observed: Observed, prompt: string) => {
  const speech = createSpeech(observed, prompt);
  const tools = new Map<string, number>();
  const calls = createCallCounter();
  const denials = createDenials();
  let structured = false;
  let usage: Usage | null = null;
  let error: IterationRecord['error'] = null;

  return {
    observe(event: AgentEvent): void {
      if (isStructure(event)) structured = true;
      denials.observe(event);
      switch (event.type) {
        case 'text':
          return event.plain ? speech.addPlainText(event.text) : speech.addMessage(event.text);
        case 'tool':
          speech.endMessage();
          tools.set(event.tool, (tools.get(event.tool) ?? 0) + 1);
          return calls.observe(event);
        case 'usage':
          usage = addUsage(usage ?? unknownUsage, event);
          return;
        case 'error':
          error ??= errorOf(event);
          return;
        case 'tool-result':
        case 'denied':
        case 'reasoning':
        case 'stderr':
          return;
      }
    },

    /** The agent has printed the promise, so the iteration need not be stopped. */
    promised: speech.promised,

    /** The end of the last message of the agent, without handover notes. */
    lastWords: () => withoutBlocks(cleanText(speech.lastWords(structured))),

    /** Usage so far; null if the agent has not reported any. */
    usage: () => usage,

    judge(ended: TurnEnd): Verdict {
      const { found, mentions, evidence, blocked } = speech.judge(structured);
      const problem = processProblem(ended) ?? denials.problem(error ?? exitProblem(ended), structured);
      const why = problem?.message ?? (blocked === null ? null : 'it also gave up');
      return {
        completionFound: found && why === null,
        evidence: found && why === null ? evidence : null,
        rejected: found ? why : why === null ? (mentions.at(-1)?.why ?? null) : null,
        mentions,
        usage,
        tools: structured ? Object.fromEntries(tools) : null,
        repeated: calls.repeated(),
        error: problem,
        denied: denials.all(),
        blocked: problem === null ? blocked : null,
        ...(observed.handover && { handover: speech.handover(structured) }),
      };
    },
  };
};

/** What the agent says. If it prints events (`structured`), stray lines of plain text are not its messages. */
const createSpeech = ({ trailer, completionPromise, blockedPromise }: Observed, prompt: string) => {
  const promises = { completionPromise, blockedPromise };
  const inMessages = createSearch(promises, {
    isEcho: createEcho(prompt, 'at length'),
    isTrailer: () => false,
    hint: null,
  });
  const inPlainText = createSearch(promises, {
    isEcho: createEcho(prompt, 'in part'),
    isTrailer: (line) => isTrailer(line, trailer),
    hint: 'if its CLI printed that, set "trailer" for the harness',
  });
  const [lastMessage, lastPlainText] = [createTail(), createTail()];
  /** A tool was called after the last message. Texts without a tool call between them are one message. */
  let hasEnded = false;

  return {
    addPlainText(text: string): void {
      inPlainText.feed(text);
      lastPlainText.add(text);
    },
    addMessage(text: string): void {
      // Neither an empty text nor a lone check mark after a tool call is a message.
      if (text.trim() === '' || (hasEnded && saysNothingAtAll(text))) return;
      if (hasEnded) {
        inMessages.startMessage();
        lastMessage.clear();
      }
      hasEnded = false;
      inMessages.feed(`${text}\n\n`);
      lastMessage.add(`${text}\n\n`);
    },
    endMessage(): void {
      hasEnded = true;
    },
    promised: () => inMessages.judge().found,
    judge: (structured: boolean) => (structured ? inMessages : inPlainText).judge(),
    handover: (structured: boolean): string | null =>
      structured
        ? findHandover(lastMessage.text(), { ...promises, prompt, isTrailer: () => false })
        : findHandover(lastPlainText.text(), { ...promises, prompt, isTrailer: (line) => isTrailer(line, trailer) }),
    lastWords(structured: boolean): string {
      if (structured) return lastMessage.text();
      const lines = lastPlainText.text().split('\n');
      return lines.filter((line) => !isTrailer(line, trailer)).join('\n');
    },
  };
};

/** In characters: enough for the longest secret before the last sentence, so that it can be recognised. */
const maxTail = 40_000;

/** The end of a text that arrives in parts. */
const createTail = () => {
  let parts: string[] = [];
  let length = 0;
  const join = () => parts.join('').slice(-maxTail);
  return {
    add(text: string): void {
      // Joining would copy what is dropped.
      if (text.length >= maxTail) parts = [];
      parts.push(text.slice(-maxTail));
      length = text.length >= maxTail ? maxTail : length + text.length;
      if (length < 2 * maxTail) return;
      parts = [join()];
      length = maxTail;
    },
    clear(): void {
      parts = [];
      length = 0;
    },
    text: join,
  };
};

const saysNothingAtAll = (text: string): boolean => cleanText(text).split('\n').every(saysNothing);

/** Events that only structured output contains. An error may also be derived from the exit code. */
const isStructure = (event: AgentEvent): boolean =>
  event.type !== 'stderr' && event.type !== 'error' && event.type !== 'denied' && !isPlainText(event);

const isPlainText = (event: AgentEvent): boolean => event.type === 'text' && event.plain;

const maxDeniedTools = 10;

/** Collects denied tools and whether the agent stopped because of them. */
const createDenials = () => {
  const tools = new Set<string>();
  let message = '';
  let allowAllHelps: Denials['allowAllHelps'];
  /** There was a message after the last denied call, or any message if that call is unknown. */
  let hasMessage = false;
  let hasPlainText = false;
  const wasDenied = () => tools.size > 0;

  return {
    observe(event: AgentEvent): void {
      if (event.type === 'text' && event.plain) hasPlainText ||= event.text.trim() !== '';
      if (event.type === 'text' && !event.plain) hasMessage ||= event.text.trim() !== '';
      if (event.type === 'tool-result' && event.denied) hasMessage = hasPlainText = false;
      if (event.type !== 'denied') return;
      if (tools.size < maxDeniedTools) tools.add(event.tool);
      ({ message, allowAllHelps } = event);
    },
    all: (): Denials | null =>
      wasDenied() ? { tools: [...tools], message, ...(allowAllHelps && { allowAllHelps }) } : null,
    /** Attributes an otherwise unexplained end to the denial, unless the agent continued after it. */
    problem(problem: AgentError | null, structured: boolean): AgentError | null {
      const hasSpoken = structured ? hasMessage : hasPlainText;
      const unexplained = problem === null || problem.kind === 'truncated' || problem.kind === 'crash';
      const stoppedThere = problem?.kind === 'truncated' || !hasSpoken;
      return wasDenied() && unexplained && stoppedThere ? { kind: 'permission', message } : problem;
    },
  };
};

/** Fewer identical calls in a row are not reported. */
const minRepeats = 15;

/** Finds the call that was repeated most often in a row. */
const createCallCounter = () => {
  let last = '';
  let inARow = 0;
  let most: RepeatedCall | null = null;
  return {
    observe({ tool, title }: { tool: string; title: string }): void {
      const call = `${tool} ${title}`;
      inARow = call === last ? inARow + 1 : 1;
      last = call;
      if (inARow >= minRepeats && inARow > (most?.times ?? 0)) most = { tool, title, times: inARow };
    },
    repeated: () => most,
  };
};

/** The way the process ended explains more than what its output lacks. */
const processProblem = (ended: TurnEnd): IterationRecord['error'] => {
  switch (ended.end) {
    case 'not-started':
      return { kind: 'start', message: `the agent could not be started: ${ended.problem}` };
    case 'interrupted':
      return { kind: 'crash', message: 'the iteration was interrupted' };
    case 'killed':
      return { kind: 'crash', message: `the agent was killed by ${ended.signal}` };
    case 'timed-out':
      return { kind: 'timeout', message: `the agent was stopped: ${ended.problem}` };
    case 'out-of-budget':
      return { kind: 'budget', message: `the agent was stopped: ${ended.problem}` };
    case 'exited':
    case 'answered':
      return null;
  }
};

/** Used last: the agent's own error says more than its exit code. */
const exitProblem = ({ end, exitCode }: TurnEnd): IterationRecord['error'] =>
  end === 'answered' || exitCode === 0 ? null : { kind: 'crash', message: `the agent exited with code ${exitCode}` };

const errorOf = ({ kind, message, resetsAtMs }: AgentError): AgentError => ({
  kind,
  message,
  ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
});

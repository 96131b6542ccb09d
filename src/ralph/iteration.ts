import { createEchoFilter } from './echo.ts';
import {
  addUsage,
  nothingKnown,
  type AgentError,
  type AgentEvent,
  type Ended,
  type IterationRecord,
  type Usage,
} from './events.ts';
import { createPromiseDetector, type Mention } from './promise.ts';

export type Verdict = Pick<
  IterationRecord,
  'completionFound' | 'evidence' | 'rejected' | 'mentions' | 'usage' | 'tools' | 'error'
>;

/** Watches the events of one iteration and judges them when its process has ended. */
export const watchIteration = (promise: string, prompt: string) => {
  const inMessages = createSearch(promise);
  const inPlainText = createSearch(promise);
  const echo = createEchoFilter(prompt);
  const tools = new Map<string, number>();
  let structured = false;
  let usage: Usage | null = null;
  let error: IterationRecord['error'] = null;

  return {
    see(event: AgentEvent): void {
      if (event.type !== 'stderr' && !(event.type === 'text' && event.plain)) structured = true;
      switch (event.type) {
        case 'text':
          if (event.plain) {
            inPlainText.feed(echo.pass(event.text));
            return;
          }
          inMessages.feed(event.text);
          inMessages.endMessage();
          return;
        case 'tool':
          tools.set(event.tool, (tools.get(event.tool) ?? 0) + 1);
          return;
        case 'usage':
          usage = addUsage(usage ?? nothingKnown, event);
          return;
        case 'error':
          error ??= errorOf(event);
          return;
        case 'tool-result':
        case 'reasoning':
        case 'stderr':
          return;
      }
    },

    judge(ended: Ended): Verdict {
      inPlainText.feed(echo.end());
      inPlainText.endMessage();
      // From an agent that speaks in events, stray lines are not its words.
      const { found, mentions, evidence } = structured ? inMessages : inPlainText;
      const problem = processProblem(ended) ?? error ?? exitProblem(ended);
      return {
        completionFound: found && problem === null,
        evidence: found && problem === null ? evidence : null,
        rejected: found ? (problem?.message ?? null) : problem === null ? (mentions.at(-1)?.why ?? null) : null,
        mentions,
        usage,
        tools: structured ? Object.fromEntries(tools) : null,
        error: problem,
      };
    },
  };
};

/** How much of the text that made it complete is kept. */
const evidenceLength = 300;
/** How many tags that do not count are kept. */
const mentionsKept = 10;

/** A detector that also keeps the words up to the promise. */
const createSearch = (promise: string) => {
  const mentions: Mention[] = [];
  const detector = createPromiseDetector(promise, (mention) => {
    if (mentions.length === mentionsKept) mentions.shift();
    mentions.push(mention);
  });
  let recent = '';
  let evidence: string | null = null;
  const keep = () => {
    if (!detector.found || evidence !== null) return;
    const end = recent.lastIndexOf('</promise>');
    evidence =
      end === -1 ? `<promise>${promise}</promise>` : recent.slice(0, end + '</promise>'.length).slice(-evidenceLength);
  };
  return {
    mentions,
    feed(text: string): void {
      if (detector.found) return;
      recent += text;
      detector.feed(text);
      keep();
      recent = recent.slice(-4 * evidenceLength);
    },
    endMessage(): void {
      detector.endMessage();
      keep();
    },
    get found() {
      return detector.found;
    },
    get evidence() {
      return evidence;
    },
  };
};

/** What was done to the process explains more than what its output then lacks. */
const processProblem = (ended: Ended): IterationRecord['error'] => {
  switch (ended.end) {
    case 'not-started':
      return { kind: 'start', message: `the agent could not be started: ${ended.problem}` };
    case 'interrupted':
      return { kind: 'crash', message: 'the iteration was interrupted' };
    case 'killed':
      return { kind: 'crash', message: `the agent was killed by ${ended.signal}` };
    case 'exited':
      return null;
  }
};

/** The exit code comes last: the agent's own words say more. */
const exitProblem = ({ exitCode }: Ended): IterationRecord['error'] =>
  exitCode === 0 ? null : { kind: 'crash', message: `the agent exited with code ${exitCode}` };

const errorOf = ({ kind, message, resetsAtMs }: AgentError): AgentError => ({
  kind,
  message,
  ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
});

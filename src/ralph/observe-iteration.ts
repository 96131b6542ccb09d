import { withoutBlocks } from './handover/blocks.ts';
import { unknownUsage, type AgentError, type AgentEvent, type TurnEnd, type Usage } from './agent-events.ts';
import { createDeniedTools } from './denied-tools.ts';
import { cleanText } from './promise/clean.ts';
import type { IterationRecord, RepeatedCall } from './record.ts';
import { createSpeech, type Speech, type SpeechOptions } from './speech.ts';
import { addUsage } from './usage.ts';

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

interface ObserverOptions extends SpeechOptions {
  /** The agent may leave notes for the next iteration. */
  readonly handover?: boolean;
}

/** Observes the events of one iteration and judges them after its process has ended. */
export const observeIteration = (options: ObserverOptions, prompt: string) => {
  const seen: Observation = {
    speech: createSpeech(options, prompt),
    tools: new Map(),
    calls: createCallCounter(),
    denied: createDeniedTools(),
    isStructured: false,
    usage: null,
    error: null,
  };
  const { speech } = seen;
  return {
    observe: (event: AgentEvent): void => observe(seen, event),

    /** The agent has printed the promise, so the iteration need not be stopped. */
    promised: speech.promised,

    /** The end of the last message of the agent, without handover notes. */
    lastWords: () => withoutBlocks(cleanText(speech.lastWords(seen.isStructured))),

    /** Usage so far; null if the agent has not reported any. */
    usage: () => seen.usage,

    judge: (ended: TurnEnd): Verdict => ({
      ...judge(seen, ended),
      ...(options.handover && { handover: speech.handover(seen.isStructured) }),
    }),
  };
};

/** What was seen of an iteration. */
interface Observation {
  readonly speech: Speech;
  /** How often each tool was called. */
  readonly tools: Map<string, number>;
  readonly calls: ReturnType<typeof createCallCounter>;
  readonly denied: ReturnType<typeof createDeniedTools>;
  /** The agent prints events. */
  isStructured: boolean;
  usage: Usage | null;
  error: IterationRecord['error'];
}

const observe = (seen: Observation, event: AgentEvent): void => {
  const { speech, tools, calls, denied } = seen;
  if (isStructure(event)) seen.isStructured = true;
  denied.observe(event);
  switch (event.type) {
    case 'text':
      return event.plain ? speech.addPlainText(event.text) : speech.addMessage(event.text);
    case 'tool':
      speech.endMessage();
      tools.set(event.tool, (tools.get(event.tool) ?? 0) + 1);
      return calls.observe(event);
    case 'usage':
      seen.usage = addUsage(seen.usage ?? unknownUsage, event);
      return;
    case 'error':
      seen.error ??= errorOf(event);
      return;
    case 'tool-result':
      if (event.subagent) speech.discardMessage();
      return;
    case 'denied':
    case 'reasoning':
    case 'stderr':
      return;
  }
};

const judge = ({ speech, tools, calls, denied, isStructured, usage, error }: Observation, ended: TurnEnd): Verdict => {
  const { found, mentions, evidence, blocked } = speech.judge(isStructured);
  const problem = processProblem(ended) ?? denied.problem(error ?? exitProblem(ended), isStructured);
  const why = problem?.message ?? (blocked === null ? null : 'it also gave up');
  return {
    completionFound: found && why === null,
    evidence: found && why === null ? evidence : null,
    rejected: found ? why : why === null ? (mentions.at(-1)?.why ?? null) : null,
    mentions,
    usage,
    tools: isStructured ? Object.fromEntries(tools) : null,
    repeated: calls.repeated(),
    error: problem,
    denied: denied.all(),
    blocked: problem === null ? blocked : null,
  };
};

/** Events that only structured output contains. An error may also be derived from the exit code. */
const isStructure = (event: AgentEvent): boolean =>
  event.type !== 'stderr' && event.type !== 'error' && event.type !== 'denied' && !isPlainText(event);

const isPlainText = (event: AgentEvent): boolean => event.type === 'text' && event.plain;

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

import { cleanText } from './clean.ts';
import { createEcho } from './echo.ts';
import {
  unknownUsage,
  type AgentError,
  type AgentEvent,
  type Denials,
  type TurnEnd,
  type IterationRecord,
  type RepeatedCall,
  type RunPlan,
  type Usage,
} from './events.ts';
import { saysNothing } from './marks.ts';
import { addUsage } from './usage.ts';
import { createSearch } from './promise-search.ts';
import { isTrailer } from './trailer.ts';

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
>;

interface Watched extends Pick<RunPlan, 'completionPromise' | 'blockedPromise'> {
  /** How lines begin that the agent CLI prints of its own behind the words of the agent. */
  readonly trailer?: readonly string[];
}

/** Watches the events of one iteration and judges them when its process has ended. */
export const observeIteration = ({ trailer, ...promises }: Watched, prompt: string) => {
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
  const tools = new Map<string, number>();
  const calls = createCallCounter();
  const denials = createDenials();
  let structured = false;
  let worked = false;
  let usage: Usage | null = null;
  let error: IterationRecord['error'] = null;

  return {
    see(event: AgentEvent): void {
      if (isStructure(event)) structured = true;
      denials.see(event);
      switch (event.type) {
        case 'text':
          if (event.plain) {
            inPlainText.feed(event.text);
            return;
          }
          // An empty turn is no message, and nor is a lone check mark behind a tool.
          if (event.text.trim() === '' || (worked && saysNothingAtAll(event.text))) return;
          // Parts between which it did nothing are one message.
          if (worked) inMessages.startMessage();
          worked = false;
          inMessages.feed(`${event.text}\n\n`);
          return;
        case 'tool':
          worked = true;
          tools.set(event.tool, (tools.get(event.tool) ?? 0) + 1);
          calls.see(event);
          return;
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

    /** It has said its last word: the end of the iteration need not be hurried. */
    promised: () => inMessages.judge().found,

    /** What was used so far; null while the agent has not said. */
    usage: () => usage,

    judge(ended: TurnEnd): Verdict {
      // From an agent that speaks in events, stray lines are not its words.
      const { found, mentions, evidence, blocked } = (structured ? inMessages : inPlainText).judge();
      const problem = processProblem(ended) ?? denials.problem(error ?? exitProblem(ended), structured);
      const why = problem?.message ?? (blocked === null ? null : 'it gave up as well');
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
      };
    },
  };
};

const saysNothingAtAll = (text: string): boolean => cleanText(text).split('\n').every(saysNothing);

/** What only an agent that speaks in events says. An error may come from its exit code as well. */
const isStructure = (event: AgentEvent): boolean =>
  event.type !== 'stderr' && event.type !== 'error' && event.type !== 'denied' && !isPlainText(event);

const isPlainText = (event: AgentEvent): boolean => event.type === 'text' && event.plain;

const mostDenied = 10;

/** What was denied, and whether the agent stopped there. */
const createDenials = () => {
  const tools = new Set<string>();
  let message = '';
  /** It has spoken since the last call that was denied, or at all when nobody knows which call that was. */
  let hasMessage = false;
  let hasPlainText = false;
  const wasDenied = () => tools.size > 0;

  return {
    see(event: AgentEvent): void {
      if (event.type === 'text' && event.plain) hasPlainText ||= event.text.trim() !== '';
      if (event.type === 'text' && !event.plain) hasMessage ||= event.text.trim() !== '';
      if (event.type === 'tool-result' && event.denied) hasMessage = hasPlainText = false;
      if (event.type !== 'denied') return;
      if (tools.size < mostDenied) tools.add(event.tool);
      message = event.message;
    },
    all: (): Denials | null => (wasDenied() ? { tools: [...tools], message } : null),
    /** An end that nothing else explains is explained by the denial, unless the agent found another way. */
    problem(problem: AgentError | null, structured: boolean): AgentError | null {
      const hasSpoken = structured ? hasMessage : hasPlainText;
      const unexplained = problem === null || problem.kind === 'truncated' || problem.kind === 'crash';
      const stoppedThere = problem?.kind === 'truncated' || !hasSpoken;
      return wasDenied() && unexplained && stoppedThere ? { kind: 'permission', message } : problem;
    },
  };
};

/** From how many calls in a row on the same call is worth a word. */
const oftenInARow = 15;

/** Finds the call that was made most often in a row. */
const createCallCounter = () => {
  let last = '';
  let inARow = 0;
  let most: RepeatedCall | null = null;
  return {
    see({ tool, title }: { tool: string; title: string }): void {
      const call = `${tool} ${title}`;
      inARow = call === last ? inARow + 1 : 1;
      last = call;
      if (inARow >= oftenInARow && inARow > (most?.times ?? 0))
        most = { tool, title: title.slice(0, 200), times: inARow };
    },
    repeated: () => most,
  };
};

/** What was done to the process explains more than what its output then lacks. */
const processProblem = (ended: TurnEnd): IterationRecord['error'] => {
  switch (ended.end) {
    case 'not-started':
      return { kind: 'start', message: `the agent could not be started: ${ended.problem}` };
    case 'interrupted':
      return { kind: 'crash', message: 'the iteration was interrupted' };
    case 'killed':
      return { kind: 'crash', message: `the agent was killed by ${ended.signal}` };
    case 'timed-out':
      return { kind: 'timeout', message: `the agent was ended: ${ended.problem}` };
    case 'out-of-budget':
      return { kind: 'budget', message: `the agent was ended: ${ended.problem}` };
    case 'exited':
    case 'answered':
      return null;
  }
};

/** The exit code comes last: the agent's own words say more. */
const exitProblem = ({ end, exitCode }: TurnEnd): IterationRecord['error'] =>
  end === 'answered' || exitCode === 0 ? null : { kind: 'crash', message: `the agent exited with code ${exitCode}` };

const errorOf = ({ kind, message, resetsAtMs }: AgentError): AgentError => ({
  kind,
  message,
  ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
});

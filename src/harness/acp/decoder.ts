import type { AgentEvent } from '../../ralph/agent-events.ts';
import type { AcpQuirks, Decoder } from '../harness.ts';
import { asObject, field, parseObject, textAt } from '../json.ts';
import { denied, problemEvent, truncated } from '../problem.ts';
import { rpcErrorIn } from './connection.ts';
import { type DeniedRequest, type Annotation, annotationMark, outputMark, sentMark } from './log-lines.ts';
import { errorInText, problemOf } from './problems.ts';
import { createPlanCalls } from './plan-calls.ts';
import { createSaid } from './said.ts';
import { toolTitle } from '../tool-calls.ts';
import { createToolCalls, toolName } from './tool-calls.ts';
import { createUsageMeter } from './usage.ts';

/**
 * Decodes the log of one turn: the messages of both sides, and the annotations of Spool. Only updates of the session that was
 * prompted count, and none after the answer to the prompt.
 */
export const createAcpDecoder = (title: string, quirks: AcpQuirks = {}): Decoder => {
  const turn = newTurn(title, quirks);
  return {
    stdout: (line) => {
      if (line.startsWith(outputMark)) return [{ type: 'stderr', text: line.slice(outputMark.length) }];
      if (line.startsWith(sentMark)) return decodeSent(turn, parseObject(line.slice(sentMark.length)));
      if (line.startsWith(annotationMark))
        return decodeAnnotation(turn, (parseObject(line.slice(annotationMark.length)) ?? {}) as Annotation);
      const message = parseObject(line);
      return message === null ? [{ type: 'stderr', text: line }] : decodeReceived(turn, message);
    },
    end: () => [...flush(turn), ...turn.tools.end(), ...turn.usage.answered(turn.answer), ...verdict(turn)],
  };
};

/** What is known of the turn so far. */
interface Turn {
  readonly title: string;
  readonly quirks: AcpQuirks;
  readonly tools: ReturnType<typeof createToolCalls>;
  readonly said: ReturnType<typeof createSaid>;
  /** By subagents, which may speak between two pieces of a message. */
  readonly saidBySubagents: ReturnType<typeof createSaid>;
  readonly usage: ReturnType<typeof createUsageMeter>;
  readonly plan: ReturnType<typeof createPlanCalls>;
  /** Its calls show what is in its plan. */
  hasTodoTool: boolean;
  sessionId: string | null;
  promptId: unknown;
  answer: Record<string, unknown> | null;
  wasCancelled: boolean;
  found: Pick<Annotation, 'problem' | 'unfinished'>;
  /** What its CLI said last, if nothing of the agent came after it. */
  lastAside: string | null;
  hasFailed: boolean;
}

const newTurn = (title: string, quirks: AcpQuirks): Turn => ({
  title,
  quirks,
  tools: createToolCalls(),
  said: createSaid(),
  saidBySubagents: createSaid(),
  usage: createUsageMeter(quirks),
  plan: createPlanCalls(),
  hasTodoTool: false,
  sessionId: null,
  promptId: null,
  answer: null,
  wasCancelled: false,
  found: {},
  lastAside: null,
  hasFailed: false,
});

const flush = ({ said, saidBySubagents }: Turn): AgentEvent[] => [...saidBySubagents.flush(), ...said.flush()];

const decodeSent = (turn: Turn, message: unknown): readonly AgentEvent[] => {
  const method = textAt(message, 'method');
  if (method === 'session/prompt') {
    turn.promptId = field(message, 'id');
    turn.sessionId = textAt(message, 'params', 'sessionId');
  }
  if (method === 'session/cancel') turn.wasCancelled = true;
  return [];
};

const decodeAnnotation = (turn: Turn, annotation: Annotation): readonly AgentEvent[] => {
  const { problem, unfinished, waiting } = annotation;
  turn.found = { ...turn.found, ...(problem && { problem }), ...(unfinished && { unfinished }) };
  return [
    ...(annotation.denied ? refused(turn, annotation.denied) : []),
    ...(annotation.usage ? turn.usage.total(annotation.usage) : []),
    ...(waiting ? [{ type: 'stderr' as const, text: waiting }] : []),
  ];
};

const refused = (turn: Turn, { id, tool, title: what, reason, byRule, add }: DeniedRequest): readonly AgentEvent[] => [
  ...flush(turn),
  ...turn.tools.refuse(id, tool, what),
  denied(turn.title, tool, { ...(byRule && { byRule }), reason, remedy: add === undefined ? { reason } : { add } }),
];

const decodeReceived = (turn: Turn, message: Record<string, unknown>): readonly AgentEvent[] => {
  const { sessionId, promptId, answer } = turn;
  if (sessionId === null || answer !== null) return [];
  if (message.method === undefined && message.id === promptId) {
    turn.answer = message;
    return flush(turn);
  }
  const isOurs = message.method === 'session/update' && textAt(message, 'params', 'sessionId') === sessionId;
  return isOurs ? decodeUpdate(turn, field(message, 'params', 'update')) : [];
};

const decodeUpdate = (turn: Turn, update: unknown): readonly AgentEvent[] => {
  const { quirks, said, tools, usage } = turn;
  turn.hasFailed = quirks.hasFailed?.(update) ?? turn.hasFailed;
  switch (field(update, 'sessionUpdate')) {
    case 'agent_message_chunk':
      return decodeMessage(turn, update);
    case 'agent_thought_chunk':
      return said.add('reasoning', textAt(update, 'content', 'text') ?? '');
    case 'tool_call':
    case 'tool_call_update':
      turn.lastAside = null;
      turn.hasTodoTool ||= /^todo/i.test(toolName(update));
      return [...flush(turn), ...(quirks.isDenied?.(update) ? deniedByAgent(turn, update) : tools.update(update))];
    case 'usage_update':
      usage.cost(update);
      return [];
    case 'plan':
      // Without an end of the message before it: a plan may come at any time, even within a promise.
      return turn.hasTodoTool ? [] : turn.plan(update);
    default:
      return [];
  }
};

const decodeMessage = (turn: Turn, update: unknown): readonly AgentEvent[] => {
  const { quirks, said } = turn;
  const text = textAt(update, 'content', 'text') ?? '';
  if (isOfSubagent(update)) return [...turn.saidBySubagents.add('reasoning', text), ...stepOf(turn, update)];
  // The CLI itself speaks in single lines. A model that does not stream sends its whole message.
  if (quirks.isAside?.(update) && !text.trim().includes('\n')) {
    turn.lastAside = text.trim();
    return [...said.flush(), { type: 'stderr', text: turn.lastAside }];
  }
  if (text.trim() !== '') turn.lastAside = null;
  return [...said.add('text', text), ...stepOf(turn, update)];
};

/** Whether a piece of a message is marked as that of a subagent, whose words are not those of the agent. */
const isOfSubagent = (piece: unknown): boolean =>
  [['parentToolCallId'], ['parent_tool_use_id'], ['subagentType'], ['claudeCode', 'parentToolUseId']].some((path) =>
    textAt(piece, '_meta', ...path),
  );

const stepOf = ({ usage }: Turn, update: unknown): readonly AgentEvent[] => {
  const step = asObject(field(update, '_meta', 'usage'));
  return step === null ? [] : usage.step(step);
};

/** A call that a rule of the agent itself denies. It does not ask then. */
const deniedByAgent = ({ title, tools }: Turn, update: unknown): readonly AgentEvent[] => {
  const call = { tool: toolName(update), input: field(update, 'rawInput') };
  const events = tools.refuse(textAt(update, 'toolCallId'), call.tool, toolTitle(call.input));
  const tool = events.find((event) => event.type === 'tool-result')?.tool ?? call.tool;
  return [...events, denied(title, tool, { byRule: true, call: { ...call, tool } })];
};

/** "end_turn" is also the answer of an agent that was refused a tool, that failed, or that said nothing. */
const verdict = (turn: Turn): readonly AgentEvent[] => {
  const { title, answer, found, lastAside, said, tools } = turn;
  if (turn.promptId === null || turn.wasCancelled) return [];
  if (found.problem) return [problemEvent(found.problem)];
  if (answer === null) return [truncated(title, 'no answer')];
  if (asObject(answer.error) !== null) return [problemEvent(problemOf(rpcErrorIn(answer.error)))];
  const reason = textAt(answer, 'result', 'stopReason') ?? 'no stop reason';
  if (reason === 'refusal') return [problemEvent({ message: `${title} refused to answer`, kind: 'unknown' })];
  if (reason !== 'end_turn') return [truncated(title, reason)];
  if (found.unfinished) return [truncated(title, found.unfinished)];
  if (turn.hasFailed) return [problemEvent({ message: lastAside ?? `${title} reported an error` })];
  const problem = errorInText(lastAside ?? said.last());
  if (problem !== null) return [problemEvent(problem)];
  return said.hasText() || tools.count() > 0 ? [] : [truncated(title, 'no message')];
};

import { type AgentEvent, unknownUsage, type Usage } from '../../ralph/agent-events.ts';
import type { AcpQuirks, Decoder } from '../harness.ts';
import { asObject, field, numberAt, parseObject, sum, textAt } from '../json.ts';
import { denied, type Problem, problemEvent, truncated } from '../problem.ts';
import { rpcErrorIn } from './connection.ts';
import { type DeniedRequest, type Annotation, annotationMark, outputMark, sentMark } from './log-lines.ts';
import { errorInText, problemOf } from './problems.ts';
import { toolTitle } from '../tool-calls.ts';
import { createToolCalls, toolName } from './tool-calls.ts';
import { usageSince } from './usage.ts';

/**
 * Decodes the log of one turn: the messages of both sides, and the annotations of Spool. Only updates of the session that was
 * prompted count, and none after the answer to the prompt.
 */
export const createAcpDecoder = (title: string, quirks: AcpQuirks = {}): Decoder => {
  const tools = createToolCalls();
  const said = createSaid();
  let sessionId: string | null = null;
  let promptId: unknown = null;
  let answer: Record<string, unknown> | null = null;
  let wasCancelled = false;
  let reported: Usage = unknownUsage;
  let costUsd: number | null = null;
  let found: Pick<Annotation, 'problem' | 'unfinished'> = {};
  /** What its CLI said last, if nothing of the agent came after it. */
  let lastAside: string | null = null;
  let hasFailed = false;

  const sent = (message: unknown): readonly AgentEvent[] => {
    const method = textAt(message, 'method');
    if (method === 'session/prompt') {
      promptId = field(message, 'id');
      sessionId = textAt(message, 'params', 'sessionId');
    }
    if (method === 'session/cancel') wasCancelled = true;
    return [];
  };

  const usageOf = (total: Usage): readonly AgentEvent[] => {
    const event = usageSince(reported, total);
    reported = total;
    return event === null ? [] : [{ type: 'usage', ...event }];
  };

  /** Some agents report the usage of each step. */
  const stepUsage = (step: Record<string, unknown>): readonly AgentEvent[] =>
    usageOf({
      ...unknownUsage,
      inputTokens: plus(reported.inputTokens, numberAt(step, 'inputTokens')),
      outputTokens: plus(reported.outputTokens, numberAt(step, 'outputTokens')),
      cacheReadTokens: plus(reported.cacheReadTokens, numberAt(step, 'cachedReadTokens')),
      reasoningTokens: plus(reported.reasoningTokens, numberAt(step, 'thoughtTokens')),
    });

  const refused = ({ id, tool, title: what, reason, byRule, add }: DeniedRequest): readonly AgentEvent[] => [
    ...said.flush(),
    ...tools.refuse(id, tool, what),
    denied(title, tool, { ...(byRule && { byRule }), remedy: add === undefined ? { reason } : { add } }),
  ];

  /** A call that a rule of the agent itself denies. It does not ask then. */
  const deniedByAgent = (update: unknown): readonly AgentEvent[] => {
    const call = { tool: toolName(update), input: field(update, 'rawInput') };
    const events = tools.refuse(textAt(update, 'toolCallId'), call.tool, toolTitle(call.input));
    const tool = events.find((event) => event.type === 'tool-result')?.tool ?? call.tool;
    return [...events, denied(title, tool, { byRule: true, call: { ...call, tool } })];
  };

  const annotated = (annotation: Annotation): readonly AgentEvent[] => {
    found = {
      ...found,
      ...(annotation.problem && { problem: annotation.problem }),
      ...(annotation.unfinished && { unfinished: annotation.unfinished }),
    };
    return [
      ...(annotation.denied ? refused(annotation.denied) : []),
      ...(annotation.usage ? usageOf(annotation.usage) : []),
      ...(annotation.waiting ? [{ type: 'stderr' as const, text: annotation.waiting }] : []),
    ];
  };

  const aside = (text: string): readonly AgentEvent[] => {
    lastAside = text.trim();
    return [...said.flush(), { type: 'stderr', text: lastAside }];
  };

  const message = (update: unknown): readonly AgentEvent[] => {
    const text = textAt(update, 'content', 'text') ?? '';
    // The CLI itself speaks in single lines. A model that does not stream sends its whole message.
    if (quirks.isAside?.(update) && !text.trim().includes('\n')) return aside(text);
    if (text.trim() !== '') lastAside = null;
    const step = asObject(field(update, '_meta', 'usage'));
    return [...said.add('text', text), ...(step === null ? [] : stepUsage(step))];
  };

  const updated = (update: unknown): readonly AgentEvent[] => {
    hasFailed = quirks.hasFailed?.(update) ?? hasFailed;
    switch (field(update, 'sessionUpdate')) {
      case 'agent_message_chunk':
        return message(update);
      case 'agent_thought_chunk':
        return said.add('reasoning', textAt(update, 'content', 'text') ?? '');
      case 'tool_call':
      case 'tool_call_update':
        lastAside = null;
        return [...said.flush(), ...(quirks.isDenied?.(update) ? deniedByAgent(update) : tools.update(update))];
      case 'usage_update':
        costUsd = numberAt(update, 'cost', 'amount') ?? costUsd;
        return [];
      default:
        return [];
    }
  };

  const received = (message: Record<string, unknown>): readonly AgentEvent[] => {
    if (sessionId === null || answer !== null) return [];
    if (message.method === undefined && message.id === promptId) {
      answer = message;
      return said.flush();
    }
    const isOurs = message.method === 'session/update' && textAt(message, 'params', 'sessionId') === sessionId;
    return isOurs ? updated(field(message, 'params', 'update')) : [];
  };

  /** What the answer to the prompt has of the usage, for agents that report it nowhere else. */
  const answeredUsage = (): readonly AgentEvent[] => {
    const tokens = quirks.partialUsage ? null : (asObject(field(answer, 'result', 'usage')) ?? quotaIn(answer));
    if (reported !== unknownUsage || (tokens === null && costUsd === null)) return [];
    // Zero stands for what is not known: of a cancelled turn, or of a request that failed.
    if (isNothing(tokens) && !costUsd) return [];
    const cacheReadTokens = numberAt(tokens, 'cachedReadTokens');
    const cacheWriteTokens = numberAt(tokens, 'cachedWriteTokens');
    return usageOf({
      inputTokens: sum(numberAt(tokens, 'inputTokens'), cacheReadTokens, cacheWriteTokens),
      outputTokens: numberAt(tokens, 'outputTokens'),
      cacheReadTokens,
      cacheWriteTokens,
      reasoningTokens: numberAt(tokens, 'thoughtTokens'),
      costUsd,
    });
  };

  /** "end_turn" is also the answer of an agent that was refused a tool, that failed, or that said nothing. */
  const verdict = (): readonly AgentEvent[] => {
    if (promptId === null || wasCancelled) return [];
    if (found.problem) return [problemEvent(found.problem)];
    if (answer === null) return [truncated(title, 'no answer')];
    if (asObject(answer.error) !== null) return [problemEvent(problemOf(rpcErrorIn(answer.error)))];
    const reason = textAt(answer, 'result', 'stopReason') ?? 'no stop reason';
    if (reason === 'refusal') return [problemEvent({ message: `${title} refused to answer`, kind: 'unknown' })];
    if (reason !== 'end_turn') return [truncated(title, reason)];
    if (found.unfinished) return [truncated(title, found.unfinished)];
    if (hasFailed) return [problemEvent({ message: lastAside ?? `${title} reported an error` })];
    const problem: Problem | null = errorInText(lastAside ?? said.last());
    if (problem !== null) return [problemEvent(problem)];
    return said.hasText() || tools.count() > 0 ? [] : [truncated(title, 'no message')];
  };

  return {
    stdout: (line) => {
      if (line.startsWith(outputMark)) return [{ type: 'stderr', text: line.slice(outputMark.length) }];
      if (line.startsWith(sentMark)) return sent(parseObject(line.slice(sentMark.length)));
      if (line.startsWith(annotationMark))
        return annotated((parseObject(line.slice(annotationMark.length)) ?? {}) as Annotation);
      const message = parseObject(line);
      return message === null ? [{ type: 'stderr', text: line }] : received(message);
    },
    end: () => [...said.flush(), ...tools.end(), ...answeredUsage(), ...verdict()],
  };
};

const isNothing = (tokens: unknown): boolean => !numberAt(tokens, 'inputTokens') && !numberAt(tokens, 'outputTokens');

const plus = (before: number | null, more: number | null): number | null =>
  more === null ? before : (before ?? 0) + more;

/** Some agents report the usage of a turn as a quota. */
const quotaIn = (answer: unknown): Record<string, unknown> | null => {
  const tokens = asObject(field(answer, 'result', '_meta', 'quota', 'token_count'));
  return tokens && { inputTokens: tokens.input_tokens, outputTokens: tokens.output_tokens };
};

/** In characters. A longer message is passed on in parts. */
const maxPart = 1024 * 1024;

/** Joins the pieces of messages, which may be cut anywhere. */
const createSaid = () => {
  let kind: 'text' | 'reasoning' = 'text';
  let pieces: string[] = [];
  let length = 0;
  let hasText = false;
  let last = '';
  const flush = (): AgentEvent[] => {
    const text = pieces.join('');
    pieces = [];
    length = 0;
    if (text === '') return [];
    if (kind === 'reasoning') return [{ type: 'reasoning', text }];
    hasText ||= text.trim() !== '';
    last = text;
    return [{ type: 'text', text, plain: false }];
  };
  return {
    add: (of: 'text' | 'reasoning', text: string): AgentEvent[] => {
      const before = kind === of && length < maxPart ? [] : flush();
      kind = of;
      pieces.push(text);
      length += text.length;
      return before;
    },
    flush,
    hasText: () => hasText,
    /** The last message. */
    last: () => last,
  };
};

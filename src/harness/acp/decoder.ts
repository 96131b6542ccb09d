import { type AgentEvent, unknownUsage, type Usage } from '../../ralph/agent-events.ts';
import type { Decoder } from '../harness.ts';
import { asObject, field, numberAt, parseObject, sum, textAt } from '../json.ts';
import { denied, type Problem, problemEvent, truncated } from '../problem.ts';
import { rpcErrorIn } from './connection.ts';
import { type DeniedNote, type Note, noteMark, outputMark, sentMark } from './log-lines.ts';
import { errorInText, problemOf } from './problems.ts';
import { createToolCalls } from './tool-calls.ts';
import { usageSince } from './usage.ts';

/**
 * Decodes the log of one turn: the messages of both sides, and the notes of Spool. Only updates of the session that was
 * prompted count, and none after the answer to the prompt.
 */
export const createAcpDecoder = (title: string): Decoder => {
  const tools = createToolCalls();
  const said = createSaid();
  let sessionId: string | null = null;
  let promptId: unknown = null;
  let answer: Record<string, unknown> | null = null;
  let wasCancelled = false;
  let reported: Usage = unknownUsage;
  let costUsd: number | null = null;
  let found: Pick<Note, 'problem' | 'unfinished'> = {};

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

  const refused = ({ id, tool, title: what, byRule }: DeniedNote): readonly AgentEvent[] => [
    ...said.flush(),
    ...tools.refuse(id, tool, what),
    denied(title, tool, byRule ? { byRule } : {}),
  ];

  const noted = (note: Note): readonly AgentEvent[] => {
    found = {
      ...found,
      ...(note.problem && { problem: note.problem }),
      ...(note.unfinished && { unfinished: note.unfinished }),
    };
    return [
      ...(note.denied ? refused(note.denied) : []),
      ...(note.usage ? usageOf(note.usage) : []),
      ...(note.waiting ? [{ type: 'stderr' as const, text: note.waiting }] : []),
    ];
  };

  const updated = (update: unknown): readonly AgentEvent[] => {
    switch (field(update, 'sessionUpdate')) {
      case 'agent_message_chunk':
        return said.add('text', textAt(update, 'content', 'text') ?? '');
      case 'agent_thought_chunk':
        return said.add('reasoning', textAt(update, 'content', 'text') ?? '');
      case 'tool_call':
      case 'tool_call_update':
        return [...said.flush(), ...tools.update(update)];
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
    const tokens = asObject(field(answer, 'result', 'usage'));
    if (reported !== unknownUsage || (tokens === null && costUsd === null)) return [];
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
    const problem: Problem | null = errorInText(said.last());
    if (problem !== null) return [problemEvent(problem)];
    return said.hasText() || tools.count() > 0 ? [] : [truncated(title, 'no message')];
  };

  return {
    stdout: (line) => {
      if (line.startsWith(outputMark)) return [{ type: 'stderr', text: line.slice(outputMark.length) }];
      if (line.startsWith(sentMark)) return sent(parseObject(line.slice(sentMark.length)));
      if (line.startsWith(noteMark)) return noted((parseObject(line.slice(noteMark.length)) ?? {}) as Note);
      const message = parseObject(line);
      return message === null ? [{ type: 'stderr', text: line }] : received(message);
    },
    end: () => [...said.flush(), ...tools.end(), ...answeredUsage(), ...verdict()],
  };
};

/** In characters. A longer message is passed on in parts. */
const longestPart = 1024 * 1024;

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
      const before = kind === of && length < longestPart ? [] : flush();
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

import { type AgentEvent, unknownUsage } from '../ralph/agent-events.ts';
import { createToolNames, type ToolNames, toolTitle, unknownPart } from './tool-calls.ts';
import type { Decoder } from './harness.ts';
import { field, listAt, numberAt, parseObject, sum, textAt } from './json.ts';
import { denied, problemEvent, truncated } from './problem.ts';

/**
 * The `stream-json` format of Claude Code, which other agents use too: one line per message and a `result` at the end.
 * Messages of subagents have a parent. Messages written by the CLI itself have the model `<synthetic>`.
 */
export const createStreamJsonDecoder = (title: string): Decoder => {
  const tools = createToolNames();
  const denials = createReportedDenials(title, tools);
  let started = false;
  let lastResult: unknown = null;
  let resetsAtMs: number | null = null;

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    switch (field(event, 'type')) {
      case 'assistant':
        started = true;
        return Array.isArray(field(event, 'message', 'content')) ? messageEvents(event, tools) : null;
      case 'user':
        return toolResults(event, tools, denials);
      case 'result':
        lastResult = event;
        return [...listAt(event, 'permission_denials').flatMap(denials.add), ...failures(event, resetsAtMs)];
      case 'system':
        started = true;
        return field(event, 'subtype') === 'permission_denied' ? denials.add(event) : [];
      case 'rate_limit_event':
        resetsAtMs = resetTimeIn(event) ?? resetsAtMs;
        return [];
      case 'thinking':
        return [{ type: 'reasoning', text: textAt(event, 'text') ?? '' }];
      case 'tool_call':
        return cursorTool(event);
      case 'stream_event':
        return [];
      default:
        return null;
    }
  };

  return {
    stdout: decode,
    end: () => {
      // With background agents there are several results, each with the totals so far.
      if (lastResult !== null) return [usageEvent(lastResult)];
      return started ? [truncated(title, 'no result')] : [];
    },
  };
};

interface ReportedDenials {
  /** A denial is reported when it happens and once more in the result. Returns no event for the second report. */
  add(denial: unknown): AgentEvent[];
  has(toolUseId: string): boolean;
}

const createReportedDenials = (title: string, tools: ToolNames): ReportedDenials => {
  const ids = new Set<string>();
  return {
    add: (denial) => {
      const tool = textAt(denial, 'tool_name') ?? 'a tool';
      const id = textAt(denial, 'tool_use_id') ?? tool;
      if (ids.has(id)) return [];
      ids.add(id);
      const input = field(denial, 'tool_input');
      const call = input === undefined ? tools.call(id) : { tool, input };
      return [denied(title, tool, call === null ? {} : { call })];
    },
    has: (id) => ids.has(id),
  };
};

const messageEvents = (event: unknown, tools: ToolNames): AgentEvent[] => {
  const isOwn = typeof field(event, 'parent_tool_use_id') !== 'string';
  const isSynthetic = field(event, 'message', 'model') === '<synthetic>';
  return listAt(event, 'message', 'content')
    .map((block): AgentEvent | null => {
      const text = textAt(block, 'text') ?? '';
      switch (field(block, 'type')) {
        case 'text':
          if (isSynthetic) return { type: 'stderr', text };
          return isOwn ? { type: 'text', text, plain: false } : { type: 'reasoning', text };
        case 'thinking':
          return { type: 'reasoning', text: textAt(block, 'thinking') ?? '' };
        case 'tool_use':
          return {
            type: 'tool',
            tool: tools.add(textAt(block, 'id'), textAt(block, 'name'), field(block, 'input')),
            title: toolTitle(field(block, 'input')),
          };
        case 'redacted_thinking':
          return null;
        default:
          return unknownPart(block);
      }
    })
    .filter((each) => each !== null);
};

const toolResults = (event: unknown, tools: ToolNames, denials: ReportedDenials): AgentEvent[] =>
  listAt(event, 'message', 'content')
    .filter((block) => field(block, 'type') === 'tool_result')
    .map((block) => {
      const id = textAt(block, 'tool_use_id') ?? '';
      const failed = field(block, 'is_error') === true;
      return { type: 'tool-result', tool: tools.of(id), failed, ...(denials.has(id) ? { denied: true } : {}) };
    });

/** Returns when a usage limit that was reached ends; null if none was. */
const resetTimeIn = (event: unknown): number | null => {
  const seconds = numberAt(event, 'rate_limit_info', 'resetsAt');
  const isReached = textAt(event, 'rate_limit_info', 'status') === 'rejected';
  return isReached && seconds !== null ? seconds * 1000 : null;
};

/** Cursor's own format for tool calls: an event at the start and at the end, keyed by the name of the tool. */
const cursorTool = (event: unknown): AgentEvent[] => {
  const [name = 'tool', call] = Object.entries(field(event, 'tool_call') ?? {})[0] ?? [];
  const tool = name.replace(/ToolCall$/, '');
  if (field(event, 'subtype') === 'started') return [{ type: 'tool', tool, title: toolTitle(field(call, 'args')) }];
  return [{ type: 'tool-result', tool, failed: field(call, 'result', 'error') !== undefined }];
};

const failures = (event: unknown, resetsAtMs: number | null): AgentEvent[] => {
  if (field(event, 'is_error') !== true && !textAt(event, 'subtype')?.startsWith('error')) return [];
  const said = textAt(event, 'result') || textAt(event, 'error', 'message') || textAt(event, 'error');
  const message =
    said || textAt(event, 'terminal_reason') || textAt(event, 'subtype') || 'the agent ended with an error';
  const problem = problemEvent({ message, status: numberAt(event, 'api_error_status') });
  return problem.kind === 'rate-limit' && resetsAtMs !== null ? [{ ...problem, resetsAtMs }] : [problem];
};

/**
 * The totals of the whole iteration. The totals per model are preferred, since only they include subagents.
 * The cost is null if the CLI guessed the price of a model.
 */
const usageEvent = (event: unknown): AgentEvent => {
  const usage = field(event, 'usage');
  const models = Object.values(field(event, 'modelUsage') ?? {});
  const over = (key: string) => {
    const known = models.map((model) => numberAt(model, key)).filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((total, value) => total + value);
  };
  const cacheReadTokens = models.length > 0 ? over('cacheReadInputTokens') : numberAt(usage, 'cache_read_input_tokens');
  const cacheWriteTokens =
    models.length > 0 ? over('cacheCreationInputTokens') : numberAt(usage, 'cache_creation_input_tokens');
  const input = models.length > 0 ? over('inputTokens') : numberAt(usage, 'input_tokens');
  // If a total is given, the input already includes the cached tokens.
  const inclusive = numberAt(usage, 'total_tokens') !== null;
  return {
    type: 'usage',
    ...unknownUsage,
    inputTokens: inclusive ? input : sum(input, cacheReadTokens, cacheWriteTokens),
    outputTokens: models.length > 0 ? over('outputTokens') : numberAt(usage, 'output_tokens'),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: numberAt(usage, 'output_tokens_details', 'thinking_tokens'),
    costUsd: models.some((model) => field(model, 'costBasis') === 'unknown') ? null : numberAt(event, 'total_cost_usd'),
  };
};

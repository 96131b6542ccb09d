import { type AgentEvent, unknownUsage } from '../ralph/agent-events.ts';
import { toolTitle, unknownPart } from './tool-input.ts';
import type { Decoder } from './harness.ts';
import { field, listAt, numberAt, parseObject, sum, textAt } from './json.ts';
import { denied, problemEvent, truncated } from './problem.ts';

/**
 * The `stream-json` format of Claude Code, which other agents use too: one line per message and a `result` at the end.
 * Messages of subagents have a parent. Messages written by the CLI itself have the model `<synthetic>`.
 */
export const createStreamJsonDecoder = (title: string): Decoder => {
  const tools = new Map<string, string>();
  let started = false;
  let finished = false;
  /** The IDs of denied tool calls. */
  const refused = new Set<string>();
  let lastResult: unknown = null;
  let resetsAtMs: number | null = null;

  /** A denial is reported when it happens and once more in the result. */
  const refusal = (about: unknown): AgentEvent[] => {
    const tool = textAt(about, 'tool_name') ?? 'a tool';
    const id = textAt(about, 'tool_use_id') ?? tool;
    if (refused.has(id)) return [];
    refused.add(id);
    return [denied(title, tool)];
  };

  const assistant = (event: unknown): AgentEvent[] => {
    const message = field(event, 'message');
    const own = typeof field(event, 'parent_tool_use_id') !== 'string';
    const synthetic = field(message, 'model') === '<synthetic>';
    return listAt(message, 'content').flatMap((block): AgentEvent[] => {
      const text = textAt(block, 'text') ?? '';
      switch (field(block, 'type')) {
        case 'text':
          if (synthetic) return [{ type: 'stderr', text }];
          return own ? [{ type: 'text', text, plain: false }] : [{ type: 'reasoning', text }];
        case 'thinking':
          return [{ type: 'reasoning', text: textAt(block, 'thinking') ?? '' }];
        case 'tool_use': {
          const tool = textAt(block, 'name') ?? 'tool';
          tools.set(textAt(block, 'id') ?? '', tool);
          return [{ type: 'tool', tool, title: toolTitle(field(block, 'input')) }];
        }
        case 'redacted_thinking':
          return [];
        default:
          return [unknownPart(block)];
      }
    });
  };

  const results = (event: unknown): AgentEvent[] =>
    listAt(event, 'message', 'content')
      .filter((block) => field(block, 'type') === 'tool_result')
      .map((block) => {
        const id = textAt(block, 'tool_use_id') ?? '';
        return {
          type: 'tool-result',
          tool: tools.get(id) ?? 'tool',
          failed: field(block, 'is_error') === true,
          ...(refused.has(id) ? { denied: true } : {}),
        };
      });

  const result = (event: unknown): AgentEvent[] => {
    finished = true;
    lastResult = event;
    return [
      ...listAt(event, 'permission_denials').flatMap(refusal),
      ...(field(event, 'is_error') === true || (textAt(event, 'subtype') ?? '').startsWith('error')
        ? [failure(event, resetsAtMs)]
        : []),
    ];
  };

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    switch (field(event, 'type')) {
      case 'assistant':
        started = true;
        return Array.isArray(field(event, 'message', 'content')) ? assistant(event) : null;
      case 'user':
        return results(event);
      case 'result':
        return result(event);
      case 'system':
        started = true;
        return field(event, 'subtype') === 'permission_denied' ? refusal(event) : [];
      case 'rate_limit_event': {
        const seconds = numberAt(event, 'rate_limit_info', 'resetsAt');
        if (textAt(event, 'rate_limit_info', 'status') === 'rejected' && seconds !== null) resetsAtMs = seconds * 1000;
        return [];
      }
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
    // With background agents there are several results, each with the totals so far.
    end: () => [
      ...(lastResult === null ? [] : [usageEvent(lastResult)]),
      ...(started && !finished ? [truncated(title, 'no result')] : []),
    ],
  };
};

/** Cursor's own format for tool calls: an event at the start and at the end, keyed by the name of the tool. */
const cursorTool = (event: unknown): AgentEvent[] => {
  const [name = 'tool', call] = Object.entries(field(event, 'tool_call') ?? {})[0] ?? [];
  const tool = name.replace(/ToolCall$/, '');
  if (field(event, 'subtype') === 'started') return [{ type: 'tool', tool, title: toolTitle(field(call, 'args')) }];
  return [{ type: 'tool-result', tool, failed: field(call, 'result', 'error') !== undefined }];
};

const failure = (event: unknown, resetsAtMs: number | null): AgentEvent => {
  const said = textAt(event, 'result') || textAt(event, 'error', 'message') || textAt(event, 'error');
  const message =
    said || textAt(event, 'terminal_reason') || textAt(event, 'subtype') || 'the agent ended with an error';
  const problem = problemEvent({ message, status: numberAt(event, 'api_error_status') });
  return problem.kind === 'rate-limit' && resetsAtMs !== null ? { ...problem, resetsAtMs } : problem;
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

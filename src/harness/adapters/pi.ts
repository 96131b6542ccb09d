import { type AgentEvent, unknownUsage } from '../../ralph/agent-events.ts';
import { toolTitle, unknownPart } from '../tool-calls.ts';
import type { Decoder, Harness } from '../harness.ts';
import { field, listAt, numberAt, parseObject, sum, textAt } from '../json.ts';
import { problemEvent, truncated } from '../problem.ts';
import { providerHosts } from '../providers.ts';

/** pi. It has no permission rules, and exits with 0 even if the provider refused the request. */
export const pi: Harness = {
  name: 'pi',
  title: 'pi',
  install: 'npm install -g @mariozechner/pi-coding-agent',
  launch: {
    binary: 'pi',
    args: ({ model }) => ['--print', '--mode', 'json', '--no-session', ...(model === null ? [] : ['--model', model])],
  },
  output: {
    decoder: (title) => createDecoder(title),
  },
  capabilities: ['text', 'tools', 'tokens', 'cost'],
  advice: { auth: 'sign in with "pi" and then /login', model: 'choose another with --model' },
  sandbox: {
    data: (home, env) => [env.PI_CODING_AGENT_DIR || `${home}/.pi`],
    settings: (home, env) =>
      ['settings.json', 'extensions', 'models.json', 'AGENTS.md', 'skills', 'prompts'].map(
        (name) => `${env.PI_CODING_AGENT_DIR || `${home}/.pi/agent`}/${name}`,
      ),
    hosts: providerHosts,
  },
};

const createDecoder = (title: string): Decoder => {
  let started = false;
  let finished = false;
  /** The errors of the last message. pi retries by itself, so errors of earlier messages do not matter. */
  let problem: AgentEvent[] = [];

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    const type = textAt(event, 'type');
    if (type === null || !known.test(type)) return null;
    started = true;
    switch (type) {
      case 'message_end':
        if (field(event, 'message', 'role') !== 'assistant') return [];
        problem = problemsOf(title, field(event, 'message'));
        return Array.isArray(field(event, 'message', 'content')) ? messageEvents(field(event, 'message')) : null;
      case 'tool_execution_start':
        return [{ type: 'tool', tool: textAt(event, 'toolName') ?? 'tool', title: toolTitle(field(event, 'args')) }];
      case 'tool_execution_end':
        return [
          { type: 'tool-result', tool: textAt(event, 'toolName') ?? 'tool', failed: field(event, 'isError') === true },
        ];
      case 'agent_end':
        finished = true;
        return [];
      default:
        return [];
    }
  };

  return {
    stdout: decode,
    end: () => [...problem, ...(started && !finished ? [truncated(title, 'no end')] : [])],
  };
};

const known =
  /^(?:session|(?:agent|turn|message|tool_execution|auto_retry|compaction)_(?:start|update|end)|queue_\w+)$/;

const messageEvents = (message: unknown): AgentEvent[] => [
  ...listAt(message, 'content').flatMap((part): AgentEvent[] => {
    if (field(part, 'type') === 'text') return [{ type: 'text', text: textAt(part, 'text') ?? '', plain: false }];
    if (field(part, 'type') === 'thinking') return [{ type: 'reasoning', text: textAt(part, 'thinking') ?? '' }];
    return field(part, 'type') === 'toolCall' ? [] : [unknownPart(part)];
  }),
  usageEvent(field(message, 'usage')),
];

const problemsOf = (title: string, message: unknown): AgentEvent[] => {
  switch (field(message, 'stopReason')) {
    case 'error':
      return [problemEvent({ message: textAt(message, 'errorMessage') || 'the agent ended with an error' })];
    case 'length':
    case 'aborted':
      return [truncated(title, String(field(message, 'stopReason')))];
    default:
      return [];
  }
};

/** pi does not include cached tokens in the input. */
const usageEvent = (usage: unknown): AgentEvent => {
  const cacheReadTokens = numberAt(usage, 'cacheRead');
  const cacheWriteTokens = numberAt(usage, 'cacheWrite');
  // pi reports unknown numbers as zero.
  if (numberAt(usage, 'totalTokens') === 0 || (numberAt(usage, 'input') === 0 && numberAt(usage, 'output') === 0))
    return { type: 'usage', ...unknownUsage };
  return {
    type: 'usage',
    ...unknownUsage,
    inputTokens: sum(numberAt(usage, 'input'), cacheReadTokens, cacheWriteTokens),
    outputTokens: numberAt(usage, 'output'),
    cacheReadTokens,
    cacheWriteTokens,
    costUsd: numberAt(usage, 'cost', 'total'),
  };
};

import { type AgentEvent, unknownUsage } from '../../ralph/agent-events.ts';
import { createToolNames, toolTitle } from '../tool-calls.ts';
import type { Decoder, Harness } from '../harness.ts';
import { field, numberAt, parseObject, sum, textAt } from '../json.ts';
import { denied, problemEvent, truncated } from '../problem.ts';

/** Gemini CLI. In a folder that it does not trust it exits with code 55 and ignores `--yolo`. */
export const gemini: Harness = {
  name: 'gemini',
  title: 'Gemini',
  install: 'npm install -g @google/gemini-cli',
  launch: {
    binary: 'gemini',
    args: ({ model, allowAll }) => [
      '--output-format',
      'stream-json',
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? ['--yolo', '--skip-trust'] : []),
    ],
  },
  output: {
    decoder: (title) => createDecoder(title),
    exitCodes: { 41: 'auth', 55: 'permission' },
  },
  acp: {
    defaultMode: 'warm',
    capabilities: ['text', 'tools', 'tokens', 'denials'],
    start: (_, { allowAll }) => ({ args: ['--acp', ...(allowAll ? ['--skip-trust'] : [])] }),
    sessionMode: 'default',
    needsSignal: true,
  },
  capabilities: ['text', 'tools', 'tokens'],
  permissions: {
    defaultRestrictions:
      'it cannot edit files or run commands; started for each iteration, it exits with code 55 in a folder that it does not trust',
    howToAllow: (tools) =>
      tools.length === 0
        ? 'trust the folder: start "gemini" in it once'
        : `add a rule with toolName = "${tools[0]}" and decision = "allow" to a file in ~/.gemini/policies`,
  },
  advice: {
    auth: 'sign in with "gemini" and then /auth, or set GEMINI_API_KEY',
    model: 'choose another with --model',
  },
  sandbox: {
    data: (home, env) => [`${env.GEMINI_CLI_HOME || home}/.gemini`],
    settings: (home, env) =>
      ['settings.json', 'GEMINI.md', 'trustedFolders.json', 'extensions', 'commands', 'policies', 'skills'].map(
        (name) => `${env.GEMINI_CLI_HOME || home}/.gemini/${name}`,
      ),
    hosts: ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
  },
};

/** A message arrives in pieces, one per line, and is complete when a line of another type follows. */
const createDecoder = (title: string): Decoder => {
  const tools = createToolNames();
  let message = '';
  let started = false;
  let finished = false;

  const flush = (): AgentEvent[] => {
    const text = message;
    message = '';
    return text === '' ? [] : [{ type: 'text', text, plain: false }];
  };

  const next = (event: unknown): AgentEvent[] => {
    switch (field(event, 'type')) {
      case 'tool_use': {
        const tool = tools.add(textAt(event, 'tool_id'), textAt(event, 'tool_name'));
        return [{ type: 'tool', tool, title: toolTitle(field(event, 'parameters')) }];
      }
      case 'tool_result': {
        const tool = tools.of(textAt(event, 'tool_id'));
        const failed = field(event, 'status') === 'error';
        return textAt(event, 'error', 'type') === 'policy_violation'
          ? [{ type: 'tool-result', tool, failed, denied: true }, denied(title, tool)]
          : [{ type: 'tool-result', tool, failed }];
      }
      case 'error': {
        const text = textAt(event, 'message') ?? '';
        return [field(event, 'severity') === 'warning' ? { type: 'stderr', text } : problemEvent({ message: text })];
      }
      case 'result':
        finished = true;
        return [usageEvent(field(event, 'stats')), ...failureOf(event)];
      default:
        return [];
    }
  };

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    const type = textAt(event, 'type');
    if (type === null || !types.has(type)) return null;
    started = true;
    if (type !== 'message') return [...flush(), ...next(event)];
    if (field(event, 'role') === 'user') return flush();
    const content = textAt(event, 'content');
    if (content === null || field(event, 'role') !== 'assistant') return null;
    const whole = field(event, 'delta') === true ? [] : flush();
    message += content;
    return whole;
  };

  return {
    stdout: decode,
    end: () => [...flush(), ...(started && !finished ? [truncated(title, 'no result')] : [])],
  };
};

const types = new Set(['init', 'message', 'tool_use', 'tool_result', 'error', 'result']);

const failureOf = (event: unknown): AgentEvent[] => {
  if (field(event, 'status') === 'success') return [];
  return [problemEvent({ message: textAt(event, 'error', 'message') || 'the agent ended with an error' })];
};

/** Gemini includes cached tokens in the input, and reasoning only in the total. */
const usageEvent = (stats: unknown): AgentEvent => {
  const inputTokens = numberAt(stats, 'input_tokens');
  const said = numberAt(stats, 'output_tokens');
  const total = numberAt(stats, 'total_tokens');
  const rest = total === null || said === null || inputTokens === null ? -1 : total - inputTokens - said;
  const thoughts = rest < 0 ? null : rest;
  return {
    type: 'usage',
    ...unknownUsage,
    inputTokens,
    outputTokens: sum(said, thoughts),
    cacheReadTokens: numberAt(stats, 'cached'),
    reasoningTokens: thoughts,
  };
};

import { type AgentEvent, nothingKnown } from '../ralph/events.ts';
import type { Decoder, Harness } from './harness.ts';
import { field, numberAt, parseObject, textAt } from './json.ts';
import { problemEvent, truncated } from './problem.ts';
import { aboutOf } from './stream-json.ts';

/** Gemini CLI. In a folder that it does not trust it ends with code 55, and takes no `--yolo`. */
export const gemini: Harness = {
  name: 'gemini',
  title: 'Gemini',
  binary: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  reports: ['text', 'tools', 'tokens'],
  unlessAllowed: 'it cannot edit files or run commands, and ends with code 55 in a folder that it does not trust',
  args: ({ model, allowAll }) => [
    '--output-format',
    'stream-json',
    ...(model === null ? [] : ['--model', model]),
    ...(allowAll ? ['--yolo', '--skip-trust'] : []),
  ],
  decoder: () => createDecoder(),
};

/** A message comes in pieces, one a line; it is whole when anything else follows. */
const createDecoder = (): Decoder => {
  const tools = new Map<string, string>();
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
        const tool = textAt(event, 'tool_name') ?? 'tool';
        tools.set(textAt(event, 'tool_id') ?? '', tool);
        return [{ type: 'tool', tool, about: aboutOf(field(event, 'parameters')) }];
      }
      case 'tool_result': {
        const tool = tools.get(textAt(event, 'tool_id') ?? '') ?? 'tool';
        return [{ type: 'tool-result', tool, failed: field(event, 'status') === 'error' }];
      }
      case 'error':
        return [{ type: 'stderr', text: textAt(event, 'message') ?? '' }];
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
    if (field(event, 'role') !== 'assistant') return flush();
    const content = textAt(event, 'content');
    if (content === null) return null;
    const whole = field(event, 'delta') === true ? [] : flush();
    message += content;
    return whole;
  };

  return {
    stdout: decode,
    stderr: (line) => [{ type: 'stderr', text: line }],
    end: () => [...flush(), ...(started && !finished ? [truncated('Gemini', 'no result')] : [])],
  };
};

const types = new Set(['init', 'message', 'tool_use', 'tool_result', 'error', 'result']);

const advice = { auth: 'sign in with "gemini" and then /auth', model: 'choose another with --model' };

const failureOf = (event: unknown): AgentEvent[] => {
  if (field(event, 'status') !== 'error') return [];
  return [problemEvent({ message: textAt(event, 'error', 'message') || 'it ended with an error', advice })];
};

/** Gemini counts cached tokens into the input. */
const usageEvent = (stats: unknown): AgentEvent => ({
  type: 'usage',
  ...nothingKnown,
  inputTokens: numberAt(stats, 'input_tokens'),
  outputTokens: numberAt(stats, 'output_tokens'),
  cacheReadTokens: numberAt(stats, 'cached'),
});

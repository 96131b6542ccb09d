import type { AgentErrorKind, AgentEvent } from '../ralph/events.ts';
import { field, numberAt, parseObject, textAt } from './json.ts';
import type { Decoder, Harness } from './harness.ts';

/** OpenCode 1.x. `--title` spares a request that would send the whole prompt once more to find a title. */
export const opencode: Harness = {
  name: 'opencode',
  title: 'OpenCode',
  binary: 'opencode',
  install: 'npm install -g opencode-ai',
  args: ({ model, allowAll, title }) => [
    'run',
    '--format',
    'json',
    '--title',
    title,
    ...(model === null ? [] : ['--model', model]),
    ...(allowAll ? ['--auto'] : []),
  ],
  decoder: () => createDecoder(),
};

/**
 * A permission that nobody grants ends the run of OpenCode with exit code 0 in the middle of a step: it is seen by
 * the last step, which then has not the reason "stop", and by a line on stderr that names the permission.
 */
const createDecoder = (): Decoder => {
  /** Why the last step ended; "open" while it has not, null before the first. */
  let lastStep: string | null = null;
  let denied: string | null = null;

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    const part = field(event, 'part');
    switch (field(event, 'type')) {
      case 'step_start':
        lastStep = 'open';
        return [];
      case 'text':
        return wrap(textAt(part, 'text'), (text) => ({ type: 'text', text, plain: false }));
      case 'reasoning':
        return wrap(textAt(part, 'text'), (text) => ({ type: 'reasoning', text }));
      case 'tool_use':
        if (/rejected permission/.test(textAt(part, 'state', 'error') ?? '')) denied ??= textAt(part, 'tool');
        return wrap(textAt(part, 'tool'), (tool) => toolEvent(tool, field(part, 'state')));
      case 'step_finish':
        lastStep = textAt(part, 'reason') ?? 'stop';
        return [usageEvent(part)];
      case 'error':
        return [errorEvent(field(event, 'error'))];
      default:
        return null;
    }
  };

  return {
    stdout: decode,
    stderr: (line) => {
      denied = /permission requested: (\S+)/.exec(line)?.[1] ?? denied;
      return [{ type: 'stderr', text: line }];
    },
    end: () => {
      if (lastStep === null || !unfinished.has(lastStep)) return [];
      if (denied === null)
        return [
          { type: 'error', kind: 'truncated', message: `OpenCode stopped in the middle of its work (${lastStep})` },
        ];
      const message = `OpenCode was denied ${denied}; run with --allow-all or allow it in opencode.json`;
      return [{ type: 'error', kind: 'permission', message }];
    },
  };
};

/** What a last step ends with when the agent had more to do or to say. */
const unfinished = new Set(['open', 'tool-calls', 'length', 'content-filter', 'error']);

const wrap = (text: string | null, event: (text: string) => AgentEvent) => (text === null ? null : [event(text)]);

const toolEvent = (tool: string, state: unknown): AgentEvent => ({
  type: 'tool',
  tool,
  about: textAt(state, 'title') || textAt(state, 'input', 'command') || textAt(state, 'input', 'filePath') || '',
  failed: field(state, 'status') === 'error',
});

/** OpenCode counts cached tokens apart from the input, and reasoning apart from the output. */
const usageEvent = (part: unknown): AgentEvent => {
  const tokens = field(part, 'tokens');
  return {
    type: 'usage',
    inputTokens: sum(numberAt(tokens, 'input'), numberAt(tokens, 'cache', 'read'), numberAt(tokens, 'cache', 'write')),
    outputTokens: sum(numberAt(tokens, 'output'), numberAt(tokens, 'reasoning')),
    costUsd: numberAt(part, 'cost'),
  };
};

const sum = (first: number | null, ...others: (number | null)[]) =>
  first === null ? null : others.reduce<number>((total, value) => total + (value ?? 0), first);

const errorEvent = (error: unknown): AgentEvent => {
  const name = textAt(error, 'name') || 'error';
  const status = numberAt(error, 'data', 'statusCode');
  const message = textAt(error, 'data', 'message') || name;
  const kind = errorKind(name, status);
  return {
    type: 'error',
    kind,
    message: `${message}${status === null ? '' : ` (HTTP ${status})`}${advice(kind, name)}`,
  };
};

const errorKind = (name: string, status: number | null): AgentErrorKind => {
  if (status === 401 || status === 403 || name === 'ProviderAuthError') return 'auth';
  if (status === 404 || name === 'ProviderModelNotFoundError') return 'model';
  if (status === 429) return 'limit';
  if (status !== null && status >= 500) return 'overload';
  return 'unknown';
};

/** An unknown model and a provider without a key both come as the same UnknownError that names neither. */
const advice = (kind: AgentErrorKind, name: string) => {
  if (kind === 'auth') return '; sign in with "opencode auth login"';
  if (kind === 'model') return '; "opencode models" lists the models';
  if (name === 'UnknownError') return '; check the model with "opencode models" and the key with "opencode auth list"';
  return '';
};

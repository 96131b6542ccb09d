import type { AgentErrorKind, AgentEvent } from '../ralph/events.ts';
import type { Decoder, Harness } from './harness.ts';
import { field, numberAt, parseObject, sum, textAt } from './json.ts';
import { denied, problemEvent, truncated } from './problem.ts';

/** OpenCode 1.x. `--title` spares a request that would send the whole prompt once more to find a title. */
export const opencode: Harness = {
  name: 'opencode',
  title: 'OpenCode',
  binary: 'opencode',
  install: 'npm install -g opencode-ai',
  reports: ['text', 'tools', 'tokens', 'cost', 'denials'],
  signIn: {
    args: ['auth', 'list'],
    signedOut: /\b0 credentials(?![\s\S]*Environment)/,
    maybe: true,
    fix: 'opencode auth login',
  },
  versioned: true,
  ownData: (folder) => ({ OPENCODE_DB: `${folder}/opencode.db` }),
  args: ({ model, allowAll, title, version }) => [
    'run',
    '--format',
    'json',
    '--title',
    title,
    ...(model === null ? [] : ['--model', model]),
    ...(allowAll ? [isBefore(version, '1.17.18') ? '--dangerously-skip-permissions' : '--auto'] : []),
  ],
  advice: {
    auth: 'sign in with "opencode auth login"',
    model: '"opencode models" lists the models',
    permission: 'allow it in opencode.json',
  },
  decoder: (title) => createDecoder(title),
};

/**
 * A permission that nobody grants is named on stderr, and in the error of the tool. It ends the run of OpenCode with
 * exit code 0, in the middle of a step, or not even that, depending on its settings.
 */
const createDecoder = (title: string): Decoder => {
  /** Why the last step ended; "open" while it has not, null before the first. */
  let lastStep: string | null = null;
  let refused: string | null = null;

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
        if (refusals.test(textAt(part, 'state', 'error') ?? '')) refused ??= textAt(part, 'tool');
        return toolEvents(textAt(part, 'tool'), field(part, 'state'));
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
      refused = /permission requested: (\S+)/.exec(line)?.[1] ?? refused;
    },
    end: () => {
      if (refused !== null) return [denied(title, refused)];
      return lastStep !== null && unfinished.has(lastStep) ? [truncated(title, lastStep)] : [];
    },
  };
};

/** What a tool says when the user, or a rule of the user's, has refused it. */
const refusals = /rejected permission|specified a rule which prevents/;

/** What a last step ends with when the agent had more to do or to say. */
const unfinished = new Set(['open', 'tool-calls', 'length', 'content-filter', 'error']);

const wrap = (text: string | null, event: (text: string) => AgentEvent) => (text === null ? null : [event(text)]);

const toolEvents = (tool: string | null, state: unknown): readonly AgentEvent[] | null => {
  if (tool === null) return null;
  const about = textAt(state, 'title') || textAt(state, 'input', 'command') || textAt(state, 'input', 'filePath') || '';
  return [
    { type: 'tool', tool, about },
    { type: 'tool-result', tool, failed: field(state, 'status') === 'error' },
  ];
};

/** OpenCode counts cached tokens apart from the input, and reasoning apart from the output. */
const usageEvent = (part: unknown): AgentEvent => {
  const tokens = field(part, 'tokens');
  const cacheReadTokens = numberAt(tokens, 'cache', 'read');
  const cacheWriteTokens = numberAt(tokens, 'cache', 'write');
  const reasoningTokens = numberAt(tokens, 'reasoning');
  return {
    type: 'usage',
    inputTokens: sum(numberAt(tokens, 'input'), cacheReadTokens, cacheWriteTokens),
    outputTokens: sum(numberAt(tokens, 'output'), reasoningTokens),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
    costUsd: numberAt(part, 'cost'),
  };
};

const errorEvent = (error: unknown): AgentEvent => {
  const name = textAt(error, 'name') || 'error';
  const message = `${textAt(error, 'data', 'message') || name}${name === 'UnknownError' ? opaque : ''}`;
  const status = numberAt(error, 'data', 'statusCode');
  return problemEvent({ message, status, kind: kinds.get(name) });
};

const kinds = new Map<string, AgentErrorKind>([
  ['ProviderAuthError', 'auth'],
  ['ProviderModelNotFoundError', 'model'],
  ['UnknownError', 'unknown'],
]);

/** An unknown model and a provider without a key both come as the same error that names neither. */
const opaque = '; check the model with "opencode models" and the key with "opencode auth list"';

/** Whether the first version in the text is older than the other; false when there is none in it. */
const isBefore = (text: string | null, other: string): boolean => {
  const version = /\d+\.\d+\.\d+/.exec(text ?? '')?.[0];
  return version !== undefined && version.localeCompare(other, 'en', { numeric: true }) < 0;
};

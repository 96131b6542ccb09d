import { dirname } from 'node:path';
import type { AgentErrorKind, AgentEvent, Usage } from '../../ralph/agent-events.ts';
import type { Decoder, Harness } from '../harness.ts';
import { asObject, field, numberAt, parseObject, sum, textAt } from '../json.ts';
import { denied, type Problem, problemEvent, truncated } from '../problem.ts';
import { providerHosts } from '../providers.ts';
import { opencodeRules } from '../permissions/opencode-rules.ts';
import type { DeniedCall } from '../decoded-event.ts';

/** OpenCode 1.x. Without `--title` it sends the whole prompt a second time to generate a title. */
export const opencode: Harness = {
  name: 'opencode',
  title: 'OpenCode',
  install: 'npm install -g opencode-ai',
  launch: {
    binary: 'opencode',
    args: async ({ model, allowAll, title, version }) => [
      'run',
      '--format',
      'json',
      '--title',
      title,
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? [isBefore(await version(), '1.17.18') ? '--dangerously-skip-permissions' : '--auto'] : []),
    ],
    isolationEnv: (folder) => ({ OPENCODE_DB: `${folder}/opencode.db` }),
  },
  output: {
    decoder: (title) => createDecoder(title),
  },
  acp: {
    defaultMode: 'warm',
    start: async (env) => (await import('./opencode-acp.ts')).startOpencode(env),
    quirks: { isDenied: (update) => rule.test(textAt(update, 'rawOutput', 'error') ?? '') },
    readAtStart: (env) => {
      const config = configFolder(env.HOME ?? '', env);
      return ['.', '.opencode', config].flatMap((folder) => readAtStart.map((name) => `${folder}/${name}`));
    },
  },
  capabilities: ['text', 'tools', 'tokens', 'cost', 'denials'],
  auth: {
    args: ['auth', 'list'],
    signedOut: /\b0 credentials(?![\s\S]*Environment)/,
    optional: true,
    fix: 'opencode auth login',
  },
  permissions: {
    ownRules: opencodeRules,
    howToAllow: (tools) =>
      `set "permission": { ${keysOf(tools)
        .map((key) => `"${key}": "allow"`)
        .join(', ')} } in opencode.json`,
  },
  advice: {
    auth: 'sign in with "opencode auth login"',
    model: '"opencode models" lists the models',
  },
  sandbox: {
    // It fails to start if it cannot write to its config folder.
    data: (home, env) => [
      configFolder(home, env),
      `${env.XDG_DATA_HOME || `${home}/.local/share`}/opencode`,
      `${env.XDG_STATE_HOME || `${home}/.local/state`}/opencode`,
      `${env.XDG_CACHE_HOME || `${home}/.cache`}/opencode`,
      ...(env.OPENCODE_DB ? [dirname(env.OPENCODE_DB)] : []),
    ],
    settings: (home, env) => runAtStart.map((name) => `${configFolder(home, env)}/${name}`),
    hosts: ['opencode.ai', 'models.dev', ...providerHosts],
  },
};

const configFolder = (home: string, env: NodeJS.ProcessEnv) => `${env.XDG_CONFIG_HOME || `${home}/.config`}/opencode`;

const runAtStart = [
  'opencode.json',
  'opencode.jsonc',
  'config.json',
  'tui.json',
  'tui.jsonc',
  'AGENTS.md',
  // It installs packages here at every start, and plugins import them.
  'node_modules',
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  '.npmrc',
  ...['agent', 'command', 'mode', 'plugin', 'skill', 'tool'].flatMap((name) => [name, `${name}s`]),
];

/** What it does not read again while it is running. */
const readAtStart = runAtStart.filter((name) => /^(?:opencode\.jsonc?|config\.json|[a-z]+)$/.test(name));

/** The keys of "permission" for these tools. All tools that change files share the key "edit". */
const keysOf = (tools: readonly string[]): readonly string[] =>
  tools.length === 0
    ? ['*']
    : [...new Set(tools.map((tool) => (/^(?:write|edit|multiedit|patch|apply_patch)$/.test(tool) ? 'edit' : tool)))];

/**
 * A permission that is not granted is named only on stderr; on stdout the tool that needed it fails. Depending on its
 * settings, OpenCode then exits with code 0 in the middle of a step, or the agent continues. If a rule forbids a tool,
 * the tool fails with an error and the agent continues.
 */
const createDecoder = (title: string): Decoder => {
  /** Why the last step ended: "open" while it is running, null before the first step. */
  let lastStep: string | null = null;
  let named = false;
  let unnamed: DeniedCall | null = null;

  const refusal = (call: DeniedCall, error: string): readonly AgentEvent[] => {
    if (rule.test(error)) {
      named = true;
      return [denied(title, call.tool, { byRule: true, call })];
    }
    unnamed = call;
    return [];
  };

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
        return toolEvents(textAt(part, 'tool'), field(part, 'state'), refusal);
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
      const [, permission, patterns = ''] = /permission requested: (\S+)(?: \((.*)\); )?/.exec(line) ?? [];
      if (permission === undefined) return [];
      named = true;
      return [denied(title, permission, { call: { tool: permission, input: inputOf(permission, patterns) } })];
    },
    end: () => [
      ...(unnamed === null || named ? [] : [denied(title, unnamed.tool, { call: unnamed })]),
      ...(lastStep !== null && unfinished.has(lastStep) ? [truncated(title, lastStep)] : []),
    ],
  };
};

/** What a permission was requested for: the commands of a text, a folder outside, a file, or an address. */
const inputOf = (permission: string, patterns: string): object => {
  if (permission === 'bash') return { command: patterns.replaceAll(', ', '\n') };
  if (permission === 'webfetch') return { url: patterns };
  return { path: patterns.replace(/\/\*$/, '') };
};

/** Errors of a tool that the user or a rule denied. */
const refusals = /rejected permission|specified a rule which prevents/;
const rule = /specified a rule which prevents/;

/** Reasons of a last step after which the agent had more to do or to say. */
const unfinished = new Set(['open', 'tool-calls', 'length', 'content-filter', 'error']);

/** Returns the reason of a last step if there was more to do; null if the agent had finished. */
export const unfinishedReason = (reason: string | null): string | null =>
  reason !== null && unfinished.has(reason) ? reason : null;

const wrap = (text: string | null, event: (text: string) => AgentEvent) => (text === null ? null : [event(text)]);

const toolEvents = (
  tool: string | null,
  state: unknown,
  refusal: (call: DeniedCall, error: string) => readonly AgentEvent[],
): readonly AgentEvent[] | null => {
  if (tool === null) return null;
  // The title of a command is what the agent says about it.
  const title = textAt(state, 'input', 'command') || textAt(state, 'title') || textAt(state, 'input', 'filePath') || '';
  const failed = field(state, 'status') === 'error';
  const error = textAt(state, 'error') ?? '';
  if (!refusals.test(error))
    return [
      { type: 'tool', tool, title },
      { type: 'tool-result', tool, failed },
    ];
  return [
    { type: 'tool', tool, title },
    { type: 'tool-result', tool, failed, denied: true },
    ...refusal({ tool, input: field(state, 'input') }, error),
  ];
};

/** OpenCode does not include cached tokens in the input, nor reasoning in the output. */
const usageEvent = (part: unknown): AgentEvent => ({ type: 'usage', ...opencodeUsage(part) });

/** The usage of a step, or of a whole session. */
export const opencodeUsage = (part: unknown): Usage => {
  const tokens = field(part, 'tokens');
  const cacheReadTokens = numberAt(tokens, 'cache', 'read');
  const cacheWriteTokens = numberAt(tokens, 'cache', 'write');
  const reasoningTokens = numberAt(tokens, 'reasoning');
  return {
    inputTokens: sum(numberAt(tokens, 'input'), cacheReadTokens, cacheWriteTokens),
    outputTokens: sum(numberAt(tokens, 'output'), reasoningTokens),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
    costUsd: numberAt(part, 'cost'),
  };
};

const errorEvent = (error: unknown): AgentEvent => problemEvent(opencodeProblem(error));

export const opencodeProblem = (error: unknown): Problem => {
  const name = textAt(error, 'name') || 'error';
  const message = `${textAt(error, 'data', 'message') || name}${name === 'UnknownError' ? opaque : ''}`;
  const status = numberAt(error, 'data', 'statusCode');
  const headers = asObject(field(error, 'data', 'responseHeaders'));
  return { message, status, headers, kind: kinds.get(name) };
};

const kinds = new Map<string, AgentErrorKind>([
  ['ProviderAuthError', 'auth'],
  ['ProviderModelNotFoundError', 'model'],
  ['UnknownError', 'unknown'],
]);

/** OpenCode reports an unknown model and a missing API key with the same error, which names neither. */
const opaque = '; check the model with "opencode models" and the key with "opencode auth list"';

/** Whether the first version in the text is older than the other. Returns false if the text has no version. */
const isBefore = (text: string | null, other: string): boolean => {
  const version = /(?<!\d)\d+\.\d+\.\d+/.exec(text ?? '')?.[0];
  return version !== undefined && version.localeCompare(other, 'en', { numeric: true }) < 0;
};

import { type AgentEvent, unknownUsage } from '../../ralph/events.ts';
import type { Decoder, Harness } from '../harness.ts';
import { field, listAt, numberAt, parseObject, textAt } from '../json.ts';
import { denied, problemEvent, truncated } from '../problem.ts';

/** Codex. Its sandbox is read-only by default, and says nothing when a write fails in it. */
export const codex: Harness = {
  name: 'codex',
  title: 'Codex',
  binary: 'codex',
  install: 'npm install -g @openai/codex',
  capabilities: ['text', 'tools', 'tokens'],
  signIn: { args: ['login', 'status'], signedOut: /not logged in/i, maybe: true, fix: 'codex login' },
  isolationEnv: (folder) => ({ CODEX_SQLITE_HOME: folder }),
  defaultRestrictions: 'its sandbox is read-only, unless sandbox_mode in ~/.codex/config.toml says otherwise',
  args: ({ model, allowAll }) => [
    'exec',
    '--json',
    '--skip-git-repo-check',
    ...(model === null ? [] : [`--model=${model}`]),
    ...(allowAll ? ['--dangerously-bypass-approvals-and-sandbox'] : []),
    '-',
  ],
  sandbox: {
    data: (home, env) => [
      env.CODEX_HOME || `${home}/.codex`,
      ...(env.CODEX_SQLITE_HOME ? [env.CODEX_SQLITE_HOME] : []),
    ],
    settings: (home, env) =>
      ['config.toml', 'managed_config.toml', 'AGENTS.md', 'AGENTS.override.md', 'hooks.json', 'rules', 'prompts'].map(
        (name) => `${env.CODEX_HOME || `${home}/.codex`}/${name}`,
      ),
    created: (home, env) => [`${env.CODEX_HOME || `${home}/.codex`}/skills`],
    hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
  },
  advice: {
    permission: () =>
      'set sandbox_mode = "workspace-write" in ~/.codex/config.toml and allow the command in ~/.codex/rules/default.rules',
    auth: 'sign in with "codex login"',
    model: 'choose another with --model',
  },
  decoder: (title) => createDecoder(title),
};

/** Only `turn.failed` is a failure: "Reconnecting…" comes as an error, too, and so do mere warnings. */
const createDecoder = (title: string): Decoder => {
  let started = false;
  let finished = false;

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    switch (field(event, 'type')) {
      case 'thread.started':
      case 'turn.started':
        started = true;
        return [];
      case 'item.started':
        return itemStarted(field(event, 'item'));
      case 'item.updated':
        return [];
      case 'item.completed':
        return itemCompleted(field(event, 'item'));
      case 'turn.completed':
        finished = true;
        return [usageEvent(field(event, 'usage'))];
      case 'turn.failed':
        finished = true;
        return [problemEvent({ message: textAt(event, 'error', 'message') || 'the turn failed' })];
      case 'error':
        return [{ type: 'stderr', text: textAt(event, 'message') ?? '' }];
      default:
        return null;
    }
  };

  return {
    stdout: decode,
    // A command that its rules forbid is seen only there.
    stderr: (line) => (isRejection(line) ? [denied(title, 'shell')] : []),
    end: () => (started && !finished ? [truncated(title, 'no end of turn')] : []),
  };
};

const isRejection = (line: string): boolean => {
  const at = line.indexOf('tools::router');
  return at !== -1 && /\bRejected\(/.test(line.slice(at));
};

const itemStarted = (item: unknown): AgentEvent[] => {
  const tool = toolOf(item);
  return tool === null ? [] : [{ type: 'tool', ...tool }];
};

const itemCompleted = (item: unknown): AgentEvent[] | null => {
  const text = textAt(item, 'text');
  switch (field(item, 'type')) {
    case 'agent_message':
      return text === null ? null : [{ type: 'text', text, plain: false }];
    case 'reasoning':
      return [{ type: 'reasoning', text: text ?? '' }];
    case 'error':
      return [{ type: 'stderr', text: textAt(item, 'message') ?? '' }];
    case 'file_change':
      return [
        { type: 'tool', tool: 'edit', title: textAt(listAt(item, 'changes')[0], 'path') ?? '' },
        { type: 'tool-result', tool: 'edit', failed: field(item, 'status') === 'failed' },
      ];
    default: {
      const tool = toolOf(item);
      if (tool === null) return silentItems.has(String(field(item, 'type'))) ? [] : null;
      return [{ type: 'tool-result', tool: tool.tool, failed: field(item, 'status') === 'failed' }];
    }
  }
};

/** What says nothing that is shown elsewhere. */
const silentItems = new Set(['todo_list']);

const toolOf = (item: unknown): { tool: string; title: string } | null => {
  switch (field(item, 'type')) {
    case 'command_execution':
      return { tool: 'shell', title: textAt(item, 'command') ?? '' };
    case 'mcp_tool_call':
      return { tool: textAt(item, 'tool') ?? 'mcp', title: textAt(item, 'server') ?? '' };
    case 'web_search':
      return { tool: 'web_search', title: textAt(item, 'query') ?? '' };
    default:
      return null;
  }
};

/** Codex counts cached tokens into the input. */
const usageEvent = (usage: unknown): AgentEvent => ({
  type: 'usage',
  ...unknownUsage,
  inputTokens: numberAt(usage, 'input_tokens'),
  outputTokens: numberAt(usage, 'output_tokens'),
  cacheReadTokens: numberAt(usage, 'cached_input_tokens'),
  cacheWriteTokens: numberAt(usage, 'cache_write_input_tokens'),
  reasoningTokens: numberAt(usage, 'reasoning_output_tokens'),
});

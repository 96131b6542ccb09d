import { type AgentEvent, unknownUsage } from '../../ralph/agent-events.ts';
import type { Decoder, Harness } from '../harness.ts';
import { field, listAt, numberAt, parseObject, textAt } from '../json.ts';
import { denied, problemEvent, truncated } from '../problem.ts';

/** Codex. Its sandbox is read-only by default, and a write that fails in it is not reported. */
export const codex: Harness = {
  name: 'codex',
  title: 'Codex',
  install: 'npm install -g @openai/codex',
  launch: {
    binary: 'codex',
    args: ({ model, allowAll, isReview }) => [
      'exec',
      '--json',
      '--skip-git-repo-check',
      ...(model === null ? [] : [`--model=${model}`]),
      // Its own sandbox: tests can write to the folder that is reviewed, and nowhere else.
      ...(allowAll ? ['--dangerously-bypass-approvals-and-sandbox'] : isReview ? ['--sandbox=workspace-write'] : []),
      '-',
    ],
    isolationEnv: (folder) => ({ CODEX_SQLITE_HOME: folder }),
  },
  output: {
    decoder: (title) => createDecoder(title),
  },
  capabilities: ['text', 'tools', 'tokens'],
  auth: { args: ['login', 'status'], signedOut: /not logged in/i, optional: true, fix: 'codex login' },
  permissions: {
    defaultRestrictions: 'its sandbox is read-only unless ~/.codex/config.toml sets sandbox_mode',
    howToAllow: () =>
      'set sandbox_mode = "workspace-write" in ~/.codex/config.toml and allow the command in ~/.codex/rules/default.rules',
  },
  advice: {
    auth: 'sign in with "codex login"',
    model: 'choose another with --model',
  },
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
};

/** Only `turn.failed` is a failure. `error` events are also used for warnings and "Reconnecting…". */
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
    // A command that the rules forbid is reported only on stderr.
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

/** Items that Spool does not show. */
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

/** Codex includes cached tokens in the input. */
const usageEvent = (usage: unknown): AgentEvent => ({
  type: 'usage',
  ...unknownUsage,
  inputTokens: numberAt(usage, 'input_tokens'),
  outputTokens: numberAt(usage, 'output_tokens'),
  cacheReadTokens: numberAt(usage, 'cached_input_tokens'),
  cacheWriteTokens: numberAt(usage, 'cache_write_input_tokens'),
  reasoningTokens: numberAt(usage, 'reasoning_output_tokens'),
});

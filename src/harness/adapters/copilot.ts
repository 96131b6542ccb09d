import type { AgentEvent } from '../../ralph/agent-events.ts';
import { createToolNames, toolTitle } from '../tool-calls.ts';
import type { Decoder, Harness } from '../harness.ts';
import { field, numberAt, parseObject, textAt } from '../json.ts';
import { denied, problemEvent, truncated } from '../problem.ts';
import { copilotRules } from '../permissions/copilot-rules.ts';

/** GitHub Copilot CLI. It reads the prompt from stdin only without `-p`. */
export const copilot: Harness = {
  name: 'copilot',
  title: 'Copilot',
  install: 'npm install -g @github/copilot',
  launch: {
    binary: 'copilot',
    args: ({ model, allowAll, isReview }) => [
      '--output-format',
      'json',
      '--no-color',
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? ['--allow-all'] : isReview ? ['--allow-tool=shell', '--deny-tool=write'] : []),
    ],
  },
  output: {
    decoder: (title) => createDecoder(title),
  },
  acp: {
    defaultMode: 'warm',
    capabilities: ['text', 'tools', 'tokens', 'denials'],
    // With a provider of the user it needs a model to start.
    start: (_, { model }) => ({ args: ['--acp', ...(model === null ? [] : [`--model=${model}`])] }),
    readAtStart: (env) => [...instructions, ...ownFiles(env.HOME ?? '', env)],
    quirks: { isAside: (piece) => /^(?:Info|Warning|Error): /.test(textAt(piece, 'content', 'text') ?? '') },
  },
  capabilities: ['text', 'tools', 'denials'],
  permissions: {
    ownRules: copilotRules,
    howToAllow: () => 'approve it for this folder in an interactive "copilot"',
  },
  advice: {
    auth: 'sign in with "copilot login", or set COPILOT_GITHUB_TOKEN',
    model: 'choose another with --model',
  },
  sandbox: {
    // It unpacks itself into the cache folder.
    data: (home, env) => [env.COPILOT_HOME || `${home}/.copilot`, `${env.XDG_CACHE_HOME || `${home}/.cache`}/copilot`],
    settings: ownFiles,
    hosts: ['api.github.com', '*.githubcopilot.com'],
  },
};

function ownFiles(home: string, env: NodeJS.ProcessEnv): string[] {
  const folder = env.COPILOT_HOME || `${home}/.copilot`;
  return ['mcp-config.json', 'settings.json', 'hooks', 'agents', 'skills'].map((name) => `${folder}/${name}`);
}

/** Files of a project that it does not read again while it is running. */
const instructions = [
  'AGENTS.md',
  'CLAUDE.md',
  'GEMINI.md',
  ...['copilot-instructions.md', 'instructions', 'agents', 'skills', 'hooks'].map((name) => `.github/${name}`),
];

/**
 * The type of every line contains a dot, except `result`, the last one. Deltas repeat the content of whole messages.
 */
const createDecoder = (title: string): Decoder => {
  const tools = createToolNames();
  let started = false;
  let finished = false;
  let lastFailure: { message: string; status: number | null } | null = null;

  const toolResult = (data: unknown): AgentEvent[] => {
    const id = textAt(data, 'toolCallId');
    const call = tools.call(id);
    const tool = tools.of(id);
    const refused = textAt(data, 'error', 'code') === 'denied';
    const failed = field(data, 'success') === false;
    return refused
      ? [{ type: 'tool-result', tool, failed, denied: true }, denied(title, tool, call === null ? {} : { call })]
      : [{ type: 'tool-result', tool, failed }];
  };

  const decode = (line: string): readonly AgentEvent[] | null => {
    const event = parseObject(line);
    const type = textAt(event, 'type') ?? '';
    const data = field(event, 'data');
    switch (type) {
      case 'assistant.message':
        return messageEvents(data);
      case 'assistant.reasoning':
        return [{ type: 'reasoning', text: textAt(data, 'content') ?? '' }];
      case 'tool.execution_start': {
        const tool = tools.add(textAt(data, 'toolCallId'), textAt(data, 'toolName'), field(data, 'arguments'));
        return [{ type: 'tool', tool, title: toolTitle(field(data, 'arguments')) }];
      }
      case 'tool.execution_complete':
        return toolResult(data);
      case 'session.error':
        return [{ type: 'stderr', text: textAt(data, 'message') ?? textAt(data, 'error', 'message') ?? line }];
      case 'model.call_failure':
        lastFailure = { message: failureOf(data), status: numberAt(data, 'statusCode') };
        return [];
      case 'result':
        finished = true;
        return numberAt(event, 'exitCode') === 0
          ? []
          : [problemEvent(lastFailure ?? { message: 'the agent ended with an error' })];
      default:
        started ||= /^[a-z]+\./.test(type);
        return silent.test(type) ? [] : null;
    }
  };

  return {
    stdout: decode,
    end: () => (started && !finished ? [truncated(title, 'no result')] : []),
  };
};

/** Events that add nothing to the others. None of them contains a message of the agent. */
const silent =
  /^(?:assistant\.(?:idle|intent|message_delta|message_start|reasoning_delta|streaming_delta|tool_call_delta|turn_\w+|usage)|(?:hook|model|permission|session|skill|subagent|system|tool|user)\.\w+)$/;

/** Messages of subagents have a parent. */
const messageEvents = (data: unknown): AgentEvent[] | null => {
  const text = textAt(data, 'content');
  if (text === null) return null;
  if (text === '') return [];
  return typeof field(data, 'parentToolCallId') === 'string'
    ? [{ type: 'reasoning', text }]
    : [{ type: 'text', text, plain: false }];
};

/** The error message of the provider, which may be wrapped in JSON. */
const failureOf = (data: unknown): string => {
  const said = textAt(data, 'errorMessage') || 'the request to the model failed';
  return textAt(parseObject(said), 'message') || said;
};

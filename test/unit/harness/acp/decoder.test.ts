import { describe, expect, test } from 'vitest';
import { createAcpDecoder } from '../../../../src/harness/acp/decoder.ts';
import { annotationLine, sentLine } from '../../../../src/harness/acp/log-lines.ts';
import type { AcpQuirks } from '../../../../src/harness/harness.ts';
import { harnesses } from '../../../../src/harness/registry.ts';
import type { AgentEvent } from '../../../../src/ralph/agent-events.ts';

const prompt = sentLine(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 4,
    method: 'session/prompt',
    params: { sessionId: 's', prompt: [{ type: 'text', text: 'Go "on".}]}}' }] },
  }),
);
const update = (fields: object, sessionId = 's') =>
  JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: fields } });
const say = (text: string, sessionId = 's') =>
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }, sessionId);
const saidBy = (messageId: string, words: string) =>
  update({ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text: words } });
const step = (inputTokens: number) =>
  update({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text: '' },
    _meta: { usage: { inputTokens } },
  });
const saidBySubagent = (text: string, _meta: object) =>
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, _meta });
const codexStatus = (type: string) =>
  update({ sessionUpdate: 'session_info_update', _meta: { codex: { threadStatus: { type } } } });
const think = (text: string) => update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
const tool = (id: string, fields: object) => update({ sessionUpdate: 'tool_call', toolCallId: id, ...fields });
const change = (id: string, fields: object) => update({ sessionUpdate: 'tool_call_update', toolCallId: id, ...fields });
const plan = (...entries: [string, string][]) =>
  update({
    sessionUpdate: 'plan',
    entries: entries.map(([status, content]) => ({ status, content, priority: 'medium' })),
  });
const answer = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 4, result });
const failed = (code: number, message: string, data?: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 4, error: { code, message, data } });
const done = answer({ stopReason: 'end_turn' });
const usage = {
  inputTokens: 10,
  outputTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: 0.5,
};

const decode = (...lines: string[]): AgentEvent[] => decodeWith({}, ...lines);

const decodeWith = (quirks: AcpQuirks, ...lines: string[]): AgentEvent[] => {
  const decoder = createAcpDecoder('Agent', quirks);
  return [...lines.flatMap((line) => decoder.stdout(line) ?? []), ...decoder.end()];
};
const text = (words: string) => ({ type: 'text', text: words, plain: false });
const unfinished = (why: string) => ({
  kind: 'truncated',
  message: `Agent stopped in the middle of its work (${why})`,
});

describe('the log of a turn with an ACP agent', () => {
  test.each<[string, string[], object[]]>([
    ['joins the pieces of a message', [prompt, say('a<pro'), say('mise>'), done], [text('a<promise>')]],
    [
      'keeps thoughts apart',
      [prompt, think('h'), think('m'), say('x'), done],
      [{ type: 'reasoning', text: 'hm' }, text('x')],
    ],
    ['ignores other sessions', [prompt, say('other', 't'), say('x'), done], [text('x')]],
    [
      'ignores what comes before the prompt and after the answer',
      [say('early'), prompt, say('x'), done, say('late'), failed(1, 'late')],
      [text('x')],
    ],
    [
      'ignores unknown updates',
      [prompt, update({ sessionUpdate: 'new_kind' }), update([]), say('x'), done],
      [text('x')],
    ],
    [
      'reports a tool when it starts, by its name and input',
      [
        prompt,
        tool('1', { title: 'bash', kind: 'execute', status: 'pending', rawInput: {} }),
        change('1', { status: 'in_progress', title: 'ls -l', rawInput: { command: 'ls -l' } }),
        change('1', { status: 'in_progress' }),
        change('1', { status: 'completed' }),
        change('1', { status: 'failed' }),
        say('x'),
        done,
      ],
      [{ type: 'tool', tool: 'bash', title: 'ls -l' }, { type: 'tool-result', tool: 'bash', failed: false }, text('x')],
    ],
    [
      'reports a tool that was never announced, and one that never started',
      [
        prompt,
        change('9', { status: 'failed', kind: 'edit', title: 'Edit a file' }),
        tool('2', { title: 'A sentence here', kind: 'read', status: 'pending' }),
        done,
      ],
      [
        { type: 'tool', tool: 'edit', title: 'Edit a file' },
        { type: 'tool-result', tool: 'edit', failed: true },
        { type: 'tool', tool: 'read', title: 'A sentence here' },
      ],
    ],
    [
      'reports a denial once, as the end of its tool call',
      [
        prompt,
        tool('1', { title: 'write', kind: 'edit', status: 'pending' }),
        annotationLine({ denied: { id: '1', tool: 'write', title: '/etc/x', reason: 'no rule' } }),
        change('1', { status: 'in_progress' }),
        change('1', { status: 'failed' }),
        done,
      ],
      [
        { type: 'tool', tool: 'write', title: '/etc/x' },
        { type: 'tool-result', tool: 'write', failed: true, denied: true },
        { type: 'denied', tool: 'write', reason: 'no rule', remedy: { reason: 'no rule' } },
      ],
    ],
    [
      'keeps the reason of a denial next to the rule that would allow it',
      [
        prompt,
        annotationLine({ denied: { id: null, tool: 'write', title: 'x', reason: 'no rule', add: 'Edit' } }),
        done,
      ],
      [
        { type: 'tool', tool: 'write' },
        { type: 'tool-result', denied: true },
        { type: 'denied', reason: 'no rule', remedy: { add: 'Edit' } },
      ],
    ],
    [
      'shows a plan like a call of a todo tool, when it changes, and does not divide a message by it',
      [
        prompt,
        say('a<pro'),
        plan(['in_progress', 'Read'], ['pending', 'Write']),
        plan(['in_progress', 'Read'], ['pending', 'Write']),
        say('mise>'),
        plan(['completed', 'Read'], ['completed', 'Write']),
        plan(),
        update({ sessionUpdate: 'plan', entries: 'none' }),
        done,
      ],
      [
        { type: 'tool', tool: 'plan', title: '0 of 2 done: Read' },
        { type: 'tool-result', tool: 'plan', failed: false },
        { type: 'tool', tool: 'plan', title: '2 of 2 done' },
        { type: 'tool-result', tool: 'plan', failed: false },
        text('a<promise>'),
      ],
    ],
    [
      'does not show the plan of an agent whose todo tool is shown',
      [
        prompt,
        tool('1', { title: 'todowrite', kind: 'other', status: 'completed' }),
        plan(['pending', 'Read']),
        say('x'),
        done,
      ],
      [{ type: 'tool', tool: 'todowrite' }, { type: 'tool-result' }, text('x')],
    ],
    [
      'does not take a plan for an answer',
      [prompt, plan(['pending', 'Read']), done],
      [{ type: 'tool', tool: 'plan' }, { type: 'tool-result' }, unfinished('no message')],
    ],
    [
      'treats other output as stderr, even if it looks like a message',
      ['! <promise>', '! # {"usage":{"inputTokens":1}}'],
      [{ type: 'stderr', text: '<promise>' }, { type: 'stderr' }],
    ],
    [
      'takes the usage of the answer',
      [
        prompt,
        say('x'),
        answer({ stopReason: 'end_turn', usage: { inputTokens: 5, outputTokens: 1, cachedReadTokens: 2 } }),
      ],
      [text('x'), { type: 'usage', inputTokens: 7, outputTokens: 1, cacheReadTokens: 2, costUsd: null }],
    ],
    [
      'prefers the usage that was found out, and reports what is new',
      [
        prompt,
        annotationLine({ usage }),
        annotationLine({ usage }),
        annotationLine({ usage: { ...usage, inputTokens: 30 } }),
        say('x'),
        answer({ stopReason: 'end_turn', usage: { inputTokens: 1 } }),
      ],
      [{ type: 'usage', inputTokens: 10, costUsd: 0.5 }, { type: 'usage', inputTokens: 20, costUsd: 0 }, text('x')],
    ],
    ['is unfinished without an answer', [prompt, say('x')], [text('x'), unfinished('no answer')]],
    ['is unfinished without a message', [prompt, done], [unfinished('no message')]],
    [
      'is unfinished at a limit',
      [prompt, say('x'), answer({ stopReason: 'max_tokens' })],
      [text('x'), unfinished('max_tokens')],
    ],
    ['is unfinished for unknown reasons', [prompt, say('x'), answer({})], [text('x'), unfinished('no stop reason')]],
    [
      'is unfinished if the agent says so elsewhere',
      [prompt, say('x'), done, annotationLine({ unfinished: 'tool-calls' })],
      [text('x'), unfinished('tool-calls')],
    ],
    [
      'fails if the agent refuses',
      [prompt, answer({ stopReason: 'refusal' })],
      [{ kind: 'unknown', message: 'Agent refused to answer' }],
    ],
    ['is not judged if it was cancelled', [prompt, say('x'), '> {"method":"session/cancel"}', done], [text('x')]],
    ['knows that a sign-in is required', [prompt, failed(-32000, 'Please log in')], [{ kind: 'auth' }]],
    ['knows an HTTP status as the code', [prompt, failed(429, 'Slow down')], [{ kind: 'rate-limit' }]],
    [
      'knows the details of an error',
      [prompt, failed(-32603, 'Internal error', { details: '401 no key' })],
      [{ kind: 'auth', message: 'Internal error: 401 no key' }],
    ],
    [
      'knows the kind of an error',
      [prompt, failed(-32603, 'Oh', { errorKind: 'server_error' })],
      [{ kind: 'overload' }],
    ],
    [
      'prefers the error that was found out',
      [prompt, failed(-32603, 'Internal error'), annotationLine({ problem: { message: 'no', status: 500 } })],
      [{ kind: 'overload' }],
    ],
    [
      'finds an error that is a message',
      [prompt, say('Ran into this error: Server error: 500'), done],
      [{ type: 'text' }, { kind: 'overload' }],
    ],
  ])('%s', (_, lines, expected) => {
    const events = decode(...lines);
    expect(events).toMatchObject(expected);
    expect(events).toHaveLength(expected.length);
  });

  test.each<[string, object]>([
    ['Qwen Code', { parentToolCallId: '1', subagentType: 'general-purpose' }],
    ['Qwen Code, with a type alone', { subagentType: 'general-purpose' }],
    ['claude-agent-acp', { claudeCode: { parentToolUseId: '1' } }],
    ['Claude Code', { parent_tool_use_id: '1' }],
  ])('shows what a subagent says, and does not take it for a message: %s', (_, mark) => {
    const part = 'The part is done.\n\n<promise>COMPLETE</promise>';
    expect(
      decode(
        prompt,
        say('I delegate.'),
        tool('1', { title: 'task', status: 'in_progress' }),
        saidBySubagent(part.slice(0, 30), mark),
        saidBySubagent(part.slice(30), { ...mark, usage: { inputTokens: 5 } }),
        change('1', { status: 'completed' }),
        done,
      ),
    ).toEqual([
      text('I delegate.'),
      { type: 'tool', tool: 'task', title: '' },
      expect.objectContaining({ type: 'usage', inputTokens: 5 }),
      { type: 'reasoning', text: part },
      { type: 'tool-result', tool: 'task', failed: false, subagent: true },
    ]);
    // Words of the agent itself, between those of a subagent that works beside it, are one message.
    const own = { claudeCode: { parentToolUseId: null }, parentToolCallId: null };
    const beside = [saidBySubagent('x', mark), saidBySubagent('All is ', own), saidBySubagent('x', mark), say('done.')];
    expect(decode(prompt, ...beside, done).filter(({ type }) => type === 'text')).toEqual([text('All is done.')]);
    expect(decode(prompt, saidBySubagent(part, mark), done)).toMatchObject([
      { type: 'reasoning' },
      unfinished('no message'),
    ]);
  });

  test.each<[string, object, boolean]>([
    ['a title', { title: 'task', kind: 'other' }, true],
    ['a name', { title: 'Find the bug', name: 'Agent' }, true],
    ['a name in _meta', { title: 'Find the bug', _meta: { claudeCode: { toolName: 'Task' } } }, true],
    ['an input', { title: 'Find the bug', kind: 'other', rawInput: { agent_type: 'explore' } }, true],
    ['another input', { title: 'Find the bug', kind: 'think', rawInput: { subagent_type: 'general' } }, true],
    ['a name of another tool', { title: 'task_list', kind: 'other' }, false],
    ['an input of a command', { title: 'task', kind: 'execute', rawInput: { command: 'task' } }, false],
  ])('knows the call of a subagent by %s', (_, call, isSubagent) => {
    const ends = [change('1', { status: 'in_progress' }), change('1', { status: 'completed' })];
    const events = decode(prompt, tool('1', { status: 'pending', ...call }), ...ends, done);
    const result = events.find(({ type }) => type === 'tool-result');
    expect(result).toEqual({
      type: 'tool-result',
      tool: expect.any(String),
      failed: false,
      ...(isSubagent && { subagent: true }),
    });
  });

  test('does not take zero for the usage of a turn that was cancelled or failed', () => {
    const cancelled = answer({ stopReason: 'cancelled', usage: { inputTokens: 0, outputTokens: 0 } });
    expect(decode(prompt, say('x'), '> {"method":"session/cancel"}', cancelled)).toMatchObject([text('x')]);
    const nothing = answer({ stopReason: 'end_turn', usage: { inputTokens: 0, outputTokens: 0 } });
    expect(decode(prompt, say('x'), nothing)).toMatchObject([text('x')]);
  });

  test.each<[string, string, string[], object[]]>([
    [
      'opencode',
      'is denied a call by a rule in its own settings',
      [
        prompt,
        tool('1', { title: 'bash', status: 'pending' }),
        change('1', {
          title: 'git push',
          status: 'failed',
          rawInput: { command: 'git push' },
          rawOutput: { error: 'The user has specified a rule which prevents you from using this specific tool call.' },
        }),
        say('I go on.'),
        done,
      ],
      [
        { type: 'tool', tool: 'bash', title: 'git push' },
        { type: 'tool-result', denied: true },
        { type: 'denied', tool: 'bash', byRule: true, call: { tool: 'bash', input: { command: 'git push' } } },
        text('I go on.'),
      ],
    ],
    [
      'copilot',
      'shows what its CLI says, apart from the message',
      [prompt, say('Info: Request failed. Retrying...'), say('I '), say('work.'), say('Info: /a.txt'), done],
      [{ type: 'stderr', text: 'Info: Request failed. Retrying...' }, text('I work.'), { type: 'stderr' }],
    ],
    [
      'copilot',
      'has failed if an error is the last thing it says',
      [prompt, say('I work.'), say('Info: Retrying...'), say('Error: Failed; last error: 500 x'), done],
      [text('I work.'), { type: 'stderr' }, { type: 'stderr' }, { type: 'error', kind: 'overload' }],
    ],
    [
      'copilot',
      'has not failed if it worked after an error',
      [prompt, say('Error: x'), change('1', { status: 'completed', kind: 'edit' }), say('Done.'), done],
      [{ type: 'stderr' }, { type: 'tool' }, { type: 'tool-result' }, text('Done.')],
    ],
    [
      'copilot',
      'believes a whole message that begins like one of its CLI',
      [prompt, say('Warning: two tests are slow.\n\n<promise>COMPLETE</promise>'), done],
      [text('Warning: two tests are slow.\n\n<promise>COMPLETE</promise>')],
    ],
    [
      'goose',
      'has failed if the message of the model is followed by an error',
      [prompt, say('I work.'), say('Ran into this error: Rate limit exceeded: x.'), done],
      [text('I work.'), { type: 'stderr' }, { type: 'error', kind: 'rate-limit', message: 'Rate limit exceeded: x.' }],
    ],
    [
      'goose',
      'does not take the usage of the last step for that of the turn',
      [prompt, say('x'), answer({ stopReason: 'end_turn', usage: { inputTokens: 5 } })],
      [text('x')],
    ],
    [
      'codex-acp',
      'has failed if its thread has',
      [prompt, codexStatus('active'), say('exceeded retry limit, last status: 429'), codexStatus('systemError'), done],
      [{ type: 'stderr' }, { type: 'error', kind: 'rate-limit' }],
    ],
    [
      'codex-acp',
      'takes only messages with an ID for those of the model',
      [prompt, say('Warning: <promise>'), saidBy('m', 'x'), codexStatus('idle'), done],
      [{ type: 'stderr' }, text('x')],
    ],
    [
      'gemini',
      'finds its usage in the quota',
      [
        prompt,
        say('x'),
        answer({
          stopReason: 'end_turn',
          _meta: { quota: { token_count: { input_tokens: 5, output_tokens: 1 } } },
        }),
      ],
      [text('x'), { type: 'usage', inputTokens: 5, outputTokens: 1, cacheReadTokens: null }],
    ],
    [
      'qwen',
      'adds the usage of its steps',
      [prompt, say('x'), step(5), step(7), done],
      [{ type: 'usage', inputTokens: 5 }, { type: 'usage', inputTokens: 7 }, text('x')],
    ],
  ])('%s: %s', (name, _, lines, expected) => {
    const { quirks } = harnesses.find((harness) => harness.name === name)!.acp!;
    const events = decodeWith(quirks ?? {}, ...lines);
    expect(events).toMatchObject(expected);
    expect(events).toHaveLength(expected.length);
  });

  test.each<[string, object]>([
    ['Bash', { name: 'Bash', title: 'Terminal', kind: 'execute' }],
    ['write', { title: 'write · a.txt', _meta: { goose: { toolCall: { toolName: 'write' } } } }],
    ['run_shell_command', { title: 'Shell', _meta: { toolName: 'run_shell_command' } }],
    ['execute', { title: 'true', kind: 'execute', rawInput: { command: 'true' } }],
    ['execute', { title: 'Building', kind: 'execute', rawInput: { command: 'make', description: 'Building' } }],
  ])('knows the tool %s', (name, call) => {
    expect(decode(prompt, tool('1', call), say('x'), done)).toContainEqual(expect.objectContaining({ tool: name }));
  });

  test('does not contain the prompt', () => {
    expect(prompt).not.toContain('Go');
    expect(JSON.parse(prompt.slice(2))).toMatchObject({ params: { sessionId: 's', prompt: '(see the prompt)' } });
  });
});

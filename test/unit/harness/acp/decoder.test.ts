import { describe, expect, test } from 'vitest';
import { createAcpDecoder } from '../../../../src/harness/acp/decoder.ts';
import { noteLine, sentLine } from '../../../../src/harness/acp/log-lines.ts';
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
const think = (text: string) => update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
const tool = (id: string, fields: object) => update({ sessionUpdate: 'tool_call', toolCallId: id, ...fields });
const change = (id: string, fields: object) => update({ sessionUpdate: 'tool_call_update', toolCallId: id, ...fields });
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

const decode = (...lines: string[]): AgentEvent[] => {
  const decoder = createAcpDecoder('Agent');
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
        noteLine({ denied: { id: '1', tool: 'write', title: '/etc/x', reason: 'no rule' } }),
        change('1', { status: 'in_progress' }),
        change('1', { status: 'failed' }),
        done,
      ],
      [
        { type: 'tool', tool: 'write', title: '/etc/x' },
        { type: 'tool-result', tool: 'write', failed: true, denied: true },
        { type: 'denied', tool: 'write' },
      ],
    ],
    [
      'treats other output as stderr, whatever it looks like',
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
        noteLine({ usage }),
        noteLine({ usage }),
        noteLine({ usage: { ...usage, inputTokens: 30 } }),
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
      [prompt, say('x'), done, noteLine({ unfinished: 'tool-calls' })],
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
      [prompt, failed(-32603, 'Internal error'), noteLine({ problem: { message: 'no', status: 500 } })],
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

  test('does not contain the prompt', () => {
    expect(prompt).not.toContain('Go');
    expect(JSON.parse(prompt.slice(2))).toMatchObject({ params: { sessionId: 's', prompt: '(see the prompt)' } });
  });
});

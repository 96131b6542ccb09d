import * as fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createEventStream } from '../../../src/harness/decode.ts';
import { createDiagnosis } from '../../../src/harness/diagnosis.ts';
import { harnesses } from '../../../src/harness/registry.ts';
import type { AgentEvent, TurnEnd } from '../../../src/ralph/agent-events.ts';
import type { IterationRecord } from '../../../src/ralph/record.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { agents } from '../../model/agents.mjs';
import { scenarios } from '../../model/scenarios.mjs';
import { chunksOf, chunkSizes } from '../chunks.ts';

interface Golden {
  readonly version: string;
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Scenario = keyof typeof scenarios;

const folder = join(import.meta.dirname, '../../fixtures/golden');
const golden = (agent: string, scenario: string) =>
  JSON.parse(readFileSync(join(folder, agent, `${scenario}.json`), 'utf8')) as Golden;
const recorded = readdirSync(folder).toSorted();

/** The decoded output of this agent, split into chunks. */
const decode = (agent: string, stdout: readonly Uint8Array[], { stderr = '', exitCode = 0 } = {}) => {
  const events: AgentEvent[] = [];
  const harness = harnesses.find(({ name }) => name === agent)!;
  const diagnosis = createDiagnosis(harness, { allowAll: false, redactor: createRedactor({}) }, (event) =>
    events.push(event),
  );
  const decoder = harness.output.decoder(harness.title);
  if (harness.acp?.only) {
    // The recording is the log of a turn, which has no other lines.
    const lines = Buffer.concat(stdout).toString('utf8').split('\n').filter(Boolean);
    const decoded = [...lines.flatMap((line) => decoder.stdout(line) ?? []), ...decoder.end()];
    decoded.forEach((event) => diagnosis.observe(event));
  } else {
    const stream = createEventStream(decoder, diagnosis.observe);
    for (const chunk of stdout) stream.write('stdout', chunk);
    stream.write('stderr', bytes(stderr));
    stream.end();
  }
  diagnosis.end(exited(exitCode));
  return events;
};

const exited = (exitCode: number): TurnEnd => ({ end: 'exited', exitCode, signal: null, problem: null });

const bytes = (text: string) => new TextEncoder().encode(text);

const judge = (agent: string, scenario: Scenario) => {
  const { stdout, stderr, exit } = golden(agent, scenario);
  const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' }, 'Do it.');
  for (const event of decode(agent, [bytes(stdout)], { stderr, exitCode: exit })) watch.observe(event);
  return watch.judge(exited(exit));
};

test('every agent that can be run has a recording of the tested version', () => {
  expect(recorded).toEqual(Object.keys(agents).toSorted());
  for (const agent of recorded)
    for (const scenario of Object.keys(scenarios)) expect(golden(agent, scenario).version).toBe(agents[agent]!.version);
});

/** Agents that report usage, as the scripted model counts it: two turns. */
const usage: Record<string, Partial<IterationRecord['usage']> | null> = {
  opencode: { inputTokens: 2000, outputTokens: 100, costUsd: 0.0022 },
  claude: { inputTokens: 2200, outputTokens: 100, cacheReadTokens: 200, reasoningTokens: 0, costUsd: null },
  codex: { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 200, reasoningTokens: 0, costUsd: null },
  copilot: null,
  gemini: { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 200, costUsd: null },
  pi: { inputTokens: 2000, outputTokens: 100, costUsd: 0.0022 },
  qwen: { inputTokens: 2000, outputTokens: 100, costUsd: null },
  goose: null,
  'codex-acp': { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 200, costUsd: null },
  'claude-agent-acp': { inputTokens: 2200, outputTokens: 100, cacheReadTokens: 200 },
};

/** Agents that do not pass on what the provider says about a key. */
const hidesMessage = new Set(['codex-acp', 'claude-agent-acp']);

const writeTool: Record<string, string> = {
  opencode: 'write',
  claude: 'Write',
  codex: 'shell',
  copilot: 'create',
  gemini: 'write_file',
  pi: 'write',
  qwen: 'write_file',
  goose: 'write',
  'codex-acp': 'exec_command',
  'claude-agent-acp': 'Write',
};

describe.each(recorded)('%s', (agent) => {
  test('completes: text, tool and usage are decoded', () => {
    const verdict = judge(agent, 'completes');
    expect(verdict).toMatchObject({
      completionFound: true,
      rejected: null,
      error: null,
      tools: { [writeTool[agent]!]: 1 },
    });
    if (usage[agent] === null) expect(verdict.usage).toBeNull();
    else expect(verdict.usage).toMatchObject(usage[agent]!);
    const words = decode(agent, [bytes(golden(agent, 'completes').stdout)]).flatMap((event) =>
      event.type === 'text' ? [event] : [],
    );
    expect(words).toEqual([
      { type: 'text', text: 'I write the file.', plain: false },
      { type: 'text', text: 'All is done.\n\n<promise>COMPLETE</promise>', plain: false },
    ]);
  });

  test('continues: a promise in the output of a tool does not count', () => {
    expect(golden(agent, 'continues').stdout).toContain('<promise>COMPLETE</promise>');
    expect(judge(agent, 'continues')).toMatchObject({ completionFound: false, rejected: null, error: null });
  });

  test('unauthorised: an auth error with the message of the provider and advice', () => {
    const { completionFound, error } = judge(agent, 'unauthorised');
    expect(completionFound).toBe(false);
    expect(error).toMatchObject({ kind: 'auth' });
    expect(error!.message).toMatch(
      hidesMessage.has(agent) ? /^Authentication required; sign in with "/ : /no such key.*; sign in with "/,
    );
  });

  test.each(Object.keys(scenarios))('%s: decodes the same in any chunks', (scenario) => {
    const output = bytes(golden(agent, scenario).stdout);
    const whole = decode(agent, [output]);
    expect(
      decode(
        agent,
        Array.from(output, (byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(whole);
    fc.assert(
      fc.property(chunkSizes, (sizes) => {
        expect(decode(agent, chunksOf(output, sizes))).toEqual(whole);
      }),
      { numRuns: 20 },
    );
  });
});

const seeDenials = harnesses.filter(
  ({ name, capabilities }) => recorded.includes(name) && capabilities.includes('denials'),
);

test.each(seeDenials.map(({ name }) => name))('%s, denied: names the tool and the advice', (agent) => {
  expect(golden(agent, 'denied').exit).toBe(0);
  const { denied } = judge(agent, 'denied');
  expect(denied?.tools).toEqual([{ opencode: 'external_directory' }[agent] ?? writeTool[agent]]);
  expect(denied?.message).toMatch(/^[\w ]+ isn't allowed to use \w+; run with --allow-all, or (set|add|approve) /);
});

test('OpenCode, denied: it stops, and the iteration fails although it exits with 0', () => {
  const { completionFound, error, denied } = judge('opencode', 'denied');
  expect(completionFound).toBe(false);
  expect(error).toEqual({ kind: 'permission', message: denied?.message });
});

test.each(['claude', 'copilot', 'goose', 'claude-agent-acp'])(
  '%s, denied: it continues and finishes, and its promise counts',
  (agent) => {
    expect(judge(agent, 'denied')).toMatchObject({ completionFound: true, rejected: null, error: null });
  },
);

describe.each(harnesses.map(({ name }) => name))('%s', (agent) => {
  const lines = recorded.flatMap((name) => golden(name, 'completes').stdout.split('\n').filter(Boolean));

  test('the decoder never throws and never invents a message', () => {
    const line = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom(...lines),
      fc.constantFrom(...lines).map((text) => text.slice(0, -3)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (output) => {
        const text = output.join('\n');
        for (const event of decode(agent, [bytes(text)]))
          if (event.type === 'text' && event.plain) expect(`${text}\n`).toContain(event.text.trimEnd());
      }),
    );
  });

  const { acp } = harnesses.find(({ name }) => name === agent)!;
  // In a protocol, only a message counts.
  if (!acp?.only)
    test('an unknown format is plain text, and the loop still works', () => {
      const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' }, 'Do it.');
      for (const event of decode(agent, [
        bytes('{"kind":"message","body":"hi"}\nAll is done.\n<promise>COMPLETE</promise>\n'),
      ]))
        watch.observe(event);
      expect(watch.judge(exited(0))).toMatchObject({
        completionFound: true,
      });
    });
});

test('a retry of pi that succeeds leaves no error', () => {
  const refused = golden('pi', 'unauthorised')
    .stdout.split('\n')
    .find((line) => line.includes('"message_end"') && line.includes('errorMessage'))!;
  const { stdout } = golden('pi', 'completes');
  const first = stdout.indexOf('\n') + 1;
  const events = decode('pi', [bytes(`${stdout.slice(0, first)}${refused}\n${stdout.slice(first)}`)]);
  expect(events.filter((event) => event.type === 'error')).toEqual([]);
});

test('empty turns of pi, caused by a background task, do not affect the promise', () => {
  const { stdout } = golden('pi', 'completes');
  const turns = [[], [{ type: 'text', text: '  \n' }], [{ type: 'text', text: '\u200b' }]].map((content) => ({
    type: 'message_end',
    message: { role: 'assistant', content, stopReason: 'stop' },
  }));
  const woken = { type: 'tool_execution_start', toolName: 'bash', args: { command: 'kill %1' } };
  const lines = [...turns, woken, ...turns, { type: 'agent_end', messages: [] }];
  const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' }, 'Do it.');
  for (const event of decode('pi', [bytes(stdout + lines.map((line) => `${JSON.stringify(line)}\n`).join(''))]))
    watch.observe(event);
  expect(watch.judge(exited(0))).toMatchObject({ completionFound: true, error: null });
});

test('the reset time of a usage limit is read from the event of Claude Code', () => {
  const lines = [
    { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: 1_794_797_020 } },
    { type: 'result', is_error: true, api_error_status: 429, result: "You've hit your 5-hour limit" },
  ];
  const events = decode('claude', [bytes(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))]);
  expect(events).toContainEqual(expect.objectContaining({ kind: 'rate-limit', resetsAtMs: 1_794_797_020_000 }));
});

test('Gemini fails if it runs out of turns, even with a successful result', () => {
  const lines = [
    { type: 'message', role: 'assistant', content: '<promise>COMPLETE</promise>' },
    { type: 'error', severity: 'error', message: 'Maximum session turns exceeded' },
    { type: 'result', status: 'success', stats: { input_tokens: 10, output_tokens: 2, total_tokens: 15 } },
  ];
  const events = decode('gemini', [bytes(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))]);
  expect(events).toContainEqual(expect.objectContaining({ type: 'error', message: 'Maximum session turns exceeded' }));
  expect(events).toContainEqual(expect.objectContaining({ outputTokens: 5, reasoningTokens: 3 }));
});

test.each([
  [
    'opencode',
    {
      type: 'tool_use',
      part: {
        tool: 'bash',
        state: {
          status: 'error',
          error: 'The user has specified a rule which prevents you from using this specific tool call.',
        },
      },
    },
    '',
    'bash',
  ],
  ['gemini', { type: 'tool_result', tool_id: 'x', status: 'error', error: { type: 'policy_violation' } }, '', 'tool'],
  [
    'codex',
    { type: 'turn.completed', usage: {} },
    'ERROR codex_core::tools::router: error=Rejected("policy forbids it")',
    'shell',
  ],
  [
    'claude',
    { type: 'result', is_error: false, permission_denials: [{ tool_name: 'Bash', tool_use_id: 'x' }] },
    '',
    'Bash',
  ],
])('%s: a rule that forbids a tool is a denial, not an error', (agent, line, stderr, tool) => {
  const events = decode(agent, [bytes(`${JSON.stringify(line)}\n`)], { stderr });
  expect(events).toContainEqual(expect.objectContaining({ type: 'denied', tool }));
  expect(events).not.toContainEqual(expect.objectContaining({ type: 'error', kind: 'permission' }));
});

test.each([
  ['codex', { type: 'item.completed', item: { type: 'poem', text: 'new words' } }],
  ['copilot', { type: 'assistant.poem', data: { content: 'new words' } }],
  ['pi', { type: 'message_done', message: 'new words' }],
  ['claude', { type: 'assistant', message: { content: [{ type: 'poem', text: 'new words' }] } }],
  ['gemini', { type: 'message', role: 'poet', content: 'new words' }],
])('%s: an unknown part of a message is shown', (agent, line) => {
  const shown = decode(agent, [bytes(`${JSON.stringify(line)}\n`)]).flatMap((event) =>
    event.type === 'text' && event.plain ? [event.text] : [],
  );
  expect(shown.join('')).toContain('new words');
});

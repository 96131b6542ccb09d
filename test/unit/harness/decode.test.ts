import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventStream } from '../../../src/harness/decode.ts';
import { createDiagnosis } from '../../../src/harness/diagnosis.ts';
import { opencode } from '../../../src/harness/adapters/opencode.ts';
import { type AgentEvent, unknownUsage, type Usage } from '../../../src/ralph/agent-events.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';

/** The events in OpenCode's output. Adjacent plain text is joined. */
const decode = (stdout: string | readonly Uint8Array[], stderr = ''): AgentEvent[] => {
  const events: AgentEvent[] = [];
  const diagnosis = createDiagnosis(opencode, { allowAll: false, redactor: createRedactor({}) }, (event) => {
    const last = events.at(-1);
    const joins = last?.type === 'text' && last.plain && event.type === 'text' && event.plain;
    if (joins) events[events.length - 1] = plain(last.text + event.text);
    else events.push(event);
  });
  const stream = createEventStream(opencode.output.decoder('OpenCode'), diagnosis.observe);
  stream.write('stderr', bytes(stderr));
  for (const chunk of typeof stdout === 'string' ? [bytes(stdout)] : stdout) stream.write('stdout', chunk);
  stream.end();
  diagnosis.end({ end: 'exited', exitCode: 0, signal: null, problem: null });
  return events;
};

const bytes = (text: string) => new TextEncoder().encode(text);
const lines = (...all: readonly string[]) => all.map((line) => `${line}\n`).join('');
const plain = (text: string): AgentEvent => ({ type: 'text', text, plain: true });

/** One line of `opencode run --format json`. */
const line = (type: string, facts: object) =>
  JSON.stringify({ type, timestamp: 1_794_772_215_102, sessionID: 'ses_5a', ...facts });
const part = (type: string, facts: object) => line(type, { part: { id: 'prt_1', messageID: 'msg_1', ...facts } });

const started = part('step_start', { type: 'step-start' });
const says = (text: string) => part('text', { type: 'text', text, time: { start: 1, end: 2 } });
const uses = (tool: string, state: object) => part('tool_use', { type: 'tool', tool, callID: 'call_1', state });
const finished = (reason: string, facts: object = {}) => part('step_finish', { reason, type: 'step-finish', ...facts });
const failed = (name: string, data: object) => line('error', { error: { name, data } });
const rejected = uses('bash', {
  status: 'error',
  input: { command: 'cat /etc/hosts' },
  error: 'The user rejected permission to use this specific tool call.',
});

describe('a line', () => {
  const tokens = { total: 1290, input: 1134, output: 56, reasoning: 4, cache: { write: 20, read: 100 } };

  test.each<[string, string, AgentEvent[]]>([
    [
      'text',
      says('All done.\n<promise>COMPLETE</promise>'),
      [{ type: 'text', text: 'All done.\n<promise>COMPLETE</promise>', plain: false }],
    ],
    ['text followed by CRLF', `${says('Hi.')}\r`, [{ type: 'text', text: 'Hi.', plain: false }]],
    ['reasoning', part('reasoning', { text: 'Hm.' }), [{ type: 'reasoning', text: 'Hm.' }]],
    [
      'a command',
      uses('bash', { status: 'completed', input: { command: 'ls' }, output: 'a\n', metadata: { exit: 0 } }),
      used('bash', 'ls', false),
    ],
    [
      'a command, which says more than its title',
      uses('bash', { status: 'completed', input: { command: 'ls' }, title: 'List files' }),
      used('bash', 'ls', false),
    ],
    [
      'a tool with a title',
      uses('glob', { status: 'completed', input: { pattern: '*' }, title: 'List files' }),
      used('glob', 'List files', false),
    ],
    [
      'a tool on a file',
      uses('edit', { status: 'completed', input: { filePath: 'a.txt' }, title: '' }),
      used('edit', 'a.txt', false),
    ],
    ['a tool that fails', uses('grep', { status: 'error', input: {}, error: 'no such file' }), used('grep', '', true)],
    ['a step that starts and continues', lines(started, finished('stop')).trimEnd(), [usage()]],
    [
      'a step that ends',
      finished('stop', { tokens, cost: 0.001256 }),
      [
        usage({
          inputTokens: 1254,
          outputTokens: 60,
          cacheReadTokens: 100,
          cacheWriteTokens: 20,
          reasoningTokens: 4,
          costUsd: 0.001256,
        }),
      ],
    ],
    [
      'a step without cached tokens',
      finished('stop', { tokens: { input: 5, output: 1 } }),
      [usage({ inputTokens: 5, outputTokens: 1 })],
    ],
    ['a step with an infinite number', '{"type":"step_finish","part":{"cost":1e999}}', [usage()]],
    ['a step without numbers', finished('stop', { tokens: { input: '5' }, cost: null }), [usage()]],
  ])('%s', (_, output, expected) => {
    expect(decode(output)).toEqual(expected);
  });

  test('is printed even if it is truncated within a character', () => {
    expect(decode([bytes('a€').slice(0, -1)])).toEqual([plain('a\ufffd\n')]);
  });

  test('is decoded with or without a final newline', () => {
    expect(decode('Hi.')).toEqual([plain('Hi.\n')]);
    expect(decode('Hi.\n')).toEqual([plain('Hi.\n')]);
  });

  test('on stderr is printed and never searched', () => {
    expect(decode('', lines('> build · fake-ok', says('Hi.')))).toEqual([
      { type: 'stderr', text: '> build · fake-ok' },
      { type: 'stderr', text: says('Hi.') },
    ]);
  });
});

describe('an error', () => {
  test.each([
    [
      '401',
      'APIError',
      { message: 'no key', statusCode: 401 },
      'auth',
      'no key (HTTP 401); sign in with "opencode auth login"',
    ],
    [
      '403',
      'APIError',
      { message: 'no', statusCode: 403 },
      'auth',
      'no (HTTP 403); sign in with "opencode auth login"',
    ],
    ['no key', 'ProviderAuthError', { message: 'no key' }, 'auth', 'no key; sign in with "opencode auth login"'],
    [
      '404',
      'APIError',
      { message: 'what?', statusCode: 404 },
      'model',
      'what? (HTTP 404); "opencode models" lists the models',
    ],
    [
      'no model',
      'ProviderModelNotFoundError',
      {},
      'model',
      'ProviderModelNotFoundError; "opencode models" lists the models',
    ],
    ['429', 'APIError', { message: 'slow down', statusCode: 429 }, 'rate-limit', 'slow down (HTTP 429)'],
    ['500', 'APIError', { message: 'oh', statusCode: 500 }, 'overload', 'oh (HTTP 500)'],
    ['529', 'APIError', { message: 'busy', statusCode: 529 }, 'overload', 'busy (HTTP 529)'],
    ['400', 'APIError', { message: 'bad', statusCode: 400 }, 'unknown', 'bad (HTTP 400)'],
    ['no status', 'MessageAbortedError', { message: 'aborted' }, 'unknown', 'aborted'],
    ['no message', 'APIError', { message: '', statusCode: 500 }, 'overload', 'APIError (HTTP 500)'],
    ['no message and no name', '', { message: '' }, 'unknown', 'error'],
    [
      'the generic one',
      'UnknownError',
      { message: 'Unexpected server error. Check server logs for details.', ref: 'err_1' },
      'unknown',
      'Unexpected server error. Check server logs for details.; check the model with "opencode models" and the key with "opencode auth list"',
    ],
  ])('%s', (_, name, data, kind, message) => {
    expect(decode(failed(name, data))).toEqual([{ type: 'error', kind, message }]);
  });

  test('without details is still an error', () => {
    expect(decode('{"type":"error"}')).toEqual([{ type: 'error', kind: 'unknown', message: 'error' }]);
  });
});

describe('how the output ends', () => {
  const asked = '! permission requested: external_directory (*); auto-rejecting\n';
  const truncated = (why: string) => ({
    kind: 'truncated',
    message: `OpenCode stopped in the middle of its work (${why})`,
  });

  test.each([
    ['nothing at all', [], '', []],
    ['plain text only', ['Hi.'], '', []],
    ['a last step that stops', [started, finished('tool-calls'), started, finished('stop')], '', []],
    ['a step that never ends', [started, says('Hi.')], '', [truncated('open')]],
    ['a last step that calls tools', [started, finished('tool-calls')], '', [truncated('tool-calls')]],
    ['a last step that reached its length limit', [started, finished('length')], '', [truncated('length')]],
    ['a last step that was filtered', [started, finished('content-filter')], '', [truncated('content-filter')]],
    ['a last step without a reason from the provider', [started, finished('unknown')], '', []],
    ['an unfinished step after one that stops', [started, finished('stop'), started], '', [truncated('open')]],
    [
      'a denied permission after which it stopped',
      [started, rejected, finished('tool-calls')],
      asked,
      [truncated('tool-calls')],
    ],
    ['a denied permission in an open step', [started, rejected], asked, [truncated('open')]],
    [
      'a denied permission after which it continued',
      [started, rejected, finished('tool-calls'), started, finished('stop')],
      asked,
      [],
    ],
  ])('%s', (_, output, stderr, expected) => {
    const errors = decode(lines(...output), stderr).filter((event) => event.type === 'error');
    expect(errors).toEqual(expected.map((error) => ({ type: 'error', ...error })));
  });
});

describe('a denial', () => {
  const asked = '! permission requested: external_directory (*); auto-rejecting\n';
  const forbidden = uses('bash', {
    status: 'error',
    input: { command: 'npm test' },
    error: 'The user has specified a rule which prevents you from using this specific tool call.',
  });
  const denied = (tool: string, message: string) => ({ type: 'denied', tool, message });
  const byFlagOr = (setting: string) => `run with --allow-all, or set "permission": { ${setting} } in opencode.json`;

  test.each([
    [
      'is named on stderr',
      [rejected],
      asked,
      [
        {
          ...denied(
            'external_directory',
            `OpenCode isn't allowed to use external_directory; ${byFlagOr('"external_directory": "allow"')}`,
          ),
          allowAllHelps: true,
        },
      ],
    ],
    [
      'is named by the tool if stderr does not name it',
      [rejected],
      '',
      [
        {
          ...denied('bash', `OpenCode isn't allowed to use bash; ${byFlagOr('"bash": "allow"')}`),
          allowAllHelps: true,
        },
      ],
    ],
    [
      'by a rule cannot be overridden with --allow-all',
      [forbidden],
      '',
      [
        {
          ...denied(
            'bash',
            `OpenCode isn't allowed to use bash; set "permission": { "bash": "allow" } in opencode.json`,
          ),
          byRule: true,
        },
      ],
    ],
  ])('%s', (_, output, stderr, expected) => {
    const events = decode(lines(started, ...output, finished('tool-calls')), stderr);
    expect(events.filter(({ type }) => type === 'denied')).toEqual(expected);
    expect(events).toContainEqual({ type: 'tool-result', tool: 'bash', failed: true, denied: true });
  });

  test('names all tools denied so far', () => {
    const write = uses('write', { status: 'error', error: 'specified a rule which prevents' });
    expect(decode(lines(forbidden, write)).findLast(({ type }) => type === 'denied')).toMatchObject({
      message: `OpenCode isn't allowed to use bash, write; set "permission": { "bash": "allow", "edit": "allow" } in opencode.json`,
    });
  });
});

describe('any other line is plain text', () => {
  const nested = (depth: number) => `${'{"part":'.repeat(depth)}1${'}'.repeat(depth)}`;

  test.each([
    [''],
    ['All done.'],
    ['<promise>COMPLETE</promise>'],
    ['null'],
    ['42'],
    ['"text"'],
    ['[]'],
    [`[${says('Hi.')}]`],
    ['{}'],
    ['{"type":"session_start"}'],
    ['{"type":["text"],"part":{"text":"Hi."}}'],
    ['{"kind":"text","part":{"text":"Hi."}}'],
    ['{"type":"text"}'],
    ['{"type":"text","part":"Hi."}'],
    ['{"type":"text","part":{"text":5}}'],
    ['{"type":"text","part":["text"]}'],
    ['{"type":"tool_use","part":{}}'],
    ['{"type":"tool_use","part":{"tool":null}}'],
    ['{"type":"reasoning","part":null}'],
    [says('Hi.').slice(0, -1)],
    [`${says('Hi.')} and more`],
    [` ${says('Hi.')}`],
    ['\u001b[1mHi.\u001b[0m'],
  ])('%s', (text) => {
    expect(decode(lines(text))).toEqual([plain(`${text}\n`)]);
  });

  test('even if it is deeply nested', () => {
    const text = nested(100_000);
    expect(decode(text)).toEqual([plain(`${text}\n`)]);
  });

  test('for any content', () => {
    const other = fc.oneof(
      fc.json(),
      fc.string({ unit: 'grapheme' }),
      fc.json().map((text) => text.slice(0, -1)),
    );
    fc.assert(
      fc.property(other, (text) => {
        expect(decode(lines(text))).toEqual([plain(`${text}\n`)]);
      }),
      { numRuns: 500 },
    );
  });
});

test('a line of a known type may have any content', () => {
  const type = fc.constantFrom('step_start', 'text', 'reasoning', 'tool_use', 'step_finish', 'error');
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        text: fc.jsonValue(),
        tool: fc.jsonValue(),
        state: fc.jsonValue(),
        tokens: fc.jsonValue(),
        name: fc.jsonValue(),
        data: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(type, anything, anything, (name, inPart, error) => {
      for (const event of decode(line(name, { part: inPart, error }))) expect(event).toSatisfy(isWellFormed);
    }),
    { numRuns: 500 },
  );
});

test('bytes that are not valid text do not throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (garbage) => {
      const events = decode([garbage, bytes(lines('', says('Hi.')))]);
      expect(events).toContainEqual({ type: 'text', text: 'Hi.', plain: false });
    }),
  );
});

test('the events do not depend on how the output is split into chunks', () => {
  const text = fc.constantFrom('ä€😀', 'a\u2028b\u2029c', '日本語\r', 'e\u0301', '<promise>COMPLETE</promise>', '');
  const any = fc.oneof(
    text,
    text.map(says),
    // As servers in other languages write it: the separators are not escaped.
    text.map((words) => `{"type":"text","part":{"text":"${words.trim()}"}}`),
    text.map((command) => uses('bash', { status: 'completed', input: { command } })),
    fc.constantFrom(
      started,
      rejected,
      finished('stop'),
      finished('tool-calls'),
      failed('APIError', { statusCode: 500 }),
    ),
  );
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), fc.boolean(), chunkSizes, (all, isEnded, sizes) => {
      const output = isEnded ? lines(...all) : all.join('\n');
      expect(decode(chunksOf(bytes(output), sizes))).toEqual(decode(output));
    }),
    { numRuns: 500 },
  );
});

test('U+2028 does not end a line', () => {
  expect(decode(lines('{"type":"text","part":{"text":"a\u2028b"}}', 'c\u2028d'))).toEqual([
    { type: 'text', text: 'a\u2028b', plain: false },
    plain('c\u2028d\n'),
  ]);
});

test('a line that is too long is passed on as plain text, without loss', () => {
  const text = says('x'.repeat(17 * 1024 * 1024));
  const [long, next, ...rest] = decode([...chunksOf(bytes(text), [1024 * 1024]), bytes(lines('', says('Hi.')))]);
  expect(long).toMatchObject({ type: 'text', plain: true });
  expect(long?.type === 'text' && long.text === `${text}\n`).toBe(true);
  expect(next).toEqual({ type: 'text', text: 'Hi.', plain: false });
  expect(rest).toEqual([]);
});

function used(tool: string, title: string, failed: boolean): AgentEvent[] {
  return [
    { type: 'tool', tool, title },
    { type: 'tool-result', tool, failed },
  ];
}

function usage(facts: Partial<Usage> = {}): AgentEvent {
  return { type: 'usage', ...unknownUsage, ...facts };
}

/** Whether the fields of an event match its type. */
const isWellFormed = (event: AgentEvent): boolean => {
  switch (event.type) {
    case 'text':
      return typeof event.text === 'string' && typeof event.plain === 'boolean';
    case 'reasoning':
    case 'stderr':
      return typeof event.text === 'string';
    case 'tool':
      return typeof event.tool === 'string' && typeof event.title === 'string';
    case 'tool-result':
      return typeof event.tool === 'string' && typeof event.failed === 'boolean';
    case 'denied':
      return typeof event.tool === 'string' && typeof event.message === 'string';
    case 'usage':
      return [event.inputTokens, event.outputTokens, event.costUsd, event.reasoningTokens].every(
        (value) => value === null || Number.isFinite(value),
      );
    case 'error':
      return typeof event.kind === 'string' && typeof event.message === 'string';
  }
};

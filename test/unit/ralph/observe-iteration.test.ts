import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AgentEvent, type TurnEnd, unknownUsage } from '../../../src/ralph/agent-events.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';
import { buildRalphPrompt } from '../../../src/ralph/prompt.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';

const tag = '<promise>COMPLETE</promise>';
const prompt = buildRalphPrompt(`Fix the parser, then print\n${tag}`, {
  changeId: '001-01_x',
  proposal: `# Why\n${tag}`,
});

const exited = (exitCode: number): TurnEnd => ({ end: 'exited', exitCode, signal: null, problem: null });
const plain = (text: string): AgentEvent => ({ type: 'text', text, plain: true });
const message = (text: string): AgentEvent => ({ type: 'text', text, plain: false });
const tool = (name: string): AgentEvent => ({ type: 'tool', tool: name, title: tag });
const usage = (inputTokens: number | null, outputTokens: number | null, costUsd: number | null): AgentEvent => ({
  type: 'usage',
  ...unknownUsage,
  inputTokens,
  outputTokens,
  costUsd,
});
const reasoning: AgentEvent = { type: 'reasoning', text: tag };
const stderr: AgentEvent = { type: 'stderr', text: tag };
const refused: AgentEvent = { type: 'error', kind: 'permission', message: 'refused' };
const truncated: AgentEvent = { type: 'error', kind: 'truncated', message: 'it stopped' };
const denied = (name = 'bash'): AgentEvent => ({ type: 'denied', tool: name, message: `no ${name}` });
const deniedCall: AgentEvent = { type: 'tool-result', tool: 'bash', failed: true, denied: true };
const subagentCall: AgentEvent = { type: 'tool-result', tool: 'task', failed: false, subagent: true };
const overload: AgentEvent = { type: 'error', kind: 'overload', message: 'busy' };

const judge = (events: readonly AgentEvent[], { sent = prompt, ended = exited(0) } = {}) => {
  const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' }, sent);
  for (const event of events) watch.observe(event);
  return watch.judge(ended);
};

test('a turn without an exit code is an answer, not a crash', () => {
  const ended = { end: 'answered', exitCode: null, signal: null, problem: null } as const;

  expect(judge([plain('Done.\n\n<promise>COMPLETE</promise>\n')], { ended })).toMatchObject({
    completionFound: true,
    error: null,
  });
  expect(judge([overload], { ended })).toMatchObject({ completionFound: false, error: { kind: 'overload' } });
});

describe('which text counts', () => {
  test.each([
    ['nothing at all', [], false],
    ['plain text', [plain(`Done.\n${tag}\n`)], true],
    ['plain text in chunks', [plain('Done.\n<promise>COMP'), plain('LETE</promise>')], true],
    ['a message', [message(tag)], true],
    ['a message before a tool', [message(tag), tool('bash')], true],
    [
      'a message after the end of the call of a subagent',
      [tool('task'), message('Hi.'), subagentCall, message(tag)],
      true,
    ],
    ['the last message', [message('Hi.'), message(tag), message(' \n')], true],
    ['a tag split over two messages', [message('<promise>COMP'), message('LETE</promise>')], false],
    ['a tool', [tool('bash')], false],
    ['stderr', [stderr], false],
    ['reasoning', [reasoning], false],
    ['stderr next to plain text', [stderr, plain(`Done.\n${tag}`)], true],
    ['plain text before an event', [plain(`Done.\n${tag}\n`), message('Working on it.')], false],
    ['plain text after an event', [tool('bash'), plain(`Done.\n${tag}\n`)], false],
    ['plain text next to reported tokens', [usage(1, 1, null), plain(`Done.\n${tag}\n`)], false],
  ])('%s', (_, events, expected) => {
    expect(judge(events)).toMatchObject({ completionFound: expected, rejected: null, error: null });
  });
});

describe('an echo of the prompt', () => {
  const lines = fc.constantFrom(
    tag,
    'Fix it.',
    '',
    '---',
    '  indented',
    `- ${tag}`,
    `Print ${tag}`,
    '<promise>',
    'COMPLETE',
  );
  const userPrompt = fc.array(lines, { maxLength: 8 }).map((chosen) => [...chosen, tag].join('\n'));
  const promptOf = (text: string) => buildRalphPrompt(text, { changeId: '001-01_x', proposal: `# Why\n\n${tag}` });

  test('does not complete the run, in any chunks', () => {
    fc.assert(
      fc.property(userPrompt, chunkSizes, (text, sizes) => {
        const sent = promptOf(text);
        expect(judge(chunksOf(sent, sizes).map(plain), { sent }).completionFound).toBe(false);
      }),
    );
  });

  test('does not hide a promise after it, in any chunks', () => {
    fc.assert(
      fc.property(userPrompt, chunkSizes, (text, sizes) => {
        const sent = promptOf(text);
        expect(judge(chunksOf(`${sent}All is well.\n${tag}\n`, sizes).map(plain), { sent }).completionFound).toBe(true);
      }),
    );
  });

  test('in a message does not complete the run', () => {
    expect(judge([message(prompt)])).toMatchObject({ completionFound: false, rejected: 'it repeats the prompt' });
    expect(judge([message(`Got it:\n\n${prompt.trim()}`)])).toMatchObject({ completionFound: false });
  });

  test('does not include a sentence that the prompt asks for', () => {
    const asked = `Do it. Your last words must be:\n\nEverything is done and verified.\n\n${tag}\n`;
    expect(judge([message(`Everything is done and verified.\n\n${tag}`)], { sent: asked }).completionFound).toBe(true);
  });

  test.each([
    ['as a quote', (text: string) => text.replaceAll(/^/gm, '> ')],
    ['after a bar', (text: string) => text.replaceAll(/^/gm, '┃ ')],
    ['in color', (text: string) => text.replaceAll(/^(.+)$/gm, '\u001b[2m$1\u001b[0m')],
    ['with CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    ['without blank lines', (text: string) => text.replaceAll(/\n+/g, '\n')],
    ['partially', (text: string) => text.slice(-60)],
    ['reduced to two lines', (text: string) => text.trim().split('\n').slice(-2).join('\n')],
  ])('%s does not complete the run', (_, form) => {
    const sent = `${prompt}\n\nDo all of it.\n${tag}`;
    expect(judge([plain(form(sent))], { sent })).toMatchObject({
      completionFound: false,
      rejected: 'it repeats the prompt',
    });
  });

  test('at the start is not recorded as a mention', () => {
    const sent = buildRalphPrompt('Fix it.', { changeId: '001-01_x' });
    expect(judge([plain(`${sent}\nI fixed one half.\n`)], { sent })).toMatchObject({ rejected: null, mentions: [] });
  });

  test('with fifty thousand equal lines takes about as long as with different ones', () => {
    const cpuTime = (lines: readonly string[]): number => {
      const text = `${lines.join('\n')}\n${tag}\n`;
      const started = process.cpuUsage();
      expect(judge([plain(text)], { sent: text }).completionFound).toBe(false);
      return process.cpuUsage(started).user;
    };
    const different = Array.from({ length: 50_000 }, (_, index) => `line number ${index}`);
    const equal = different.map(() => 'the same line');
    // The first call also compiles.
    cpuTime(different);
    expect(cpuTime(equal)).toBeLessThan(20 * cpuTime(different));
  });

  test('can be directly followed by the promise', () => {
    expect(judge([plain(`${prompt}${tag}\n`)]).completionFound).toBe(true);
  });

  const sent = `Rules\n\nRun the tests:\n\`\`\`sh\nnpm test\n\`\`\`\nThen print\n${tag}\n`;
  test.each([
    ['opens a code fence of the agent', `Run the tests:\n\`\`\`sh\n${tag}\n\`\`\`\n`, false],
    ['closes a code fence of the agent', `I did:\n\`\`\`sh\nnpm test\n\`\`\`\n${tag}\n`, true],
  ])('counts as text if it %s', (_, output, expected) => {
    expect(judge([plain(output)], { sent }).completionFound).toBe(expected);
  });
});

describe('a promise in a failed iteration is rejected', () => {
  test.each<[string, AgentEvent[], TurnEnd, { kind: string; message: string }]>([
    ['a non-zero exit code', [], exited(3), { kind: 'crash', message: 'the agent exited with code 3' }],
    [
      'an interruption with exit code 0',
      [],
      { ...exited(0), end: 'interrupted' },
      { kind: 'crash', message: 'the iteration was interrupted' },
    ],
    [
      'a signal',
      [],
      { end: 'killed', exitCode: null, signal: 'SIGKILL', problem: null },
      { kind: 'crash', message: 'the agent was killed by SIGKILL' },
    ],
    [
      'not started',
      [],
      { end: 'not-started', exitCode: null, signal: null, problem: 'permission denied' },
      { kind: 'start', message: 'the agent could not be started: permission denied' },
    ],
    [
      'over the time limit',
      [],
      { end: 'timed-out', exitCode: null, signal: 'SIGTERM', problem: 'it printed nothing' },
      { kind: 'timeout', message: 'the agent was stopped: it printed nothing' },
    ],
    [
      'over the budget',
      [],
      { end: 'out-of-budget', exitCode: 0, signal: null, problem: 'no money left' },
      { kind: 'budget', message: 'the agent was stopped: no money left' },
    ],
    ['an error event', [refused], exited(0), { kind: 'permission', message: 'refused' }],
    ['an error event before the exit code', [refused], exited(1), { kind: 'permission', message: 'refused' }],
    ['the first of two error events', [overload, refused], exited(0), { kind: 'overload', message: 'busy' }],
  ])('%s', (_, events, ended, error) => {
    expect(judge([message(tag), ...events], { ended })).toMatchObject({
      completionFound: false,
      rejected: error.message,
      error,
    });
    expect(judge(events, { ended })).toMatchObject({ completionFound: false, rejected: null, error });
  });
});

describe('a denied tool call', () => {
  const stopped = { kind: 'permission', message: 'no bash' };
  const crashed = { kind: 'crash', message: 'the agent exited with code 1' };
  const done = message(`All tests pass.\n\n${tag}`);

  test.each<[string, AgentEvent[], TurnEnd, { kind: string; message: string } | null, boolean]>([
    ['after which the agent continued and finished', [tool('bash'), deniedCall, denied(), done], exited(0), null, true],
    ['that is reported only at the end', [tool('bash'), done, denied()], exited(0), null, true],
    ['that stderr reports too early or too late', [denied(), tool('bash'), deniedCall, done], exited(0), null, true],
    ['after which the agent printed nothing', [done, tool('bash'), deniedCall, denied()], exited(0), stopped, false],
    [
      'after which the agent printed a space',
      [done, tool('bash'), deniedCall, denied(), message(' \n')],
      exited(0),
      stopped,
      false,
    ],
    ['after which only a tool printed text', [done, deniedCall, denied(), plain('Hi.\n')], exited(0), stopped, false],
    ['in an unfinished step', [deniedCall, denied(), done, truncated], exited(0), stopped, false],
    ['before the agent crashed', [message('I work.'), deniedCall, denied()], exited(1), stopped, false],
    ['and a crash after the agent continued', [deniedCall, denied(), done], exited(1), crashed, false],
    ['and another error', [deniedCall, denied(), overload], exited(1), { kind: 'overload', message: 'busy' }, false],
    ['of an agent without events', [denied(), plain(`All tests pass.\n${tag}\n`)], exited(0), null, true],
    ['of an agent that prints nothing', [denied()], exited(0), stopped, false],
  ])('%s', (_, events, ended, error, completionFound) => {
    expect(judge(events, { ended })).toMatchObject({
      completionFound,
      error,
      denied: { tools: ['bash'], message: 'no bash' },
    });
  });

  test('is listed once per tool, up to a limit', () => {
    const names = Array.from({ length: 30 }, (_, index) => `tool-${index}`);
    const { denied: list } = judge([...names, ...names].map(denied));
    expect(list?.tools).toEqual(names.slice(0, 10));
  });

  test('keeps each reason once, up to a limit', () => {
    const events = Array.from({ length: 30 }, (_, index): AgentEvent => {
      const reason = `reason ${index >> 1}`;
      return { type: 'denied', tool: 'bash', reason, suggestedRule: 'Bash', message: '' };
    });
    const { denied: list } = judge([denied(), ...events]);
    const expected = Array.from({ length: 10 }, (_, index) => `reason ${index}`);
    expect(list?.calls).toEqual(expected.map((reason) => ({ tool: 'bash', reason, suggestedRule: 'Bash' })));
    expect(judge([denied()]).denied).not.toHaveProperty('calls');
  });

  test('is null without one', () => {
    expect(judge([done])).toMatchObject({ denied: null });
  });
});

describe('usage', () => {
  test.each([
    ['is null without reports', [message('Hi.')], null],
    ['one step', [usage(10, 2, 0.5)], { inputTokens: 10, outputTokens: 2, costUsd: 0.5 }],
    [
      'is summed over steps',
      [usage(10, 2, 0.5), usage(5, 1, 0.25)],
      { inputTokens: 15, outputTokens: 3, costUsd: 0.75 },
    ],
    ['keeps 0', [usage(0, 0, 0)], { inputTokens: 0, outputTokens: 0, costUsd: 0 }],
    [
      'keeps null',
      [usage(10, null, null), usage(5, null, null)],
      { inputTokens: 15, outputTokens: null, costUsd: null },
    ],
    [
      'ignores null in a sum',
      [usage(null, 2, 1), usage(5, null, null)],
      { inputTokens: 5, outputTokens: 2, costUsd: 1 },
    ],
  ])('%s', (_, events, expected) => {
    expect(judge(events).usage).toEqual(expected && { ...unknownUsage, ...expected });
  });
});

describe('called tools', () => {
  test.each([
    ['unknown for plain text', [plain('Hi.\n'), stderr], null],
    ['none', [message('Hi.')], {}],
    ['several', [tool('bash'), tool('edit'), tool('bash')], { bash: 2, edit: 1 }],
  ])('%s', (_, events, expected) => {
    expect(judge(events).tools).toEqual(expected);
  });

  test('a tool can have any name', () => {
    const name = fc.oneof(fc.constantFrom('toString', 'constructor', '__proto__', 'bash'), fc.string());
    fc.assert(
      fc.property(fc.array(name, { minLength: 1 }), (names) => {
        const expected = new Map<string, number>();
        for (const each of names) expected.set(each, (expected.get(each) ?? 0) + 1);
        expect(new Map(Object.entries(judge(names.map(tool)).tools!))).toEqual(expected);
      }),
    );
  });
});

describe('evidence', () => {
  test.each([
    ['at the end', `Done.\n${tag}`, `Done.\n${tag}`],
    ['with colors in it', 'Done.\n<promise>COMPLETE</\u001b[1mpromise>', `Done.\n${tag}`],
    ['after a long text', `${'x'.repeat(9000)}.\n${tag}`, `${'x'.repeat(8163)}.\n${tag}`],
  ])('%s', (_, text, evidence) => {
    expect(judge([message(text)])).toMatchObject({ completionFound: true, evidence });
  });
});

describe('giving up', () => {
  const blocked = '<promise>BLOCKED</promise>';
  test.each([
    [
      'the reason on the next line',
      [message(`I tried.\n${blocked}\nThe API key is missing.`)],
      'The API key is missing.',
    ],
    ['the reason before it', [message(`I tried.\nThe API key is missing.\n\n${blocked}\n`)], 'The API key is missing.'],
    ['a label before the reason', [message(`${blocked}\n\n**Reason:** no key`)], 'no key'],
    ['no reason at all', [message(blocked)], 'it gave no reason'],
    ['plain text', [plain(`I tried.\n${blocked}\n`), plain('No key.\n')], 'No key.'],
    ['plain text that continues', [plain(`${blocked}\nNo key.\n`), plain('more\n'.repeat(5000))], null],
    ['more text on its line', [message(`${blocked} is what I would print`)], null],
    ['in a sentence', [message(`If I am stuck I print \`${blocked}\`.`)], null],
    ['announced', [message(`When I cannot go on I will print:\n\n${blocked}\n\nBut I can.`)], null],
    ['retracted on the next line', [message(`${blocked}\n\nwould be wrong: I found another key.`)], null],
    ['decorated', [message(`**${blocked}**\n\nNo key.`)], 'No key.'],
    ['in its own fence', [message(`I tried.\n\n\`\`\`\n${blocked}\n\`\`\`\nNo key.`)], 'No key.'],
    ['a reason with several lines', [message(`${blocked}\n\nNo key:\n- not in .env\n- not in the vault\n`)], 'No key:'],
    ['a reason with code', [message(`${blocked}\nIt says:\n\`\`\`\nno key\n\`\`\`\n`)], 'It says:'],
    ['a reason in code', [message(`${blocked}\n\n\`\`\`\nno key\n\`\`\`\n`)], 'no key'],
    ['a trailer after it', [plain(`No key.\n\n${blocked}\nTokens used: 1,234\n`)], 'No key.'],
    ['a trailer after the reason', [plain(`${blocked}\nNo key.\nTokens used: 1,234\n`)], 'No key.'],
    ['followed by more work', [message(`${blocked}\nNo key.`), tool('bash'), message('I found the key.')], null],
    ['the reason on its line', [message(`I tried.\n\n${blocked}: no key`)], 'no key'],
    ['the reason on its line, after a dash', [message(`**${blocked}** — no key in .env`)], 'no key in .env'],
    ['a description on its line', [message(`Tags:\n- ${blocked}: giving up`)], null],
    ['a condition on its line', [message(`${blocked}: only if there is no key`)], null],
    ['from a tool', [message('Hi.'), plain(`${blocked}\nNo key.\n`)], null],
    ['a reason that names open work', [message(`Task two is not done.\n\n${blocked}`)], 'Task two is not done.'],
    ['a reason that names a failure, on its line', [message(`Tests fail. ${blocked}`)], 'Tests fail.'],
    ['the remaining work before it', [message(`Remaining work:\n- docs\n\n${blocked}\nNo key.`)], 'No key.'],
    ['an open box before it', [message(`- [ ] docs\n\n${blocked}\nNo key.`)], 'No key.'],
  ])('%s', (_, events, reason) => {
    expect(judge(events).blocked).toBe(reason);
  });

  test('with the reason inside the tag is a near miss', () => {
    expect(judge([message('I tried.\n\n<promise>BLOCKED: no key</promise>')])).toMatchObject({
      blocked: null,
      rejected: `it must read ${blocked}, with any other text outside of it`,
    });
  });

  test('does not count if the iteration failed', () => {
    expect(judge([message(`${blocked}\nNo key.`)], { ended: exited(1) })).toMatchObject({ blocked: null });
  });

  test.each([
    ['first', `${tag}\n${blocked}\nNo key.`],
    ['first, after text', `All is done.\n\n${tag}\n\n${blocked}\n\nNo key.\n`],
    ['last', `${blocked}\nNo key.\n\n${tag}`],
    ['last, with the reason before it', `No key.\n${blocked}\n${tag}`],
  ])('overrides a promise that comes %s, and has the reason', (_, text) => {
    for (const events of [[message(text)], [plain(text)], text.split('').map(plain)])
      expect(judge(events)).toMatchObject({
        completionFound: false,
        rejected: 'it also gave up',
        blocked: 'No key.',
      });
  });
});

describe('a repeated tool call', () => {
  const call = (title: string): AgentEvent => ({ type: 'tool', tool: 'bash', title });
  test.each([
    ['fourteen times in a row', Array(14).fill(call('npm test')), null],
    ['fifteen times in a row', Array(15).fill(call('npm test')), { tool: 'bash', title: 'npm test', times: 15 }],
    ['with another call in between', [...Array(10).fill(call('a')), call('b'), ...Array(10).fill(call('a'))], null],
  ])('%s', (_, events, repeated) => {
    expect(judge(events as AgentEvent[]).repeated).toEqual(repeated);
  });
});

test('a promise while a subagent works is recorded as a mention', () => {
  const before = [tool('task'), message(tag), subagentCall];
  const { completionFound, mentions, rejected } = judge(before);
  expect(completionFound).toBe(false);
  expect(judge([...before, message('✔')])).toMatchObject({ completionFound: false, rejected });
  expect(mentions).toMatchObject([{ why: 'the agent waited for a subagent, which may have said it' }]);
  expect(rejected).toBe(mentions[0]!.why);
  const gaveUp = judge([tool('task'), message('<promise>BLOCKED</promise>\nno network'), subagentCall]);
  expect(gaveUp.blocked).toBeNull();
});

test('a promise followed by more text does not count and is recorded as a mention', () => {
  const events = [message(`All is well.\n\n${tag}`), tool('bash'), message('Three tests still fail.')];
  expect(judge(events)).toMatchObject({
    completionFound: false,
    rejected: 'the agent had more to say after it',
    mentions: [{ why: 'the agent had more to say after it' }],
    error: null,
  });
});

test.each([
  ['wrapped', 50],
  ['wrapped at another width', 100],
])('an echo of the prompt that is %s is not a promise', (_, width) => {
  const words = `Look at the files and mend what is broken in them. When all of it is done and verified, print ${tag}`;
  const wrapped = words.replaceAll(new RegExp(`(.{1,${width}})(?:\\s|$)`, 'g'), '$1\n');
  expect(wrapped.split('\n')).toContain(tag);
  expect(judge([plain(wrapped)], { sent: `# Task\n\n${words}\n` })).toMatchObject({
    completionFound: false,
    rejected: 'it repeats the prompt',
  });
  expect(
    judge([plain(`${wrapped}\nI have done all of that, and every test passes now.\n${tag}\n`)], { sent: words }),
  ).toMatchObject({
    completionFound: true,
  });
});

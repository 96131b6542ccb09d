import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { userError } from '../../../src/errors.ts';
import { describeTampering } from '../../../src/guard/guard.ts';
import { opencode } from '../../../src/harness/adapters/opencode.ts';
import { createDiagnosis } from '../../../src/harness/diagnosis.ts';
import { problemEvent } from '../../../src/harness/problem.ts';
import { boundRecord } from '../../../src/ralph/bounds.ts';
import type { AgentEvent } from '../../../src/ralph/agent-events.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { withBoundedTexts } from '../../../src/store/event-text.ts';
import { recordWith } from '../ralph/records.ts';

const key = 'zq9XvT4mLp2RkW8yBn6HdJ3sFg7aQe5u';
const longKey = Array.from({ length: 30 }, (_, index) => `${index}Hq7vXw2-`).join('');
/** Recognised by its format only. */
const shaped = `ghp_${'aB3'.repeat(12)}`;
const redactor = createRedactor({ MY_API_KEY: key, OTHER_TOKEN: longKey });

/** How many characters of a secret may remain. */
const few = 7;

const partsIn = (text: string, secret: string): string[] =>
  Array.from({ length: secret.length - few }, (_, at) => secret.slice(at, at + few + 1)).filter((part) =>
    text.includes(part),
  );

const words = (length: number): string =>
  'a word or '.repeat(Math.ceil(Math.max(0, length) / 10)).slice(0, Math.max(0, length));

/** The error that is reported for these events, after the agent has failed. */
const errorAfter = (...events: readonly AgentEvent[]): string => {
  let message = '';
  const diagnosis = createDiagnosis(opencode, { allowAll: false, redactor }, (event) => {
    if (event.type === 'error') message = event.message;
  });
  events.forEach(diagnosis.observe);
  diagnosis.end({ end: 'exited', exitCode: 1, signal: null, problem: null });
  return message;
};

/** What the record has of the last message of an agent. */
const recordAfter = (text: string): string => {
  const promises = { completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' };
  const observed = observeIteration(promises, 'Do it.');
  observed.observe({ type: 'text', text, plain: false });
  const verdict = observed.judge({ end: 'exited', exitCode: 0, signal: null, problem: null });
  return JSON.stringify(boundRecord(recordWith(verdict), redactor));
};

const recordOf = (facts: Parameters<typeof recordWith>[0]): string =>
  JSON.stringify(boundRecord(recordWith(facts), redactor));

const bounded = (event: AgentEvent): string => JSON.stringify(withBoundedTexts(event, redactor));

/** Every function that shortens a text from outside, and where it cuts: from the start of the text, or from its end. */
const beginnings: Readonly<Record<string, readonly [length: number, shorten: (text: string) => string]>> = {
  beginningOf: [60, (text) => redactor.beginningOf(text, 60)],
  oneLine: [60, (text) => redactor.oneLine(text, 60)],
  'error of an agent': [2000, (text) => errorAfter(problemEvent({ message: text }))],
  'error of a provider': [
    2000 - 'HTTP 503: '.length,
    (text) => errorAfter(problemEvent({ message: text, status: 503 })),
  ],
  'line on stderr': [500, (text) => errorAfter({ type: 'stderr', text })],
  'deleted task': [80, (title) => describeTampering({ kind: 'task', title }, redactor)],
  'text in the journal': [16 * 1024, (text) => bounded({ type: 'text', text, plain: false })],
  'title in the journal': [16 * 1024, (title) => bounded({ type: 'tool', tool: 'bash', title })],
  'repeated call': [200, (title) => recordOf({ repeated: { tool: 'bash', title, times: 20 } })],
  'name of a tool': [1000, (name) => recordOf({ tools: { [name]: 3 } })],
  'error in a record': [8000, (message) => recordOf({ error: { kind: 'unknown', message } })],
  'rejection in a record': [8000, (rejected) => recordOf({ rejected })],
  'invalid setting': [1000, (text) => redactor.text(userError('bad-config', 'config.json', text).message)],
};

const promise = '<promise>COMPLETE</promise>';
const ends: typeof beginnings = {
  endOf: [60, (text) => redactor.endOf(text, 60)],
  'end of stdout': [
    4000 - 45,
    (text) =>
      errorAfter({ type: 'text', text: `${text} status 401: authentication failed at the provider\n`, plain: true }),
  ],
  'words before the promise': [300 - promise.length - 2, (text) => recordAfter(`${text}.\n${promise}`)],
  'words before a mention': [300 - promise.length - 7, (text) => recordAfter(`${text} print ${promise} if done.`)],
  'words before an earlier mention': [
    300 - promise.length - 7,
    (text) => recordAfter(`${text} print ${promise} if ${words(40_000)}.`),
  ],
  'reason to give up': [4000, (text) => recordAfter(`Done.\n${text}\n<promise>BLOCKED</promise>`)],
  'output of a failed commit': [2000, (commitProblem) => recordOf({ commitProblem })],
  'evidence in a record': [300, (evidence) => recordOf({ evidence })],
};

const secrets = { 'value of a variable': key, 'long value': longKey, 'recognised format': shaped };

describe.each(Object.entries(secrets))('of a %s', (_, secret) => {
  const offsets = Array.from({ length: secret.length + 12 }, (_each, index) => index - 6);

  test.each(Object.entries(beginnings))(
    'no part remains at the end of a shortened text: %s',
    (_name, [length, shorten]) => {
      for (const offset of offsets) {
        const shown = shorten(`${words(length - offset - 1)} ${secret} ${words(3000)}`);
        expect([offset, partsIn(shown, secret)]).toEqual([offset, []]);
      }
      const shown = shorten(`${secret} `.repeat(3000));
      expect(partsIn(shown, secret)).toEqual([]);
    },
  );

  test.each(Object.entries(ends))(
    'no part remains at the start of a shortened text: %s',
    (_name, [length, shorten]) => {
      for (const offset of offsets) {
        const shown = shorten(`${words(9000)} ${secret} ${words(length - offset - 1)}`);
        expect([offset, partsIn(shown, secret)]).toEqual([offset, []]);
      }
    },
  );
});

test('a shortened text is as long as it may be, and ends or starts as the text does', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 10, max: 100 }), (text, length) => {
      const isShort = text.length <= length;
      const plain = createRedactor({});
      expect(plain.beginningOf(text, length)).toBe(isShort ? text : `${text.slice(0, length)}…`);
      expect(plain.endOf(text, length)).toBe(isShort ? text : `…${text.slice(-length)}`);
    }),
  );
});

test('a text that was shortened once stays as it is', () => {
  const text = `${words(50)} ${key} ${words(50)} ${key} ${words(50)}`;
  for (let length = 1; length < text.length; length++) {
    const beginning = redactor.beginningOf(text, length);
    const end = redactor.endOf(text, length);
    expect(redactor.text(beginning)).toBe(beginning);
    expect(redactor.text(end)).toBe(end);
    expect(beginning.length).toBeLessThanOrEqual(length + 1);
    expect(end.length).toBeLessThanOrEqual(length + 1);
  }
});

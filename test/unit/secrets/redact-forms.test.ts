import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLiterals } from '../../../src/secrets/literals.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';

const secret = 'Tr0ub4dor&3 "x" ä/+z';
const redactor = createRedactor({ DEPLOY_TOKEN: secret, API_KEY: 'k3y-with-many-letters' });
const base64 = (text: string) => Buffer.from(text).toString('base64');

const throughStream = (text: string, sizes: readonly number[] = [7]) => {
  const stream = redactor.stream();
  const parts = chunksOf(new TextEncoder().encode(text), sizes).map((chunk) => Buffer.from(stream.pass(chunk)));
  return Buffer.concat([...parts, stream.end()]).toString('utf8');
};

describe('a value is redacted in every form', () => {
  test.each([
    ['unchanged', `a ${secret} b`, 'a [redacted] b'],
    ['in JSON', JSON.stringify({ a: secret }), '{"a":"[redacted]"}'],
    ['in JSON in JSON', JSON.stringify(JSON.stringify([secret])), String.raw`"[\"[redacted]\"]"`],
    ['in a URL', `?token=${encodeURIComponent(secret)}&b=1`, '?token=[redacted]&b=1'],
    ['in a form', `token=${new URLSearchParams([['', secret]]).toString().slice(1)}&b`, 'token=[redacted]&b'],
    ['in a URL, in lower case', encodeURIComponent(secret).replaceAll(/%../g, (x) => x.toLowerCase()), '[redacted]'],
    ['in JSON from PHP', JSON.stringify(secret).replaceAll('/', String.raw`\/`), '"[redacted]"'],
    ['in hex', `0x${Buffer.from(secret).toString('hex')}.`, '0x[redacted].'],
    ['in upper-case hex', Buffer.from(secret).toString('hex').toUpperCase(), '[redacted]'],
    [
      'split by colors',
      `a \u001b[1m${secret.slice(0, 5)}\u001b[0;31m${secret.slice(5)} b`,
      'a \u001b[1m[redacted]\u001b[0;31m b',
    ],
    ['wrapped', `a ${secret.slice(0, 6)}\n${secret.slice(6)} b`, 'a [redacted]\n b'],
    ['wrapped and indented', `a ${secret.slice(0, 6)}\r\n    ${secret.slice(6)} b`, 'a [redacted]\r\n     b'],
    ['wrapped in JSON', String.raw`{"a":"k3y-with-\nmany-letters"}`, String.raw`{"a":"[redacted]\n"}`],
    ['wrapped twice, in colors', 'k3y-\u001b[1m\nwith-man\ny-letters\u001b[0m', '[redacted]\u001b[1m\n\n\u001b[0m'],
  ])('%s', (_, text, expected) => {
    expect(redactor.text(text)).toBe(expected);
    expect(throughStream(text)).toBe(expected);
  });

  test.each(['', 'u', 'us', 'user:', 'user2:', 'someone:'])('in base64, after %j', (before) => {
    for (const alphabet of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${before}${secret}@behind`).toString(alphabet);
      const cleaned = redactor.text(`Basic ${text}`);
      expect(cleaned).toContain('[redacted]');
      const left = cleaned
        .replace('Basic ', '')
        .split('[redacted]')
        .map((part) => part.length);
      // The characters at both ends also encode part of a neighbour.
      expect(left[0]! + left[1]!).toBeLessThanOrEqual(base64(`${before}@behind`).length + 2);
    }
  });

  test('in wrapped base64', () => {
    const text = base64(`${'x'.repeat(60)}${secret}${'y'.repeat(60)}`).replaceAll(/.{76}/g, '$&\n');
    expect(redactor.text(text)).toContain('[redacted]');
    expect(redactor.text(text).replaceAll(/\s/g, '')).not.toContain(base64(secret).slice(2, 20));
  });
});

test.each([
  ['ghp_', `\u001b[32mghp\u001b[0m_${'a1'.repeat(18)}`],
  ['sk-', `sk-\\u001b[1mant-${'a1'.repeat(15)}`],
])('a key with a known pattern is redacted if colors split it: %s', (_, text) => {
  expect(redactor.text(`key ${text} end`)).not.toContain('a1a1');
});

test.each([
  'k3y-with-', // incomplete
  'k3y-wi\n | th-many-letters',
  'a line\n  and another one\n',
  'Authorization: Bearer ${TOKEN}',
  'Authorization: Bearer some-long-token-with-1234',
  '{"Authorization": "Bearer YOUR_ACCESS_TOKEN_HERE_1"}',
])('nothing is redacted in %j', (text) => {
  expect(redactor.text(text)).toBe(text);
});

test('a wrapped value is redacted in a stream in any chunks', () => {
  const text = `first\n${'some words '.repeat(20)}k3y-with-\n  many-letters\nDone: k3y-wit\u001b[0m\nh-many-\nletters.\n`;
  const expected = redactor.text(text);
  expect(expected).not.toMatch(/k3y|many|letters/);
  fc.assert(fc.property(chunkSizes, (sizes) => void expect(throughStream(text, sizes)).toBe(expected)));
});

test('a line is only buffered if it ends with the start of a secret', () => {
  const stream = redactor.stream();
  const pass = (text: string) => Buffer.from(stream.pass(Buffer.from(text))).toString();
  expect(pass('a line with\n')).toBe('a line with\n');
  expect(pass('it is k3y-with\n')).toBe('it is ');
  expect(pass('out an end\n')).toBe('k3y-with\nout an end\n');
});

test('a search for many literals equals searches for each of them', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'ä', '\u4e2d'), minLength: 8, maxLength: 12 });
  const words = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'ä', '\u4e2d'), maxLength: 200 });
  fc.assert(
    fc.property(fc.array(few, { minLength: 1, maxLength: 5 }), fc.array(words, { maxLength: 4 }), (literals, parts) => {
      const text = parts.join(literals[0]);
      const found = createLiterals(literals);
      const at = (start: number) => literals.filter((each) => text.startsWith(each, start)).map((each) => each.length);
      const expected = [...text].length === 0 ? [] : Array.from(text, (_, start) => ({ start, lengths: at(start) }));
      const spans = expected
        .filter(({ lengths }) => lengths.length > 0)
        .map(({ start, lengths }) => ({ start, end: start + Math.max(...lengths) }));
      expect(found.spansIn(text)).toEqual(spans);
      expect(found.occurIn(text)).toBe(spans.length > 0);
    }),
  );
});

test('a long file full of secrets takes linear time', () => {
  const line = `k3y-with-many-letters \u001b[1mghp_${'a1'.repeat(18)}\u001b[0m k3y-with-\nmany-letters\n`;
  const times = 60_000;
  const cleaned = redactor.text(line.repeat(times));
  expect(cleaned).toBe('[redacted] \u001b[1m[redacted]\u001b[0m [redacted]\n\n'.repeat(times));
});

test('keys of objects are redacted, and data without secrets is not copied', () => {
  const clean = { tools: { bash: 1 }, list: ['a text'] };

  expect(redactor.data(clean)).toBe(clean);
  expect(redactor.data({ tools: { [`bash ${secret}`]: 1, read: 2 } })).toEqual({
    tools: { 'bash [redacted]': 1, read: 2 },
  });
});

test('secrets that appear after characters are removed are redacted', () => {
  const { data } = redactor.after((text) => text.replaceAll('\0', ''));

  expect(data({ text: [...secret].join('\0') })).toEqual({ text: '[redacted]' });
});

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { chunkSizes, cut } from './chunks.ts';

const env = {
  MY_API_KEY: 'a-very-secret-value',
  DB_PASSWORD: 'pässwörd-123',
  SSH_AUTH_SOCK: '/tmp/ssh-agent.sock',
  PUBLIC_KEY_PATH: '/home/me/key.pub',
  SHORT_TOKEN: 'abc',
  GITHUB_TOKEN_LIFETIME: '86400000',
  HOME: '/home/someone-long',
};
const redactor = createRedactor(env);

const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'QUJD\n'.repeat(500)}-----END OPENSSH PRIVATE KEY-----`;

describe('what is taken out', () => {
  test.each([
    ['the value of a variable that is a key', 'token=a-very-secret-value;', 'token=[redacted];'],
    ['one that is not ASCII', 'pw: pässwörd-123', 'pw: [redacted]'],
    ['an OpenAI or Anthropic key', `sk-ant-${'a1'.repeat(15)}`, '[redacted]'],
    ['a GitHub token', `a ghp_${'x'.repeat(36)} b`, 'a [redacted] b'],
    ['a fine-grained GitHub token', `github_pat_${'A1'.repeat(20)}`, '[redacted]'],
    ['a GitLab token', 'glpat-aaaaaaaaaaaaaaaaaaaa', '[redacted]'],
    ['an AWS key', 'AKIAABCDEFGHIJKLMNOP', '[redacted]'],
    ['a Google key', `AIza${'x'.repeat(35)}`, '[redacted]'],
    ['a Slack token', 'xoxb-1234567890-abc', '[redacted]'],
    ['an npm token', `npm_${'x'.repeat(36)}`, '[redacted]'],
    ['a signed token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl', '[redacted]'],
    ['a private key', `<${key}>`, '<[redacted]>'],
    [
      'a private key whose end is cut off',
      `${key.split('\n').slice(0, 1).join('')}\n${'QUJDQUJDQUJDQUJD\n'.repeat(3)}rest`,
      '[redacted]\nrest',
    ],
    ['a private key in JSON', JSON.stringify({ key }), '{"key":"[redacted]"}'],
  ])('%s', (_, text, expected) => {
    expect(redactor.text(text)).toBe(expected);
    expect(redactor.data({ list: [{ text }], number: 1, none: null })).toEqual({
      list: [{ text: expected }],
      number: 1,
      none: null,
    });
  });

  test.each([
    '/tmp/ssh-agent.sock',
    '/home/me/key.pub',
    'abc',
    '86400000',
    '/home/someone-long',
    'task-list',
    'sk-short',
    'It starts with -----BEGIN RSA PRIVATE KEY-----.',
  ])('not %s', (text) => {
    expect(redactor.text(text)).toBe(text);
  });
});

test('a stream is cleaned however it is cut, and nothing else in it is touched', () => {
  const text = `start\nMY a-very-secret-value and pässwörd-123\n${'x'.repeat(9000)}AKIAABCDEFGHIJKLMNOP${'y'.repeat(9000)}\n${key}\n\u0000\u001b[1mend`;
  const bytes = new TextEncoder().encode(text);
  const expected = redactor.text(text);
  fc.assert(
    fc.property(chunkSizes, (sizes) => {
      const stream = redactor.stream();
      const parts = cut(bytes, sizes).map((chunk) => Buffer.from(stream.pass(chunk)));
      expect(Buffer.concat([...parts, stream.end()]).toString('utf8')).toBe(expected);
    }),
  );
});

test('a long token is found across two chunks', () => {
  const token = `eyJ${'a'.repeat(5000)}.eyJ${'b'.repeat(5000)}.${'c'.repeat(300)}`;
  const stream = redactor.stream();
  const bytes = Buffer.from(`token: ${token} end`);
  const parts = [bytes.subarray(0, 8000), bytes.subarray(8000)].map((chunk) => Buffer.from(stream.pass(chunk)));
  expect(Buffer.concat([...parts, stream.end()]).toString()).toBe('token: [redacted] end');
});

test('a line that has ended is not held back', () => {
  const stream = redactor.stream();
  expect(Buffer.from(stream.pass(Buffer.from('one\ntwo'))).toString()).toBe('one\n');
  expect(Buffer.from(stream.end()).toString()).toBe('two');
});

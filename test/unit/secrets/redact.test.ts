import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { shapes } from '../../../src/secrets/shapes.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';
import { redactsInAnyChunks, key, redactor } from './redacted-stream.ts';

describe('redacts', () => {
  test.each([
    ['the value of a variable with a key', 'token=a-very-secret-value;', 'token=[redacted];'],
    ['a value that is not ASCII', 'pw: pässwörd-123', 'pw: [redacted]'],
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
      'a truncated private key',
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
    'id: "task-550e8400-e29b-41d4-a716-446655440000"',
    '.mask-image-linear-gradient-to-bottom {}',
    'sk-image-linear-gradient-to-the-bottom',
    'npm_config_registry_and_a_very_long_name_of_a_setting',
    'hf_hub_download_with_retries_and_more_words',
    'https://foo:bar@foo.com',
    'see [it](http://localhost:3000),admin@corp.com',
  ])('but not %s', (text) => {
    expect(redactor.text(text)).toBe(text);
  });
});

// test/trials/properties.trial.ts runs it more often.
test('a stream is redacted in any chunks, and nothing else in it changes', () => redactsInAnyChunks({ numRuns: 20 }));

test('a long token is redacted across two chunks', () => {
  const token = `eyJ${'a'.repeat(5000)}.eyJ${'b'.repeat(5000)}.${'c'.repeat(300)}`;
  const stream = redactor.stream();
  const bytes = Buffer.from(`token: ${token} end`);
  const parts = [bytes.subarray(0, 8000), bytes.subarray(8000)].map((chunk) => Buffer.from(stream.pass(chunk)));
  expect(Buffer.concat([...parts, stream.end()]).toString()).toBe('token: [redacted] end');
});

test('a complete line is not buffered', () => {
  const stream = redactor.stream();
  expect(Buffer.from(stream.pass(Buffer.from('one\ntwo'))).toString()).toBe('one\n');
  expect(Buffer.from(stream.end()).toString()).toBe('two');
});

/** What follows each prefix in a real secret. */
const rests: Readonly<Record<string, string>> = {
  'sk-': 'ant-1REST30',
  ghp_: 'REST36',
  gho_: 'REST36',
  ghu_: 'REST36',
  ghs_: 'REST36',
  ghr_: 'REST36',
  github_pat_: 'REST36',
  'glpat-': 'REST20',
  AKIA: 'ABCDEFGHIJKLMNOP',
  ASIA: 'ABCDEFGHIJKLMNOP',
  AIza: 'REST35',
  'xoxa-': 'REST20',
  'xoxb-': 'REST20',
  'xoxe-': 'REST20',
  'xoxp-': 'REST20',
  'xoxr-': 'REST20',
  'xoxs-': 'REST20',
  npm_: 'REST36',
  '_authToken=': 'REST20',
  sk_live_: 'REST20',
  sk_test_: 'REST20',
  rk_live_: 'REST20',
  rk_test_: 'REST20',
  hf_: 'REST36',
  gsk_: 'REST36',
  'SG.': 'REST22.REST43',
  dapi: 'HEX32',
  lin_api_: 'REST40',
  lin_oauth_: 'HEX64',
  shpat_: 'HEX32',
  shpca_: 'HEX32',
  shppa_: 'HEX32',
  shpss_: 'HEX32',
  shpua_: 'HEX32',
  dckr_pat_: 'REST30',
  dckr_oat_: 'REST30',
  dop_v1_: 'HEX64',
  doo_v1_: 'HEX64',
  'GOCSPX-': 'REST28',
  'pypi-AgEI': 'REST60',
  ATATT3: 'REST60',
  whsec_: 'REST36',
  'xapp-': '1REST36',
  'xai-': '1REST36',
  'pplx-': '1REST36',
  figd_: '1REST36',
  sbp_: '1REST36',
  'AccountKey=': 'REST43REST43==',
  'AGE-SECRET-KEY-1': 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLMNOPQRSTUV',
  'hooks.slack.com/services/T': 'REST8/BREST8/REST22',
  aws_secret_access_key: ' = REST40',
  AWS_SECRET_ACCESS_KEY: '=REST40',
  secretAccessKey: '": "REST40',
  SecretAccessKey: '\\": \\"REST40',
  Authorization: ': Bearer aA1REST36',
  authorization: '": "Basic aA1REST36==',
  AUTHORIZATION: '=bearer aA1REST36',
  eC1hY2Nlc3MtdG9rZW46: 'REST36',
  '://': 'admin:HEX22@db.internal.acme.io',
  eyJ: 'REST20.eyJREST20.REST30',
  '-----BEGIN ': 'EC PRIVATE KEY-----\nREST60\nREST60\n-----END EC PRIVATE KEY-----',
};

/** Private keys in base64 start in several ways. */
const restOf = (start: string): string | undefined =>
  start.startsWith(btoa('-----BEGIN').slice(0, 12)) ? 'REST60' : rests[start];

const filled = (template: string, letters: string): string =>
  template.replaceAll(/(REST|HEX)(\d+)/g, (_, kind: string, length: string) =>
    [...letters]
      .map((letter) => (kind === 'HEX' ? (letter.charCodeAt(0) % 16).toString(16) : letter))
      .slice(0, Number(length))
      .join(''),
  );

const letters = fc.string({
  unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'),
  minLength: 64,
  maxLength: 64,
});

describe('every pattern in the table is redacted in texts and streams', () => {
  test.each(shapes.flatMap(({ starts }) => starts))('%s', (start) => {
    expect(restOf(start)).toBeDefined();
    const befores = fc.constantFrom('', ' ', '"', '(', 'key: ', '{"text":"', 'a line\n', "'", '\u001b[1m');
    const afters = fc.constantFrom('', ' ', '"', ')', '\n', ',', ' and more', '"}', "'", '\u001b[0m');
    fc.assert(
      fc.property(letters, befores, afters, chunkSizes, (chars, before, after, sizes) => {
        const secret = start + filled(restOf(start)!, chars);
        const text = `${before}${secret}${after}\nend\n`;
        const core = filled(restOf(start)!, chars).slice(-12);
        const cleaned = redactor.text(text);
        expect(cleaned).not.toContain(core);
        const stream = redactor.stream();
        const parts = chunksOf(new TextEncoder().encode(text), sizes).map((chunk) => Buffer.from(stream.pass(chunk)));
        expect(Buffer.concat([...parts, stream.end()]).toString('utf8')).toBe(cleaned);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a password in a URL', () => {
  test.each([
    ['postgres://app:s3cr3t-pw@db.acme.io:5432/app', 'postgres[redacted]:5432/app'],
    ['https://x-access-token:abcdef123@git.acme.io/a.git', 'https[redacted]/a.git'],
    ['redis://:hunter22@cache.acme.io', 'redis[redacted]'],
  ])('is redacted in %s', (text, expected) => {
    expect(redactor.text(text)).toBe(expected);
  });

  test.each([
    'postgres://postgres:postgres@localhost:5432/app',
    'postgres://app:app@db:5432/app',
    'postgres://user:pass@example.com/db',
    'postgres://user:pass@db.example.org/db',
    'mysql://root:root@127.0.0.1/db',
    'https://user:${PASSWORD}@db.acme.io',
    'https://<user>:<password>@db.acme.io',
    'https://{user}:{password}@db.acme.io',
    'https://acme.io/a:b@c.d',
    'https://acme.io:8080/x?y=a@b.c',
    'git+ssh://git@github.com:acme/x.git',
  ])('is not detected in %s', (text) => {
    expect(redactor.text(text)).toBe(text);
  });
});

test.each(['', 'token=', 'a_', 'session-', 'x\\n', '"'])('a JWT is redacted after %j', (before) => {
  const part = `eyJ${'aB3_'.repeat(10)}`;
  const jwt = `${part}.${part}.${'c-D4'.repeat(10)}`;
  expect(createRedactor({}).text(`${before}${jwt} end`)).toBe(`${before}[redacted] end`);
});

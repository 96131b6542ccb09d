import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/secrets/redact.ts';

const secret = 'correct-horse-battery-staple';
const redactor = createRedactor({ API_TOKEN: secret });
const key = ['-----BEGIN PRIVATE KEY-----', 'QUJDRA0123456789', 'RUZHSA0123456789', '-----END PRIVATE KEY-----'];

test('a part of a text shows nothing of a secret that crosses its borders', () => {
  const text = `before ${secret} after`;
  expect(redactor.part(text, 0, 12)).toBe('before [redacted]');
  expect(redactor.part(text, 12, 20)).toBe('[redacted]');
  expect(redactor.part(text, 20, text.length)).toBe('[redacted] after');
  expect(redactor.part(text, 0, 7)).toBe('before ');
  expect(redactor.part(text, 0, text.length)).toBe('before [redacted] after');
});

test('no window of a text has a part of a secret that is long enough to be of use', () => {
  const words = fc.array(fc.constantFrom('a ', 'word ', '\n', 'é', `${secret} `), { maxLength: 12 });
  fc.assert(
    fc.property(words, fc.nat(200), fc.nat(60), (parts, start, length) => {
      const text = parts.join('');
      const shown = redactor.part(text, Math.min(start, text.length), Math.min(start + length, text.length));
      for (let at = 0; at + 6 <= secret.length; at++) expect(shown).not.toContain(secret.slice(at, at + 6));
    }),
  );
});

test('the lines of a secret stay as many', () => {
  const lines = ['one', ...key, 'two'];
  expect(redactor.lines(lines)).toEqual(['one', '[redacted]', '[redacted]', '[redacted]', '[redacted]', 'two']);
  expect(redactor.lines(['a', '', `x ${secret}`, 'b'])).toEqual(['a', '', 'x [redacted]', 'b']);
  expect(redactor.lines([])).toEqual([]);
});

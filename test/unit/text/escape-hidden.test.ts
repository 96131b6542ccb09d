import { stripVTControlCharacters } from 'node:util';
import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { visible } from '../../../src/text/escape-hidden.ts';

test.each([
  ['npm test', 'npm test'],
  ['echo ä 日本 ✓ 🎉', 'echo ä 日本 ✓ 🎉'],
  ['a\nb\tc\r', String.raw`a\nb\tc\u{d}`],
  ['\u001b]52;c;x\u0007', String.raw`\u{1b}]52;c;x\u{7}`],
  ['\u202e\u2066\u200f', String.raw`\u{202e}\u{2066}\u{200f}`],
  ['a\u200b\u00ad\u3164b', String.raw`a\u{200b}\u{ad}\u{3164}b`],
  ['a\u00a0\u2003\u2028b', String.raw`a\u{a0}\u{2003}\u{2028}b`],
  [`a${' '.repeat(9)}b`, 'a [9 blanks] b'],
  [`a${' '.repeat(8)}b`, `a${' '.repeat(8)}b`],
])('%j is shown as %s', (text, shown) => expect(visible(text)).toBe(shown));

test('any text becomes one line without control characters', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      const shown = visible(text);
      expect(shown).toBe(stripVTControlCharacters(shown));
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

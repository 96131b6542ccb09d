import { expect, test } from 'vitest';
import { truncate } from '../../../src/report/shorten.ts';
import { duration, widthOf } from '../../../src/text/format.ts';
import { withoutControls } from '../../../src/text/controls.ts';

test.each([
  [0, '0ms'],
  [0.4, '0ms'],
  [850, '850ms'],
  [999, '999ms'],
  [999.6, '1s'],
  [1000, '1s'],
  [4200, '4.2s'],
  [9949, '9.9s'],
  [59_499, '59s'],
  [59_500, '1m'],
  [60_000, '1m'],
  [185_000, '3m 5s'],
  [3_599_499, '59m 59s'],
  [3_599_500, '1h'],
  [7_800_000, '2h 10m'],
  [7_859_499, '2h 10m'],
  [360_000_000, '100h'],
])('%d ms is formatted as %s', (ms, expected) => {
  expect(duration(ms)).toBe(expected);
});

test.each([
  ['abc', 3],
  ['größe', 5],
  ['gro\u0308\u00dfe', 5],
  ['変更', 4],
  ['한국', 4],
  ['a🚀b', 4],
  ['', 0],
])('%j occupies %d columns', (text, width) => {
  expect(widthOf(text)).toBe(width);
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['変更の', 5, '変更…'],
  ['変更の', 4, '変…'],
  ['abc', 1, '…'],
  ['abc', 0, ''],
  ['abc', -3, ''],
])('%j truncated to %d columns is %j', (text, columns, expected) => {
  expect(truncate(text, columns, '…')).toBe(expected);
});

test.each([
  ['a\tb\nc', 'a\tb\nc'],
  ['\u001b[31mred\u001b[0m\r\n', 'red\n'],
  ['\u001b]0;title\u0007text', 'text'],
  ['\u009b2Jtext', 'text'],
  ['\u009d0;title\u0007', '0;title'],
  ['one\u008dline', 'oneline'],
  ['漢字 é', '漢字 é'],
])('%j is printed as %j', (text, expected) => {
  expect(withoutControls(text)).toBe(expected);
});

test('removing a character does not depend on the rest of the text', () => {
  for (let code = 0; code < 0xa0; code++) {
    const char = String.fromCharCode(code);
    if (char === '\u001b' || char === '\u009b') continue;
    expect(withoutControls(`${char}\n\u0007`)).toBe(withoutControls(`${char}\n`));
  }
});

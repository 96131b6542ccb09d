import { expect, test } from 'vitest';
import { cut, duration, widthOf } from '../../../src/report/format.ts';

test.each([
  [0, '0 ms'],
  [0.4, '0 ms'],
  [850, '850 ms'],
  [999, '999 ms'],
  [999.6, '1.0 s'],
  [1000, '1.0 s'],
  [4200, '4.2 s'],
  [9949, '9.9 s'],
  [59_949, '59.9 s'],
  [59_950, '1 min 00 s'],
  [60_000, '1 min 00 s'],
  [185_000, '3 min 05 s'],
  [3_599_499, '59 min 59 s'],
  [3_599_500, '1 h 00 min'],
  [7_800_000, '2 h 10 min'],
  [7_859_499, '2 h 10 min'],
  [360_000_000, '100 h 00 min'],
])('%d ms is %s', (ms, expected) => {
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
])('%j takes %d columns', (text, width) => {
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
])('%j in %d columns is %j', (text, columns, expected) => {
  expect(cut(text, columns, '…')).toBe(expected);
});

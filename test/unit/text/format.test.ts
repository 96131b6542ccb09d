import truncatedWidth from 'fast-string-truncated-width';
import { expect, test } from 'vitest';
import { unknownUsage } from '../../../src/ralph/agent-events.ts';
import { costText } from '../../../src/report/figures.ts';
import { truncate } from '../../../src/report/shorten.ts';
import { dayTime, duration, relativeDay, timeAgo, widthOf } from '../../../src/text/format.ts';
import { withoutControls } from '../../../src/text/controls.ts';

test.each([
  [0, '0ms'],
  [0.4, '0ms'],
  [99, '99ms'],
  [99.6, '0.1s'],
  [339, '0.3s'],
  [860, '0.9s'],
  [998, '1s'],
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

const now = new Date(2026, 10, 16, 6, 50);

test.each([
  [new Date(2026, 10, 16, 6, 43), 'today', '06:43'],
  [new Date(2026, 10, 16, 23, 59), 'today', '23:59'],
  [new Date(2026, 10, 15, 22, 10), 'yesterday', 'yesterday 22:10'],
  [new Date(2026, 10, 17, 7, 0), 'tomorrow', 'tomorrow 07:00'],
  [new Date(2026, 10, 14, 7, 5), '2026-11-14', '2026-11-14 07:05'],
])('%s is %s, and shown as %s', (at, day, text) => {
  expect(relativeDay(at, now)).toBe(day);
  expect(dayTime(at, now)).toBe(text);
});

test('the day is left out if it is that of the base', () => {
  const [start, end] = [new Date(2026, 10, 14, 22, 0), new Date(2026, 10, 14, 23, 0)];
  expect(dayTime(end, now, start)).toBe('23:00');
});

test.each([
  [20_000, 'just now'],
  [12 * 60_000, '12m ago'],
  [47 * 3_600_000, '47h ago'],
  [48 * 3_600_000, '2d ago'],
])('%d ms before now is %s', (ms, expected) => {
  expect(timeAgo(new Date(now.getTime() - ms).toISOString(), now)).toBe(expected);
});

test.each([
  [null, ''],
  [0, '$0.00'],
  [0.0055, '<$0.01'],
  [0.0099, '<$0.01'],
  [0.01, '$0.01'],
  [0.0318, '$0.03'],
  [12.4, '$12.40'],
])('a cost of %s is formatted as "%s"', (costUsd, expected) => {
  expect(costText({ ...unknownUsage, costUsd })).toBe(expected);
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

test('the marks that Spool prints occupy one column each, and two as emoji', () => {
  for (const mark of '·×’…→↑↓−─█▉▊▋▌▍▎▏■●○✔✘') expect(truncatedWidth(mark).width, mark).toBe(widthOf(mark));
  expect(widthOf('✔\ufe0f')).toBe(2);
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

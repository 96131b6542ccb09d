import { expect, test } from 'vitest';
import { messageLines } from '../../../src/report/message.ts';

const wide = (columns: number) => ({ isInteractive: true, columns });

test.each([
  ['short', ['short']],
  ['spool: This message is longer than a row', ['spool: This message is', '  longer than a row']],
  ['  To restore the file of the change', ['  To restore the file', '    of the change']],
  ['one\ntwo', ['one', 'two']],
  ['It is paused. Resume with: spool resume 001-01_a', ['It is paused. Resume', '  with:', '  spool resume 001-01_a']],
  ['Nothing there: "spool trust --show" lists it', ['Nothing there:', '  "spool trust --show"', '  lists it']],
  ['● 1.4s · done · 12 files +6 -1 · ab', ['● 1.4s · done ·', '  12 files +6 -1 · ab']],
  ['See /a/path/that/is/wider/than/a/row now', ['See', '  /a/path/that/is/wider/than/a/row', '  now']],
])('%j is wrapped at its words, and its command is not broken', (text, rows) => {
  expect(messageLines(text, wide(22))).toEqual(rows);
});

test('a message is not wrapped unless it is on a terminal', () => {
  const text = 'This message is longer than a row';
  expect(messageLines(text, { isInteractive: false, columns: 10 })).toEqual([text]);
});

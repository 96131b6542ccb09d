import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { renderChoices } from '../../../src/report/choice-list.ts';
import { widthOf } from '../../../src/text/format.ts';

const rows = Array.from({ length: 20 }, (_, index) => ({
  value: `${index}`,
  label: `row-${index}  with a label that is wider than a small window`,
}));

const linesOf = (cursor: number, columns: number, height: number): string[] =>
  renderChoices({ symbol: '◆', title: 'Which change?', rows, cursor, ticked: ['3'] }, { columns, height }).map(
    stripVTControlCharacters,
  );

test.each([1, 2, 3, 4, 5, 6, 8, 24])('in %i lines the highlighted row is shown, and nothing is cut off', (height) => {
  for (const columns of [12, 20, 80])
    for (const cursor of [0, 1, 9, 18, 19]) {
      const lines = linesOf(cursor, columns, height);
      expect(lines.length).toBeLessThanOrEqual(height);
      expect(lines.filter((line) => widthOf(line) >= columns)).toEqual([]);
      expect(lines.filter((line) => line.startsWith(`│> ◻ row-${cursor}`.slice(0, columns - 2)))).toHaveLength(1);
    }
});

test('the keys are left out first, then the bar, then the title', () => {
  const shown = (height: number) => {
    const text = linesOf(0, 80, height).join('\n');
    return [text.includes('Enter: run it'), text.startsWith('│\n'), text.includes('Which change?')];
  };
  expect([6, 5, 3, 1].map(shown)).toEqual([
    [true, true, true],
    [false, true, true],
    [false, false, true],
    [false, false, false],
  ]);
});

test('rows that are left out are marked if there is room', () => {
  expect(linesOf(9, 40, 8)).toEqual([
    '│',
    '◆  Which change?',
    '│  ...',
    '│  ◻ row-8  with a label that is wider…',
    '│> ◻ row-9  with a label that is wider…',
    '│  ...',
    expect.stringMatching(/^└ {2}Enter: run it · /),
    '',
  ]);
});

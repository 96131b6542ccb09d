import { symbolsFor } from '../../../src/report/symbols.ts';
import { array, assert, constant, constantFrom, integer, property, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { type Column, renderTable } from '../../../src/report/table.ts';
import { bar } from '../../../src/text/bar.ts';
import { widthOf } from '../../../src/text/format.ts';

const plain = (columns: number) => ({
  style: (_: string, text: string) => text,
  columns,
  symbols: symbolsFor({ LANG: 'C.UTF-8' }),
});

const columns: Column<readonly string[]>[] = [
  { title: '#', numeric: true, value: ([number = '']) => number },
  { title: 'name', value: ([, name = '']) => name, min: 4 },
  { title: 'cost', numeric: true, value: ([, , cost = '']) => cost, drop: 1 },
  { title: 'remark', value: ([, , , remark = '']) => remark, drop: 2, min: 6 },
];

const rows = [
  ['1', 'alpha', '$1.00', 'a long remark'],
  ['10', 'be', '$20.00', ''],
];

test.each([
  [Infinity, [' #  name     cost  remark', ' 1  alpha   $1.00  a long remark', '10  be     $20.00']],
  [26, [' #  name     cost  remark', ' 1  alpha   $1.00  a long…', '10  be     $20.00']],
  [18, [' #  name     cost', ' 1  alpha   $1.00', '10  be     $20.00']],
  [9, [' #  name', ' 1  alpha', '10  be']],
  [8, [' #  name', ' 1  alp…', '10  be']],
])('a table of %d columns leaves out and shortens what does not fit', (width, expected) => {
  expect(renderTable(columns, rows, plain(width))).toEqual(expected);
});

test('a column without content is left out', () => {
  expect(renderTable(columns, [['1', 'alpha', '', '']], plain(80))).toEqual(['#  name', '1  alpha']);
});

test('no line is wider than the terminal, whatever is in it', () => {
  const cell = string({ unit: constantFrom('a', ' ', '↑', '●', '変', '…', '█'), maxLength: 30 });
  assert(
    property(
      array(tuple(constant('1'), cell, cell, cell), { maxLength: 4 }),
      integer({ min: 1, max: 60 }),
      (some, width) => {
        for (const line of renderTable(columns, some, plain(width))) expect(widthOf(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});

test.each([
  [0, 10, ''],
  [null, 10, ''],
  [5, 0, ''],
  [10, 10, '████'],
  [5, 10, '██'],
  [6, 10, '██▍'],
  [0.001, 10, '▏'],
  [20, 10, '████'],
])('the bar of %s of %d', (value, highest, expected) => {
  expect(bar(value, highest, 4)).toBe(expected);
});

test('a cell with line breaks is one line', () => {
  expect(renderTable(columns, [['1', 'al\npha\r\n', '', '']], plain(80))).toEqual(['#  name', '1  al pha']);
});

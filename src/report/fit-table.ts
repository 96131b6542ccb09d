import { widthOf } from '../text/format.ts';
import { truncate } from './shorten.ts';
import type { Symbols } from './symbols.ts';
import type { Terminal } from './terminal.ts';

/** What a renderer needs of a terminal. `columns` is Infinity if the output is not a terminal. */
export interface Canvas {
  readonly symbols: Symbols;
  readonly style: Terminal['style'];
  readonly columns: number;
}

export interface FitColumn<Row> {
  readonly title: string;
  /** Aligned to the right. */
  readonly numeric?: true;
  readonly value: (row: Row) => string;
  readonly style?: (row: Row) => Parameters<Terminal['style']>[0] | null;
  /** Columns with a higher number are left out first where the terminal is too narrow. Without a number it stays. */
  readonly drop?: number;
  /** May be shortened to this width. */
  readonly min?: number;
}

const gap = '  ';

/** Renders a table that does not wrap: it leaves out columns, then shortens those with a `min`. */
export const fitTable = <Row>(
  columns: readonly FitColumn<Row>[],
  rows: readonly Row[],
  { style, columns: width }: Canvas,
): string[] => {
  const measured = columns
    .map((column) => measure(column, rows))
    // A column without content says nothing.
    .filter(({ cells }) => rows.length === 0 || cells.some((cell) => cell !== ''));
  const kept = fitting(measured, width);
  const line = (cells: readonly string[], styleOf: (column: FitColumn<Row>) => StyleName | null) =>
    cells
      .map((cell, index) => {
        const { column, width: room } = kept[index]!;
        const text = padded(cell, column.numeric ? room : index === kept.length - 1 ? 0 : room, column.numeric);
        const name = styleOf(column);
        return name === null || cell === '' ? text : style(name, text);
      })
      .join(gap)
      .trimEnd();
  return [
    line(
      kept.map(({ column, width: room }) => shortened(column.title, room)),
      () => 'dim',
    ),
    ...rows.map((row, index) =>
      line(
        kept.map(({ cells, width: room }) => shortened(cells[index]!, room)),
        (column) => column.style?.(row) ?? null,
      ),
    ),
  ];
};

type StyleName = Parameters<Terminal['style']>[0];

interface Measured<Row> {
  readonly column: FitColumn<Row>;
  readonly cells: readonly string[];
  /** Of the widest cell. */
  readonly width: number;
}

const measure = <Row>(column: FitColumn<Row>, rows: readonly Row[]): Measured<Row> => {
  const cells = rows.map((row) => column.value(row));
  return { column, cells, width: Math.max(widthOf(column.title), ...cells.map(widthOf)) };
};

const fitting = <Row>(measured: readonly Measured<Row>[], available: number): Measured<Row>[] => {
  const least = ({ column, width }: Measured<Row>) => Math.min(width, column.min ?? width);
  const total = (widths: readonly number[]) =>
    widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
  let kept = [...measured];
  while (total(kept.map(least)) > available) {
    const [first] = kept.filter(({ column }) => column.drop !== undefined).toSorted(byDrop);
    if (first === undefined) break;
    kept = kept.filter((one) => one !== first);
  }
  let spare = available - total(kept.map(least));
  return kept.map((one) => {
    const width = Math.min(one.width, least(one) + Math.max(0, spare));
    spare -= width - least(one);
    return { ...one, width };
  });
};

const byDrop = <Row>(a: Measured<Row>, b: Measured<Row>) => b.column.drop! - a.column.drop!;

const shortened = (cell: string, width: number): string => (widthOf(cell) > width ? truncate(cell, width, '…') : cell);

const padded = (cell: string, width: number, numeric?: true): string => {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return numeric ? blanks + cell : cell + blanks;
};

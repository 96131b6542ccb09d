import { widthOf } from '../text/format.ts';
import type { Canvas } from './canvas.ts';
import { truncate } from './shorten.ts';
import type { Style } from './terminal.ts';

/** A column of a table. */
export interface Column<Row> {
  readonly title?: string;
  /** Aligned to the right. */
  readonly numeric?: true;
  readonly value: (row: Row) => string;
  readonly style?: (row: Row) => Style | null;
  /** Columns with a higher number are left out first where the terminal is too narrow. Without a number it stays. */
  readonly drop?: number;
  /** May be shortened to this width. */
  readonly min?: number;
}

const gap = '  ';

/**
 * Renders a line for each row, below the titles of the columns if there are any. No line is wider than the canvas: columns
 * are left out, then those with a `min` are shortened. A column without content is always left out.
 */
export const renderTable = <Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { style, symbols, columns: available }: Canvas,
): string[] => {
  const shown = fitting(columns.map((column) => measure(column, rows)).filter(hasContent), available);
  const line = (cells: readonly string[], styleOf: (column: Column<Row>) => Style | null) =>
    cells
      .map((cell, index) => {
        const { column, width } = shown[index]!;
        const isLast = index === shown.length - 1;
        const text = aligned(truncate(cell, width, symbols.ellipsis), isLast && !column.numeric ? 0 : width, column);
        const name = styleOf(column);
        return name === null || cell === '' ? text : style(name, text);
      })
      .join(gap)
      .trimEnd();
  const titles = shown.map(({ column }) => column.title ?? '');
  return [
    ...(titles.every((title) => title === '') ? [] : [line(titles, () => 'dim')]),
    ...rows.map((row, index) =>
      line(
        shown.map(({ cells }) => cells[index]!),
        (column) => column.style?.(row) ?? null,
      ),
    ),
  ];
};

interface Measured<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  /** At first that of the widest cell. */
  readonly width: number;
}

const measure = <Row>(column: Column<Row>, rows: readonly Row[]): Measured<Row> => {
  // A name with a line break must not pose as another row.
  const cells = rows.map((row) => column.value(row).replaceAll(/[\n\r\t\u2028\u2029]/g, ' '));
  return { column, cells, width: Math.max(widthOf(column.title ?? ''), ...cells.map(widthOf)) };
};

const hasContent = ({ cells }: Measured<never>): boolean => cells.length === 0 || cells.some((cell) => cell !== '');

const least = ({ column, width }: Measured<never>): number => Math.min(width, column.min ?? width);

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));

/** Returns the columns that are shown, with their widths. */
const fitting = <Row>(measured: readonly Measured<Row>[], available: number): Measured<Row>[] => {
  let shown = [...measured];
  while (totalOf(shown.map(least)) > available) {
    const [first] = shown.filter(({ column }) => column.drop !== undefined).toSorted(byDrop);
    if (first === undefined) return squeezed(shown, available);
    shown = shown.filter((one) => one !== first);
  }
  let spare = available - totalOf(shown.map(least));
  return shown.map((one) => {
    const width = Math.min(one.width, least(one) + spare);
    spare -= width - least(one);
    return { ...one, width };
  });
};

const byDrop = (a: Measured<never>, b: Measured<never>) => b.column.drop! - a.column.drop!;

/** A narrower column is useless. */
const narrowest = 4;

/** Shortens columns below their `min`, those without one last, each time the last one. */
const squeezed = <Row>(measured: readonly Measured<Row>[], available: number): Measured<Row>[] => {
  let shown = measured.map((one) => ({ ...one, width: least(one) }));
  const canShrink = ({ column }: Measured<Row>) => column.min !== undefined;
  const order = [...shown.filter((one) => !canShrink(one)), ...shown.filter(canShrink)].toReversed();
  for (const next of order) {
    const width = next.width - (totalOf(shown.map((one) => one.width)) - available);
    if (width >= next.width) break;
    const isLeftOut = width < Math.min(narrowest, next.width) && shown.length > 1;
    shown = shown.flatMap((one) => {
      if (one.column !== next.column) return [one];
      return isLeftOut ? [] : [{ ...one, width: Math.max(0, width) }];
    });
  }
  return shown;
};

const aligned = (cell: string, width: number, { numeric }: Pick<Column<never>, 'numeric'>): string => {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return numeric ? blanks + cell : cell + blanks;
};

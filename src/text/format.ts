import truncatedWidth from 'fast-string-truncated-width';
import { withoutControls } from './controls.ts';

/** `850 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export const duration = (ms: number): string => {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad2(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${pad2(Math.floor((seconds % 3600) / 60))} min`;
};

/** Local time, to the minute. */
export const localTime = (iso: string): string => {
  const at = new Date(iso);
  return `${at.getFullYear()}-${pad2(at.getMonth() + 1)}-${pad2(at.getDate())} ${pad2(at.getHours())}:${pad2(at.getMinutes())}`;
};

/** `07:00` */
export const clockTime = (at: Date): string => `${pad2(at.getHours())}:${pad2(at.getMinutes())}`;

/** `today`, `yesterday`, or the date. */
export const dayOf = (at: Date, now: Date): string => {
  const daysAgo = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).toDateString();
  if (at.toDateString() === daysAgo(0)) return 'today';
  return at.toDateString() === daysAgo(1) ? 'yesterday' : localTime(at.toISOString()).split(' ')[0]!;
};

export const pluralise = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`;

/** `+12 -3` */
export const lineChanges = ({
  insertions,
  deletions,
}: {
  readonly insertions: number;
  readonly deletions: number;
}): string => `+${insertions} -${deletions}`;

/** A text on one line; `…` shows that it is longer. */
export const oneLine = (text: string, longest = 500): string => {
  const line = withoutControls(text).replaceAll(/\s+/g, ' ');
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};

/** `a, b, c, d, e and 3 more`: the first of `all`, at most so many. */
export const someOf = (names: readonly string[], all = names.length, most = 5): string => {
  const first = names.slice(0, most).map((name) => oneLine(name, 200));
  return `${first.join(', ')}${all > first.length ? ` and ${all - first.length} more` : ''}`;
};

/** How many columns a text takes on a screen. */
export const widthOf = (text: string): number => (isPlain.test(text) ? text.length : truncatedWidth(text).width);

/** Nearly every text; the patterns for the others take a while to be made. */
const isPlain = /^[\u0020-\u007e]*$/;

/** The beginning of a text, in no more than so many columns; `end` shows that something is left out. */
export const truncate = (text: string, columns: number, end = ''): string => {
  const { index, ellipsed, truncated } = truncatedWidth(text, { limit: columns, ellipsis: end });
  if (!truncated) return text;
  return ellipsed || end === '' ? text.slice(0, index) + end : '';
};

/** Columns as wide as their widest cell; numbers to the right. */
export const table = (rows: readonly (readonly string[])[], numeric: readonly number[] = []): string[] => {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, widthOf(cell))),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const blanks = ' '.repeat(widths[column]! - widthOf(cell));
        return numeric.includes(column) ? blanks + cell : cell + blanks;
      })
      .join('  ')
      .trimEnd(),
  );
};

const pad2 = (number: number) => String(number).padStart(2, '0');

import truncatedWidth from 'fast-string-truncated-width';
import { joinLines, widthOf } from '../text/format.ts';

// Reporters receive texts without secrets, so they may shorten them. All other rooms use the methods of `Redactor`.

/** Joins the lines of a text and shortens it to `maxLength` characters. */
export const oneLine = (text: string, maxLength = 500): string => {
  const line = joinLines(text);
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
};

/** Shortens a text to `columns`; `end` is appended when something was cut off. */
export const truncate = (text: string, columns: number, end = ''): string => {
  if (widthOf(text) <= columns) return text;
  const { index, ellipsed } = truncatedWidth(text, { limit: columns, ellipsis: end });
  if (!ellipsed && end !== '') return '';
  const fits = (length: number) => widthOf(text.slice(0, length) + end) <= columns;
  // The index is too high if symbols such as arrows come first.
  return `${text.slice(0, fits(index) ? index : wholeLength(text, longest(index, fits)))}${end}`;
};

/** The greatest number that fits, found by halving: the text may be long. */
const longest = (max: number, fits: (length: number) => boolean): number => {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** Does not cut a character in half. */
const wholeLength = (text: string, length: number): number =>
  isHalf(text.charCodeAt(length - 1)) ? length - 1 : length;

/** Without its last character. */
export const withoutLast = (text: string): string => text.replace(/.$/su, '');

/** Shortens a text to its last characters, at most one per column. */
export const endOf = (text: string, columns: number): string => {
  const characters = [...text];
  return characters.length <= columns ? text : `…${characters.slice(1 - columns).join('')}`;
};

/** Joins as many of the texts as fit, the first ones at least. Empty ones are left out. */
export const joinFitting = (
  texts: readonly string[],
  { separator, columns }: { readonly separator: string; readonly columns: number },
): string => {
  const shown = texts.filter(Boolean);
  while (shown.length > 1 && widthOf(shown.join(separator)) > columns) shown.pop();
  return shown.join(separator);
};

/** The first rows that a text fills on a terminal, and the rest, which fills no row. */
export const fullRows = (text: string, columns: number): { readonly rows: string[]; readonly rest: string } => {
  const rows: string[] = [];
  let rest = text;
  while (rest !== '') {
    const row = rowOf(rest, columns);
    if (row.length === rest.length) break;
    rows.push(row);
    rest = rest.slice(row.length);
  }
  return { rows, rest };
};

/** At least one character, however narrow the terminal, and never half of one. */
const rowOf = (text: string, columns: number): string => {
  // Wider than any row, and short enough to be measured for each.
  const start = text.slice(0, 2 * columns + 2);
  let length = truncate(start, columns).length;
  if (isHalf(start.charCodeAt(length - 1))) length++;
  // The library cuts too early in a row of rare Chinese characters.
  for (;;) {
    const next = length + (isHalf(start.charCodeAt(length)) ? 2 : 1);
    if (length > 0 && (next > start.length || widthOf(start.slice(0, next)) > columns)) return start.slice(0, length);
    length = next;
  }
};

/** The first half of a surrogate pair. */
const isHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

import truncatedWidth from 'fast-string-truncated-width';
import { joinLines } from '../text/format.ts';

// Reporters receive texts without secrets, so they may shorten them. All other rooms use the methods of `Redactor`.

/** Joins the lines of a text and shortens it to `maxLength` characters. */
export const oneLine = (text: string, maxLength = 500): string => {
  const line = joinLines(text);
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
};

/** Shortens a text to `columns`; `end` is appended when something was cut off. */
export const truncate = (text: string, columns: number, end = ''): string => {
  const { index, ellipsed, truncated } = truncatedWidth(text, { limit: columns, ellipsis: end });
  if (!truncated) return text;
  return ellipsed || end === '' ? text.slice(0, index) + end : '';
};

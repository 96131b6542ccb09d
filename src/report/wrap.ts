import { widthOf } from '../text/format.ts';
import type { Style } from './terminal.ts';

/** A piece of a line; null is unstyled. */
export interface Span {
  readonly text: string;
  readonly style: Style | null;
}

/**
 * Wraps a line at its spaces. A word that is wider than a row gets a row of its own, and the terminal wraps it, so that
 * it can be copied. `indent` precedes all rows but the first.
 */
export const wrapSpans = (spans: readonly Span[], columns: number, indent = ''): Span[][] => {
  const width = spans.reduce((sum, { text }) => sum + widthOf(text), 0);
  if (width <= columns) return [[...spans]];
  const rows: Span[][] = [[]];
  let used = 0;
  const newRow = () => {
    rows.push(indent === '' ? [] : [{ text: indent, style: null }]);
    used = indent.length;
  };
  let blanks: Span | null = null;
  for (const word of words(spans)) {
    if (word.length === 1 && word[0]!.text.trim() === '') {
      blanks = word[0]!;
      continue;
    }
    const needed = word.reduce((sum, { text }) => sum + widthOf(text), 0);
    const before: number = blanks === null ? 0 : blanks.text.length;
    if (used + before + needed > columns && used > (rows.length === 1 ? 0 : indent.length)) newRow();
    else if (blanks !== null) {
      rows.at(-1)!.push(blanks);
      used += before;
    }
    rows.at(-1)!.push(...word);
    used += needed;
    blanks = null;
  }
  return rows;
};

/** Blanks, and words, which may consist of several spans. */
const words = (spans: readonly Span[]): Span[][] => {
  const found: Span[][] = [];
  let open = false;
  for (const { text, style } of spans)
    for (const part of text.split(/( +)/)) {
      if (part === '') continue;
      const isBlank = part.startsWith(' ');
      if (open && !isBlank) found.at(-1)!.push({ text: part, style });
      else found.push([{ text: part, style }]);
      open = !isBlank;
    }
  return found;
};

/** Wraps a text without styles. */
export const wrap = (text: string, columns: number, indent = ''): string[] =>
  wrapSpans([{ text, style: null }], columns, indent).map((row) => row.map((span) => span.text).join(''));

/** A piece of a line; null is unstyled. */
export interface Span<Style> {
  readonly text: string;
  readonly style: Style | null;
}

export interface WrapOptions {
  /** The number of columns that a text takes. A parameter, as the library that measures any text is slow to load. */
  readonly widthOf: (text: string) => number;
  /** Precedes all rows but the first. */
  readonly indent?: string;
}

/**
 * Wraps a line at its spaces. A word that is wider than a row gets a separate row, and the terminal wraps it, so that
 * it can be copied.
 */
export const wrapSpans = <Style>(
  spans: readonly Span<Style>[],
  columns: number,
  { widthOf, indent = '' }: WrapOptions,
): Span<Style>[][] => {
  const width = spans.reduce((sum, { text }) => sum + widthOf(text), 0);
  if (width <= columns) return [[...spans]];
  const rows: Span<Style>[][] = [[]];
  let used = 0;
  const newRow = () => {
    rows.push(indent === '' ? [] : [{ text: indent, style: null }]);
    used = indent.length;
  };
  let blanks: Span<Style> | null = null;
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
const words = <Style>(spans: readonly Span<Style>[]): Span<Style>[][] => {
  const found: Span<Style>[][] = [];
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
export const wrapText = (text: string, columns: number, options: WrapOptions): string[] =>
  wrapSpans([{ text, style: null }], columns, options).map((row) => row.map((span) => span.text).join(''));

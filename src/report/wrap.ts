import { widthOf } from '../text/format.ts';
import { wrapSpans as wrapMeasured, wrapText, type Span as AnySpan } from '../text/wrap.ts';
import type { Style } from './terminal.ts';

/** A piece of a line on a terminal. */
export type Span = AnySpan<Style>;

export const wrapSpans = (spans: readonly Span[], columns: number, indent: string): Span[][] =>
  wrapMeasured(spans, columns, { widthOf, indent });

/** Wraps a text without styles. `indent` precedes all rows but the first. */
export const wrap = (text: string, columns: number, indent = ''): string[] =>
  wrapText(text, columns, { widthOf, indent });

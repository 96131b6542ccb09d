import type { Symbols } from './symbols.ts';
import type { Span } from './wrap.ts';

/** A line of a message, as it is shown. */
export interface MarkdownLine {
  readonly spans: readonly Span[];
  /** What precedes its further rows; null for code, which is not wrapped. */
  readonly indent: string | null;
}

/** A longer line is not prose. */
const longestProse = 10_000;

/** Returns a function that renders the lines of one message, in order. */
export const createMarkdown = ({ bullet }: Pick<Symbols, 'bullet'>): ((line: string) => MarkdownLine) => {
  /** The marks that opened a code block; empty outside of one. */
  let fence = '';
  return (line) => {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== '') {
      if (marks.startsWith(fence) && line.trim() === marks) fence = '';
      return code(line);
    }
    // Three backticks on one line may also be code in a sentence.
    if (marks !== '' && !line.slice(line.indexOf(marks) + marks.length).includes('`')) {
      fence = marks;
      return code(line);
    }
    if (line.length > longestProse || line.includes('\t'))
      return { spans: [{ text: line, style: null }], indent: null };
    const heading = /^ {0,3}#{1,6} +(?=\S)/.exec(line)?.[0];
    if (heading !== undefined) {
      const bold = inline(line.slice(heading.length)).map(
        (span) => ({ ...span, style: span.style ?? 'bold' }) as const,
      );
      return { spans: bold, indent: '' };
    }
    const item = /^( *)([-*+]|\d{1,9}[.)]) +(?=\S)/.exec(line);
    if (item === null) return { spans: inline(line), indent: /^ */.exec(line)![0] };
    const [whole, indent = '', mark = ''] = item;
    const shown = '-*+'.includes(mark) ? bullet : mark;
    const start = `${indent}${shown} `;
    return {
      spans: [{ text: start, style: null }, ...inline(line.slice(whole.length))],
      indent: ' '.repeat(start.length),
    };
  };
};

const code = (text: string): MarkdownLine => ({ spans: [{ text, style: 'dim' }], indent: null });

/** Styles `code` and **bold** text. All other marks are shown as they are, and so are those without a counterpart. */
const inline = (text: string): Span[] => {
  const spans: Span[] = [];
  let plainFrom = 0;
  let at = 0;
  const take = (end: number, next: number, styled: readonly Span[]) => {
    if (end > plainFrom) spans.push({ text: text.slice(plainFrom, end), style: null });
    spans.push(...styled);
    plainFrom = next;
    at = next;
  };
  /** Once no end is found, there is none for a later start either. */
  let [noCode, noBold] = [false, false];
  while (at < text.length) {
    if (text[at] === '`' && !noCode) {
      const end = text[at + 1] === '`' ? -2 : text.indexOf('`', at + 1);
      noCode = end === -1;
      if (end > at) take(at, end + 1, [{ text: text.slice(at + 1, end), style: 'cyan' }]);
      else at += end === -2 ? runLength(text, at) : 1;
      continue;
    }
    if (!noBold && text.startsWith('**', at)) {
      const end = startsBold(text, at) ? boldEnd(text, at + 3) : -2;
      noBold = end === -1;
      if (end > at) take(at, end + 2, boldSpans(text.slice(at + 2, end)));
      else at += end === -2 ? runLength(text, at) : 2;
      continue;
    }
    at++;
  }
  take(text.length, text.length, []);
  return spans;
};

const boldSpans = (text: string): Span[] =>
  text.includes('`')
    ? inline(text).map(({ text: part, style }) => ({ text: part, style: style ?? 'bold' }))
    : [{ text, style: 'bold' }];

/** The number of equal characters from here on. */
const runLength = (text: string, start: number): number => {
  let end = start;
  while (text[end] === text[start]) end++;
  return end - start;
};

const isLetter = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}]/u.test(char);

/** `**` before a word, and not in the middle of one, as in `a**b` or `src/**`. */
const startsBold = (text: string, at: number): boolean =>
  !isLetter(text[at - 1]) && !'/\\'.includes(text[at - 1] ?? ' ') && /[^\s*/]/.test(text[at + 2] ?? ' ');

/** Returns the position of the next `**` that can end bold text, or -1. */
const boldEnd = (text: string, from: number): number => {
  for (let end = text.indexOf('**', from); end !== -1; end = text.indexOf('**', end + 2))
    if (/[^\s*/]/.test(text[end - 1]!) && !isLetter(text[end + 2])) return end;
  return -1;
};

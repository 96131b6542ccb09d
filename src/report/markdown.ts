import { inlineMarkdown as inline } from '../text/inline-markdown.ts';
import type { Symbols } from './symbols.ts';
import type { Span } from './wrap.ts';

/** A line of a message, as it is shown. */
export interface MarkdownLine {
  readonly spans: readonly Span[];
  /** What precedes its further rows; null for code, which is not wrapped. */
  readonly indent: string | null;
}

/** A longer line is not prose. */
const maxProse = 10_000;

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
    if (line.length > maxProse || line.includes('\t')) return { spans: [{ text: line, style: null }], indent: null };
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

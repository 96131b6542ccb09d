/** A piece of a line, as it is shown: `cyan` is code. */
export interface MarkdownSpan {
  readonly text: string;
  readonly style: 'bold' | 'cyan' | null;
}

/** Styles `code` and **bold** text. All other marks are shown as they are, and so are those without a counterpart. */
export const inlineMarkdown = (text: string): MarkdownSpan[] => {
  const spans: MarkdownSpan[] = [];
  let plainFrom = 0;
  let at = 0;
  const take = (end: number, next: number, styled: readonly MarkdownSpan[]) => {
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

const boldSpans = (text: string): MarkdownSpan[] =>
  text.includes('`')
    ? inlineMarkdown(text).map(({ text: part, style }) => ({ text: part, style: style ?? 'bold' }))
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

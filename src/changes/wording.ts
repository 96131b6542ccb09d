import { withoutMark } from './tasks/parse.ts';

/**
 * The words of a Markdown text, without anything that ticks, an editor or a formatter change: the marks of headings,
 * lists and emphasis, rules, line endings and the width of tables. Words in code are unchanged.
 */
export const wordingOf = (markdown: string): string => {
  const lines = markdown.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  const tables = rowsOfTables(lines);
  const words: string[] = [];
  let fence: Fence | null = null;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const marks = /^(?:\s|>|[-*+]\s|\d+[.)]\s)*?(`{3,}(?=[^`]*$)|~{3,})(.*)$/s.exec(line);
    if (fence !== null) {
      const closes = marks !== null && marks[1]!.startsWith(fence.mark) && marks[2]!.trim() === '';
      words.push(closes ? '```' : fence.isFormatted ? plainCode(line) : oneBlank(line.replace(/^(?:\s*>)+/, '')));
      if (closes) fence = null;
      continue;
    }
    if (marks !== null) {
      fence = { mark: marks[1]!, isFormatted: formatted.test(marks[2]!.trim()) };
      words.push(plainText(line.slice(0, line.indexOf(marks[1]!))), `\`\`\`${marks[2]!.trim()}`);
      continue;
    }
    words.push(plainText(tables.has(index) ? withoutBars(line) : line));
  }
  return words.filter((each) => each !== '').join(' ');
};

interface Fence {
  readonly mark: string;
  /** Whether Markdown formatters also format code in this language. */
  readonly isFormatted: boolean;
}

const formatted =
  /^(?:jsx?|javascript|mjs|cjs|tsx?|typescript|mts|cts|json[5c]?|css|scss|less|html|vue|ya?ml|graphql|gql|md|markdown)\b/i;

/** Code without what a formatter changes, including line breaks. */
const plainCode = (line: string): string => [...line.replaceAll(/[\s;,]/g, '').replaceAll(/['`]/g, '"')].join(' ');

const oneBlank = (line: string) => line.replaceAll(/\s+/g, ' ').trim();

const rowBelowHeader = /^[\s>]*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/;

/** The indexes of table rows: the line above the dashes, and all lines below them up to a blank one. */
const rowsOfTables = (lines: readonly string[]): ReadonlySet<number> => {
  const rows = new Set<number>();
  for (const [index, line] of lines.entries()) {
    const isTable = line.includes('|') && rowBelowHeader.test(line) && lines[index - 1]?.includes('|');
    if (!isTable || rows.has(index)) continue;
    rows.add(index - 1);
    for (let row = index; row < lines.length && lines[row]!.trim() !== ''; row++) rows.add(row);
  }
  return rows;
};

const withoutBars = (line: string): string => (rowBelowHeader.test(line) ? '' : line.replaceAll(/(?<!\\)\|/g, ' '));

const plainText = (line: string): string => {
  const text = line.replace(/^(?:\s*>)+/, '');
  // Rules, and underlines of headings.
  if (/^\s*(?:=+\s*|-+\s*|(?:[-*_]\s*){3,})$/.test(text)) return '';
  return oneBlank(
    withoutHeading(withoutMark(text).replace(/^(?:\s*(?:[-*+]|\d{1,9}[.)])(?=\s))+/, '-'))
      .replaceAll(/\\([!-/:-@[-`{-~])/g, '$1')
      .replaceAll(/-{3,}/g, '---')
      .replaceAll('_', '*')
      .replaceAll("'", '"'),
  );
};

/** Without the marks before and after the words of a heading. */
const withoutHeading = (text: string): string => {
  const marks = /^(-?\s*)#{1,6}(?=\s|$)/.exec(text);
  if (marks === null) return text;
  const words = text.slice(marks[0].length).trimEnd();
  return marks[1]! + words.replace(/(?<=\s)#+$/, '');
};

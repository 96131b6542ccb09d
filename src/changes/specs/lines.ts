/** A line of a Markdown file. */
export interface Line {
  /** Without its line ending, and without a byte order mark. */
  readonly text: string;
  /** As in the file. The lines of a file, joined, are the file. */
  readonly raw: string;
  /** Starts at 1. */
  readonly number: number;
  /** Whether it belongs to a code block, whose headings are no headings. */
  readonly isCode: boolean;
}

/** A code block that is not closed extends to the end of the file. */
export const readLines = (text: string): Line[] => scan(text).lines;

/** The number of the line that opens a code block which is not closed; null if there is none. */
export const openBlockIn = (text: string): number | null => scan(text).openBlock;

const scan = (text: string): { readonly lines: Line[]; readonly openBlock: number | null } => {
  const parts = text.split(/(\r\n?|\n)/);
  const lines: Line[] = [];
  let fence: string | null = null;
  let openedAt = 0;
  for (let at = 0; at < parts.length; at += 2) {
    const raw = `${parts[at]}${parts[at + 1] ?? ''}`;
    if (raw === '') continue;
    const content = at === 0 ? parts[at]!.replace(/^\uFEFF/, '') : parts[at]!;
    const mark = fenceMark(content);
    const closes: boolean = fence !== null && mark !== null && mark.rest === '' && mark.fence.startsWith(fence);
    lines.push({ text: content, raw, number: at / 2 + 1, isCode: fence !== null || mark !== null });
    if (closes) fence = null;
    else if (fence === null && mark !== null) {
      fence = mark.fence;
      openedAt = at / 2 + 1;
    }
  }
  return { lines, openBlock: fence === null ? null : openedAt };
};

/** The mark that opens or closes a code block, and the text behind it. */
const fenceMark = (text: string): { readonly fence: string; readonly rest: string } | null => {
  const found = /^\s*(`{3,}(?=[^`]*$)|~{3,}(?!~))/.exec(text);
  return found && { fence: found[1]!, rest: text.slice(found[0].length).trim() };
};

/** The text with blanks instead of comments, so that its lines stay where they are. An open one extends to the end. */
export const withoutComments = (text: string): string =>
  text.replaceAll(/<!--[\s\S]*?(?:--!?>|$)/g, (comment) => comment.replaceAll(/[^\r\n]/g, ' '));

export const isBlank = ({ text }: Line): boolean => text.trim() === '';

export const rawOf = (lines: readonly Line[]): string => lines.map(({ raw }) => raw).join('');

/** Without the blank lines at the end. */
export const withoutBlankEnd = (lines: readonly Line[]): readonly Line[] =>
  lines.slice(0, lines.findLastIndex((line) => !isBlank(line)) + 1);

/** The texts of lines without blank ones at the end, and at most one in a row outside of code. */
export const tidyTexts = (lines: readonly Line[]): string[] =>
  withoutBlankEnd(lines)
    .filter((line, index, all) => line.isCode || !isBlank(line) || !(index > 0 && isBlank(all[index - 1]!)))
    .map((line) => (isBlank(line) && !line.isCode ? '' : line.text));

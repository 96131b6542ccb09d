interface Line {
  readonly index: number;
  readonly line: string;
}

export interface ShownLine extends Line {
  /** Whether it belongs to a code block, with the lines that open and close it. */
  readonly isCode: boolean;
}

/** The lines outside of fences and comments. Unclosed ones are ignored, so that they cannot hide a task. */
export const visibleLines = (markdown: string): Line[] =>
  shownLines(markdown).flatMap(({ index, line, isCode }) => (isCode ? [] : [{ index, line }]));

/** The lines outside of comments. */
export const shownLines = (markdown: string): ShownLine[] => {
  const all = linesOf(markdown);
  const fences = all.map(fenceAt);
  const lastEnd = all.findLastIndex((line) => line.includes('-->'));
  const endOf = createFenceEnds(fences);
  let codeUpTo = -1;
  let inComment = false;
  return all.flatMap((line, index): ShownLine[] => {
    if (index <= codeUpTo) return [{ index, line, isCode: true }];
    if (inComment) {
      const end = line.indexOf('-->');
      if (end === -1) return [];
      inComment = false;
      return [{ index, line: withoutComments(line.slice(end + 3)), isCode: false }];
    }
    const fence = fences[index];
    if (fence) {
      codeUpTo = endOf(fence, index);
      return [{ index, line, isCode: true }];
    }
    const shown = withoutComments(line);
    inComment = /^\s*<!--/.test(shown) && index < lastEnd;
    return inComment ? [] : [{ index, line: shown, isCode: false }];
  });
};

/** The lines of a text, without a byte order mark. */
export const linesOf = (markdown: string): string[] => markdown.replace(/^\uFEFF/, '').split(/\r\n?|\n/);

interface Fence {
  readonly marks: string;
  /** The text after the marks, such as a language. A fence with one does not close another. */
  readonly info: string;
}

export const fenceAt = (line: string): Fence | null => {
  const found = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})(.*)$/s.exec(line);
  return found && { marks: found[1]!, info: found[2]!.trim() };
};

/** Returns the line on which a fence ends, or its own if it is unclosed. Must be called from the first line to the last. */
export const createFenceEnds = (fences: readonly (Fence | null)[]) => {
  /** The lengths of unclosed fences by character: a later fence of that length is unclosed too. */
  const unclosed = new Map<string, number>();
  return ({ marks }: Fence, start: number): number => {
    const char = marks[0]!;
    if (marks.length >= (unclosed.get(char) ?? Infinity)) return start;
    const ends = (other: Fence | null) =>
      other !== null && other.info === '' && other.marks[0] === char && other.marks.length >= marks.length;
    for (let index = start + 1; index < fences.length; index++) if (ends(fences[index]!)) return index;
    unclosed.set(char, marks.length);
    return start;
  };
};

/** Removes comments that end on the same line. Text in backticks is not a comment. */
const withoutComments = (line: string): string => {
  if (!line.includes('<!--')) return line;
  const closing = createClosing(line);
  let shown = '';
  let at = 0;
  for (const { 0: opener, index } of line.matchAll(/`+|<!--/g)) {
    if (index < at) continue;
    const isComment = opener === '<!--';
    const end = isComment ? line.indexOf('-->', index + opener.length) : closing(opener.length, index);
    if (end === -1 && isComment) break;
    if (end === -1) continue;
    const upTo = end + (isComment ? '-->'.length : opener.length);
    shown += line.slice(at, isComment ? index : upTo);
    at = upTo;
  }
  return shown + line.slice(at);
};

/** Returns the start of the next run of `length` backticks, or -1. Must be called from left to right. */
export const createClosing = (line: string) => {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of [...line.matchAll(/`+/g)].toReversed()) {
    if (!runs.has(run.length)) runs.set(run.length, []);
    runs.get(run.length)!.push(index);
  }
  return (length: number, after: number): number => {
    const all = runs.get(length) ?? [];
    while (all.length > 0 && all.at(-1)! <= after) all.pop();
    return all.at(-1) ?? -1;
  };
};

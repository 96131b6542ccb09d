export interface Task {
  readonly title: string;
  readonly done: boolean;
  /** Marked with a star, as in `- [ ]* title`: listed, but neither counted nor open. */
  readonly optional: boolean;
}

/**
 * Parses the tasks of a task file in either of two forms:
 * - boxes: list items with `[ ]`, `[]` or `[ ]title`. Only `[x]` and `[X]` are done; any other mark is open. A box with
 *   required boxes indented below it is their heading, not a task.
 * - "### Task 1.1: title" sections with a line `**Status**: [x] …`, where `[-]` (shelved) is closed too. Boxes in such a
 *   section are details. "### 1.1: title" is such a section if it has a status.
 * A "### Task" section without a status counts by its boxes, or as one open task if it has none. Code fences and
 * comments are ignored if they are closed.
 */
export const parseTasks = (markdown: string): Task[] =>
  itemsIn(markdown)
    .filter((item) => !item.isHeading)
    .map(({ title, done, shelved, optional }) => ({ title, done: done || shelved, optional }));

/** The titles that must be neither reworded nor removed: all required tasks and the boxes above them. */
export const taskTitles = (markdown: string): string[] =>
  itemsIn(markdown)
    .filter(({ optional, shelved, title }) => !optional && !shelved && title !== '')
    .map(({ title }) => title);

export const countTasks = (tasks: readonly Task[]) => {
  const required = tasks.filter(({ optional }) => !optional);
  return { done: required.filter(({ done }) => done).length, total: required.length };
};

/** Returns the titles of the tasks that were open, or missing, and are done now. */
export const newlyDone = (before: readonly Task[], now: readonly Task[]): string[] => {
  const done = before.filter((task) => task.done).map(({ title }) => title);
  return now
    .filter((task) => task.done)
    .map(({ title }) => title)
    .filter((title) => {
      const known = done.indexOf(title);
      if (known !== -1) done.splice(known, 1);
      return known === -1;
    });
};

export const openTasks = (tasks: readonly Task[]): Task[] => tasks.filter(({ done, optional }) => !done && !optional);

interface Item {
  readonly title: string;
  readonly done: boolean;
  readonly optional: boolean;
  /** Closed by a user's decision, but not done. */
  readonly shelved: boolean;
  /** Whether there are required boxes below it. */
  readonly isHeading: boolean;
}

const itemsIn = (markdown: string): Item[] => {
  const found = sections(visibleLines(markdown).map(({ line }) => line));
  const anyStatus = found.some(({ heading, lines }) => heading !== null && statusIn(lines) !== undefined);
  return found.flatMap((section) => itemsOf(section, anyStatus));
};

interface Section {
  readonly heading: string | null;
  /** Whether the heading says "Task". A number alone is a plain heading unless any section has a status. */
  readonly named: boolean;
  readonly lines: string[];
}

const itemsOf = ({ heading, named, lines }: Section, anyStatus: boolean): Item[] => {
  const boxes = boxesIn(lines);
  if (heading === null) return boxes;
  const status = statusIn(lines);
  const task = { title: heading, optional: false, isHeading: false };
  if (status !== undefined) return [{ ...task, done: isDone(status), shelved: status === '-' }];
  if (boxes.length > 0 || !(named || anyStatus)) return boxes;
  return [{ ...task, done: false, shelved: false }];
};

export const statusIn = (lines: readonly string[]): string | undefined =>
  lines.map(statusOf).find((mark) => mark !== undefined);

const statusOf = (line: string): string | undefined => {
  const found = /\*\*Status:?\*\*:?\s*\[\s*(?:([^\]\s])\s*)?\]/iu.exec(line);
  return found ? (found[1] ?? '') : undefined;
};

/** Including quotes, and the first item of a nested list. */
const bullet = String.raw`[\s>]*(?:[-*+]\s+)*(?:[-*+]|\d{1,9}[.)])\s*`;
/** A mark is one character with its combining marks. `[A](url)` and `[A][ref]` are links. */
const mark = String.raw`\[(?:\s*([^\]\s]\p{M}*)\s*\](?![([])|\](?![([])|\s+\])`;
const box = new RegExp(String.raw`^${bullet}${mark}(\*(?=\s|$))?\s*(.*)$`, 'su');
const boxStart = new RegExp(`^(${bullet})${mark}`, 'u');

export const isBox = (line: string): boolean => boxStart.test(line);

/** Empties the box of a line; any other line is returned unchanged. */
export const withoutMark = (line: string): string => line.replace(boxStart, '$1[ ]');

/** The minimum indentation of nested boxes. */
const step = 2;

const boxesIn = (lines: readonly string[]): Item[] => {
  const items: { -readonly [Key in keyof Item]: Item[Key] }[] = [];
  const above: { indent: number; item: (typeof items)[number] }[] = [];
  for (const line of lines) {
    if (line.trim() === '') continue;
    const found = box.exec(line);
    const indent = columnsOf(/^[\s>]*/.exec(line)![0]);
    while (above.length > 0 && above.at(-1)!.indent > indent - (found ? step : 1)) above.pop();
    if (!found) continue;
    const [, marked = '', star, title = ''] = found;
    const optional = star !== undefined || (above.at(-1)?.item.optional ?? false);
    const item = { title: title.trim(), done: isDone(marked), optional, shelved: false, isHeading: false };
    for (const parent of above) parent.item.isHeading ||= !optional || parent.item.optional;
    items.push(item);
    above.push({ indent, item });
  }
  return items;
};

const columnsOf = (blanks: string): number =>
  [...blanks].reduce((columns, blank) => (blank === '\t' ? columns - (columns % 4) + 4 : columns + 1), 0);

const isDone = (mark: string) => mark === 'x' || mark === 'X';

/** Splits at headings: a task starts a section, any other heading of its level or above ends it. */
const sections = (lines: readonly string[]): Section[] => {
  const found: Section[] = [{ heading: null, named: false, lines: [] }];
  for (const line of lines) {
    const task = /^###\s+Task\b[\s:]*(.*)$/is.exec(line);
    const numbered = /^###\s+(\d+(?:\.\d+)*:\s.*)$/.exec(line);
    const heading = task ?? numbered;
    if (heading) found.push({ heading: heading[1]!.trim(), named: task !== null, lines: [] });
    else if (/^#{1,3}\s/.test(line)) found.push({ heading: null, named: false, lines: [] });
    else found.at(-1)!.lines.push(line);
  }
  return found;
};

const linesOf = (markdown: string): string[] => markdown.replace(/^\uFEFF/, '').split(/\r\n?|\n/);

interface Line {
  readonly index: number;
  readonly line: string;
}

/** The text without comments, except those in code. */
export const withoutCommentsIn = (markdown: string): string =>
  visibleLines(markdown, { withCode: true })
    .map(({ line }) => line)
    .join('\n');

/** The lines outside of fences and comments. Unclosed ones are ignored, so that they cannot hide a task. */
export const visibleLines = (markdown: string, { withCode = false } = {}): Line[] => {
  const all = linesOf(markdown);
  const fences = all.map(fenceAt);
  const lastEnd = all.findLastIndex((line) => line.includes('-->'));
  const endOf = createFenceEnds(fences);
  let hiddenUpTo = -1;
  let inComment = false;
  return all.flatMap((line, index) => {
    if (index <= hiddenUpTo) return [];
    if (inComment) {
      const end = line.indexOf('-->');
      if (end === -1) return [];
      inComment = false;
      return [{ index, line: withoutComments(line.slice(end + 3)) }];
    }
    const fence = fences[index];
    if (fence) {
      hiddenUpTo = endOf(fence, index);
      return withCode ? all.slice(index, hiddenUpTo + 1).map((code, at) => ({ index: index + at, line: code })) : [];
    }
    const shown = withoutComments(line);
    inComment = /^\s*<!--/.test(shown) && index < lastEnd;
    return inComment ? [] : [{ index, line: shown }];
  });
};

/**
 * The text without what agents may change in a task file: lines with boxes, and the marks of statuses. Boxes in code and
 * in comments are not tasks, so they stay. `isTask` tells which other lines are tasks.
 */
export const withoutTasks = (markdown: string, isTask: (line: string) => boolean = () => false): string => {
  const lines = linesOf(markdown);
  for (const { index, line } of visibleLines(markdown)) {
    if (isBox(line) || isTask(line)) lines[index] = '';
    else if (statusOf(line) !== undefined) lines[index] = line.replace(/(\*\*Status:?\*\*:?\s*\[).*$/isu, '$1');
  }
  return lines.join('\n');
};

interface Fence {
  readonly marks: string;
  /** The text after the marks, such as a language. A fence with one does not close another. */
  readonly info: string;
}

const fenceAt = (line: string): Fence | null => {
  const found = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})(.*)$/s.exec(line);
  return found && { marks: found[1]!, info: found[2]!.trim() };
};

/** Returns the line on which a fence ends, or its own if it is unclosed. Must be called from the first line to the last. */
const createFenceEnds = (fences: readonly (Fence | null)[]) => {
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
const createClosing = (line: string) => {
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

/** Returns the expected tasks that are missing. A note, a tick or a number added to a title does not change the task. */
export const missingTasks = (expected: readonly string[], titles: readonly string[]): string[] => {
  const left = new Map<string, number>();
  for (const title of titles.map(plainTitle)) left.set(title, (left.get(title) ?? 0) + 1);
  const take = (title: string): boolean => {
    const times = left.get(title) ?? 0;
    if (times > 0) left.set(title, times - 1);
    return times > 0;
  };
  const gone = expected.filter((title) => !take(plainTitle(title)));
  const sorted = [...left.keys()].toSorted();
  return gone.filter((title) => {
    const plain = plainTitle(title);
    for (let index = firstFrom(sorted, plain); sorted[index]?.startsWith(plain); index++)
      if (/^[^\p{L}\p{N}]/u.test(sorted[index]!.slice(plain.length)) && take(sorted[index]!)) return false;
    return true;
  });
};

/** The index of the first entry of a sorted list that is not less than a text. */
const firstFrom = (sorted: readonly string[], text: string): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Without what an editor, a tick or reordering may change: marks, white space, emoji and a leading number. */
const plainTitle = (title: string) =>
  title
    .replaceAll(/[*_~`]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\p{So}\p{Sk}\u{FE0F}\u{200D}\s]+/u, '')
    .replace(/^(?:\d+(?:\.\d+)+[.):]?|\d+[.):])\s+/, '')
    .trim();

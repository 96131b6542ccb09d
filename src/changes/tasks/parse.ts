import type { Task } from './task.ts';
import { linesOf, visibleLines } from './visible-lines.ts';

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

/** The boxes with required boxes below them, which `parseTasks` leaves out. */
export const parentTasks = (markdown: string): Task[] =>
  itemsIn(markdown)
    .filter(({ isHeading }) => isHeading)
    .map(({ title, done, optional }) => ({ title, done, optional }));

/** The titles of all open boxes, wherever they are, including optional ones and those that are details of a task. */
export const openBoxes = (markdown: string): string[] =>
  visibleLines(markdown).flatMap(({ line }) => {
    const [, marked = '', , title = ''] = matchBox(line) ?? [];
    return title === '' || isDone(marked) ? [] : [title.trim()];
  });

/** The titles that must be neither reworded nor removed: all required tasks and the boxes above them. */
export const taskTitles = (markdown: string): string[] =>
  itemsIn(markdown)
    .filter(({ optional, shelved, title }) => !optional && !shelved && title !== '')
    .map(({ title }) => title);

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
  if (!line.includes('**')) return undefined;
  const found = /\*\*Status:?\*\*:?\s*\[\s*(?:([^\]\s])\s*)?\]/iu.exec(line);
  return found ? (found[1] ?? '') : undefined;
};

/** Including quotes, and the first item of a nested list. */
const bullet = String.raw`[\s>]*(?:[-*+]\s+)*(?:[-*+]|\d{1,9}[.)])\s*`;

/** A mark is one character with its combining marks. `[A](url)` and `[A][ref]` are links. */
const boxPatterns = (combining: string) => {
  const mark = String.raw`\[(?:\s*([^\]\s]${combining})\s*\](?![([])|\](?![([])|\s+\])`;
  return {
    box: new RegExp(String.raw`^${bullet}${mark}(\*(?=\s|$))?\s*(.*)$`, 'su'),
    start: new RegExp(`^(${bullet})${mark}`, 'u'),
  };
};

const inAscii = boxPatterns('');
let inUnicode: typeof inAscii | null = null;

/** A pattern with a class of Unicode is slow to create, and most lines are ASCII. */
const patternsFor = (line: string): typeof inAscii =>
  /^[\t -~]*$/.test(line) ? inAscii : (inUnicode ??= boxPatterns(String.raw`\p{M}*`));

const matchBox = (line: string): RegExpExecArray | null => patternsFor(line).box.exec(line);

export const isBox = (line: string): boolean => patternsFor(line).start.test(line);

/** Empties the box of a line; any other line is returned unchanged. */
export const withoutMark = (line: string): string => line.replace(patternsFor(line).start, '$1[ ]');

/** The minimum indentation of nested boxes. */
const step = 2;

const boxesIn = (lines: readonly string[]): Item[] => {
  const items: { -readonly [Key in keyof Item]: Item[Key] }[] = [];
  const above: { indent: number; item: (typeof items)[number] }[] = [];
  for (const line of lines) {
    if (line.trim() === '') continue;
    const found = matchBox(line);
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

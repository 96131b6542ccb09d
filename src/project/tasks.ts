export interface Task {
  readonly title: string;
  readonly done: boolean;
}

/**
 * The tasks in a tasks.md, in either of its two forms:
 * - boxes: list items with `[ ]`; only `[x]` and `[X]` are done, any other mark is open;
 * - "### Task 1.1: title" sections with a line `**Status**: [x] …`. Boxes inside such a section are its details.
 * A "### Task" section without a status counts by its boxes, or as one open task when it has none.
 * What stands in a code fence does not count.
 */
export const parseTasks = (markdown: string): Task[] => sections(linesOutsideFences(markdown)).flatMap(tasksOf);

export const countTasks = (tasks: readonly Task[]) => ({
  done: tasks.filter((task) => task.done).length,
  all: tasks.length,
});

interface Section {
  readonly heading: string | null;
  readonly lines: string[];
}

const tasksOf = ({ heading, lines }: Section): Task[] => {
  const boxes = lines.flatMap(boxOf);
  if (heading === null) return boxes;
  const status = lines
    .map((line) => /\*\*Status:?\*\*:?\s*\[(.)\]/i.exec(line)?.[1])
    .find((mark) => mark !== undefined);
  if (status !== undefined) return [{ title: heading, done: isDone(status) }];
  return boxes.length > 0 ? boxes : [{ title: heading, done: false }];
};

const boxOf = (line: string): Task[] => {
  const box = /^\s*(?:[-*+]|\d+[.)])\s+\[(.)\](?:\s+(.*))?$/u.exec(line);
  return box ? [{ title: (box[2] ?? '').trim(), done: isDone(box[1]!) }] : [];
};

const isDone = (mark: string) => mark === 'x' || mark === 'X';

/** Cut at headings: a "### Task" opens a section of its own, any other heading of its level or above ends it. */
const sections = (lines: readonly string[]): Section[] => {
  const found: Section[] = [{ heading: null, lines: [] }];
  for (const line of lines) {
    const task = /^###\s+Task\b[\s:]*(.*)$/i.exec(line);
    if (task) found.push({ heading: task[1]!.trim(), lines: [] });
    else if (/^#{1,3}\s/.test(line)) found.push({ heading: null, lines: [] });
    else found.at(-1)!.lines.push(line);
  }
  return found;
};

const linesOutsideFences = (markdown: string): string[] => {
  let fence: string | null = null;
  return markdown.split(/\r?\n/).filter((line) => {
    const marker = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(line);
    if (fence === null) {
      if (marker) fence = marker[1]!;
      return !marker;
    }
    const closes =
      marker && marker[1]![0] === fence[0] && marker[1]!.length >= fence.length && marker[2]!.trim() === '';
    if (closes) fence = null;
    return false;
  });
};

/** Which of these tasks are not there any more. A note behind a title does not make it another task. */
export const missingTasks = (expected: readonly string[], titles: readonly string[]): string[] => {
  const left = titles.map(plainTitle);
  return expected.filter((title) => {
    const plain = plainTitle(title);
    const exact = left.indexOf(plain);
    const index = exact === -1 ? left.findIndex((candidate) => candidate.startsWith(plain)) : exact;
    if (index !== -1) left.splice(index, 1);
    return index === -1;
  });
};

/** Without the marks and the white space that an editor, or a tick, may change. */
const plainTitle = (title: string) =>
  title
    .replaceAll(/[*_~`]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

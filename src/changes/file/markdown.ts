import { markdownTasks, type TaskFormat } from '../tasks/format.ts';
import { parentTasks, parseTasks, taskTitles, withoutTasks } from '../tasks/parse.ts';
import type { Task } from '../tasks/task.ts';
import { linesOf, visibleLines } from '../tasks/visible-lines.ts';
import { wordingOf } from '../wording.ts';

/** What is particular to a kind of Markdown file. */
export interface MarkdownRules {
  readonly name: string;
  /** The lines whose boxes are tasks; all if this is missing. */
  readonly taskLines?: (text: string) => readonly string[];
  /** The tasks, if they are not exactly the boxes in those lines. */
  readonly tasks?: (text: string) => Task[];
  /** The tasks of a file without boxes that are tasks. */
  readonly tasksWithoutBoxes?: (text: string) => Task[];
  /** Titles that are guarded besides those of boxes. */
  readonly titles?: (text: string) => string[];
  readonly commands?: (text: string) => string[];
  /** Whether a line without a box is a task. */
  readonly isTask?: (line: string) => boolean;
  /** Keys of the front matter that agents keep current; if there is none, a line `Status: …` above the first section. */
  readonly agentFields?: readonly string[];
  /** Titles of sections that agents write. */
  readonly agentSections?: RegExp;
  /** How an agent marks a task as done, if it is not by a tick alone. */
  readonly whenDone?: string;
}

export const markdownFormat = (rules: MarkdownRules): TaskFormat => {
  const { name, taskLines, tasksWithoutBoxes = () => [], isTask, titles = () => [], commands = () => [] } = rules;
  const { whenDone = markdownTasks.whenDone } = rules;
  const goalOf = (text: string) => withoutSections(withoutFields(text, rules.agentFields ?? []), rules.agentSections);
  const tasksIn = (text: string) => (taskLines === undefined ? text : taskLines(text).join('\n'));
  const boxesOf = (text: string) => (isTask === undefined ? text : withoutLines(text, isTask));
  return {
    ...markdownTasks,
    name,
    commands,
    whenDone,
    tasks:
      rules.tasks ??
      ((text) => {
        const tasks = parseTasks(tasksIn(text));
        return tasks.length > 0 ? tasks : tasksWithoutBoxes(text);
      }),
    parents: (text) => parentTasks(tasksIn(text)),
    titles: (text) => {
      const goal = goalOf(text);
      return [...titlesByPlace(taskTitles(tasksIn(goal)), taskTitles(boxesOf(goal))), ...titles(goal)];
    },
    wording: (text) => wordingOf(withoutTasks(goalOf(text), isTask)),
  };
};

const withoutLines = (text: string, isDropped: (line: string) => boolean): string =>
  linesOf(text)
    .filter((line) => !isDropped(line))
    .join('\n');

/** A box that is moved out of the tasks is no longer one of them: the titles of other boxes differ. */
const titlesByPlace = (tasks: readonly string[], all: readonly string[]): string[] => {
  const left = new Map<string, number>();
  for (const title of tasks) left.set(title, (left.get(title) ?? 0) + 1);
  const others = all.filter((title) => {
    const times = left.get(title) ?? 0;
    left.set(title, times - 1);
    return times <= 0;
  });
  return [...tasks, ...others.map((title) => `outside of the tasks: ${title}`)];
};

interface Heading {
  /** The index of its first line. */
  readonly index: number;
  readonly level: number;
  readonly title: string;
}

const atx = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/s;
const html = /^ {0,3}<h([1-6])(?=[\s>])[^>]*>(.*)$/is;
const underline = /^ {0,3}(?:=+|-+)[ \t]*$/;
/** A line of a list, a quote or a table is not part of a heading. */
const paragraph = /^ {0,3}(?![-*+>|]|\d{1,9}[.)]|#{1,6}(?:\s|$))\S/;

interface Marked {
  readonly index: number;
  readonly line: string;
  /** The heading that this line belongs to; null for any other line. */
  readonly heading: Heading | null;
}

/** The lines outside of code and comments, with their headings in all forms: `## Title`, `<h2>`, and underlined. */
const withHeadings = (text: string): Marked[] => {
  const isMarked = markedLines(text);
  const lines: Marked[] = visibleLines(text).map(({ index, line }) => ({
    index,
    line,
    heading: headingOf(index, line),
  }));
  // The first line of the paragraph above.
  let start = 0;
  for (const [at, { index, line }] of lines.entries()) {
    const isBelow = at > start && lines[at - 1]!.index === index - 1;
    if (isBelow && underline.test(line) && !(line.includes('-') && isMarked[index])) {
      const title = lines.slice(start, at).map((each) => each.line.trim());
      const heading = { index: lines[start]!.index, level: line.includes('=') ? 1 : 2, title: title.join(' ') };
      for (let each = start; each <= at; each++) lines[each] = { ...lines[each]!, heading };
    }
    const isText = lines[at]!.heading === null && paragraph.test(line);
    if (!isText) start = at + 1;
    else if (!isBelow) start = at;
  }
  return lines;
};

/** Which lines are between `<!-- X:BEGIN -->` and `<!-- X:END -->`. There, a line of dashes separates comments. */
const markedLines = (text: string): boolean[] => {
  let isMarked = false;
  return linesOf(text).map((line) => {
    const mark = /^<!-- [A-Z_:]{1,60}:(BEGIN|END) -->\s*$/.exec(line)?.[1];
    if (mark !== undefined) isMarked = mark === 'BEGIN';
    return isMarked;
  });
};

const headingOf = (index: number, line: string): Heading | null => {
  const marks = atx.exec(line);
  if (marks)
    return { index, level: marks[1]!.length, title: (marks[2] ?? '').replace(/(?:^|[ \t])#+[ \t]*$/, '').trim() };
  const tag = html.exec(line);
  return tag && { index, level: Number(tag[1]), title: tag[2]!.replace(/<\/h[1-6].*$/is, '').trim() };
};

export const hasHeading = (text: string, isWanted: (heading: Heading) => boolean): boolean =>
  withHeadings(text).some(({ heading }) => heading !== null && isWanted(heading));

export interface Section {
  readonly title: string;
  /** Up to the next heading of its level or above, without headings, code and comments. */
  readonly lines: readonly string[];
}

/** The sections below headings with these names. */
export const sectionsBelow = (text: string, isWanted: (heading: Heading) => boolean): Section[] => {
  const found: { readonly heading: Heading; readonly lines: string[] }[] = [];
  let isInside = false;
  for (const { line, heading } of withHeadings(text)) {
    const last = found.at(-1);
    if (heading === null) {
      if (isInside) last!.lines.push(line);
    } else if (isWanted(heading)) {
      // All lines of an underlined heading have it.
      if (last?.heading !== heading) found.push({ heading, lines: [] });
      isInside = true;
    } else if (isInside && heading.level <= last!.heading.level) isInside = false;
  }
  return found.map(({ heading, lines }) => ({ title: heading.title, lines }));
};

/** The lines of these sections. */
export const linesBelow = (text: string, isWanted: (heading: Heading) => boolean): string[] =>
  sectionsBelow(text, isWanted).flatMap(({ lines }) => lines);

/** The first code in each list item: `` - `npm test` -- expected: … `` is `npm test`. */
export const commandsIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => /^\s*[-*+]\s+`([^`]+)`/.exec(line)?.[1]?.trim() || []);

const withoutSections = (text: string, titles: RegExp | undefined): string => {
  if (titles === undefined) return text;
  const lines = text.split(/\r\n?|\n/);
  let from: { readonly index: number; readonly level: number } | null = null;
  const drop = (end: number) => {
    if (from !== null) lines.fill('', from.index, end);
    from = null;
  };
  for (const { heading } of withHeadings(text)) {
    if (heading === null || (from !== null && heading.level > (from as { level: number }).level)) continue;
    drop(heading.index);
    if (titles.test(heading.title)) from = { index: heading.index, level: heading.level };
  }
  drop(lines.length);
  return lines.join('\n');
};

const frontMatter = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** The value of a key in the front matter, as written; null if it is missing. */
export const fieldOf = (text: string, key: string): string | null => {
  const line = frontMatter
    .exec(text)?.[1]!
    .split(/\r?\n/)
    .find((each) => each.startsWith(`${key}:`));
  return line?.slice(key.length + 1).trim() ?? null;
};

/** Without these keys of the front matter, each with the lines of its value. Without front matter, without the status. */
const withoutFields = (text: string, keys: readonly string[]): string => {
  if (keys.length === 0) return text;
  const front = frontMatter.exec(text);
  if (front === null) return withoutStatus(text);
  let isDropped = false;
  const kept = front[1]!.split(/\r?\n/).filter((line) => {
    const key = /^([\w-]+):(?=\s|$)/.exec(line)?.[1];
    // A value continues in indented lines and in the items of a list. Anything else may be another key.
    if (key !== undefined) isDropped = keys.includes(key);
    else if (!/^(?:[ \t]|-(?:\s|$)|$)/.test(line)) isDropped = false;
    return !isDropped;
  });
  return `${kept.join('\n')}\n${text.slice(front[0].length)}`;
};

const status =
  /^Status:[ \t]*(?:backlog|to[ -]?do|draft(?:ed)?|approved|ready(?:[ -]for[ -](?:dev(?:elopment)?|review))?|in[ -]?progress|(?:in[ -])?review|done|complete[d]?|blocked)[ \t]*$/i;

/** Without the first line `Status: …` above the first section, if its value is one of a story. */
const withoutStatus = (text: string): string => {
  const lines = text.split(/\r\n?|\n/);
  const all = withHeadings(text);
  const end = all.find(({ heading }) => heading !== null && heading.level > 1)?.index ?? lines.length;
  const found = all.find(({ index, line, heading }) => index < end && heading === null && status.test(line));
  if (found !== undefined) lines[found.index] = '';
  return lines.join('\n');
};

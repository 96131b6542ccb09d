import { markdownTasks, type TaskFormat } from '../tasks/format.ts';
import { parseTasks, taskTitles, withoutTasks } from '../tasks/parse.ts';
import type { Task } from '../tasks/task.ts';
import { visibleLines } from '../tasks/visible-lines.ts';
import { wordingOf } from '../wording.ts';

/** What is particular to a kind of Markdown file. */
export interface MarkdownRules {
  readonly name: string;
  readonly tasks: (text: string) => Task[];
  readonly titles?: (text: string) => string[];
  readonly commands?: (text: string) => string[];
  /** Whether a line without a box is a task. */
  readonly isTask?: (line: string) => boolean;
  /** Keys of the front matter that agents keep current; if there is none, the first line `Status: …`. */
  readonly agentFields?: readonly string[];
  /** Titles of sections that agents write. */
  readonly agentSections?: RegExp;
  /** How an agent marks a task as done, if it is not by a tick alone. */
  readonly whenDone?: string;
}

export const markdownFormat = (rules: MarkdownRules): TaskFormat => {
  const { name, tasks, isTask, titles = taskTitles, commands = () => [], whenDone = markdownTasks.whenDone } = rules;
  const goalOf = (text: string) => withoutSections(withoutFields(text, rules.agentFields ?? []), rules.agentSections);
  return {
    ...markdownTasks,
    name,
    tasks,
    commands,
    whenDone,
    titles: (text) => titles(goalOf(text)),
    wording: (text) => wordingOf(withoutTasks(goalOf(text), isTask)),
  };
};

interface Heading {
  readonly level: number;
  readonly title: string;
}

const headingOf = (line: string): Heading | null => {
  const found = /^(#{1,6})\s+(.*)$/s.exec(line);
  return found && { level: found[1]!.length, title: found[2]!.trim() };
};

export const hasHeading = (text: string, isWanted: (heading: Heading) => boolean): boolean =>
  visibleLines(text).some(({ line }) => {
    const heading = headingOf(line);
    return heading !== null && isWanted(heading);
  });

/** The lines below the wanted headings, each up to the next heading of its level or above. No code, no comments. */
export const linesBelow = (text: string, isWanted: (heading: Heading) => boolean): string[] => {
  let level = 0;
  return visibleLines(text).flatMap(({ line }) => {
    const heading = headingOf(line);
    if (heading === null) return level === 0 ? [] : [line];
    if (isWanted(heading)) ({ level } = heading);
    else if (heading.level <= level) level = 0;
    return [];
  });
};

export const tasksBelow = (text: string, isWanted: (heading: Heading) => boolean): Task[] =>
  parseTasks(linesBelow(text, isWanted).join('\n'));

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
  for (const { index, line } of visibleLines(text)) {
    const heading = headingOf(line);
    if (heading === null || (from !== null && heading.level > (from as { level: number }).level)) continue;
    drop(index);
    if (titles.test(heading.title)) from = { index, level: heading.level };
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

/** Without these keys of the front matter, each with the lines of its value. Without front matter, without `Status: …`. */
const withoutFields = (text: string, keys: readonly string[]): string => {
  if (keys.length === 0) return text;
  const front = frontMatter.exec(text);
  if (front === null) return text.replace(/^Status: .*$/m, '');
  let isDropped = false;
  const kept = front[1]!.split(/\r?\n/).filter((line) => {
    const key = /^([\w-]+):/.exec(line)?.[1];
    if (key !== undefined) isDropped = keys.includes(key);
    return !isDropped;
  });
  return `${kept.join('\n')}\n${text.slice(front[0].length)}`;
};

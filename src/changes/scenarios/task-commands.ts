import { isBox, statusIn } from '../tasks/parse.ts';
import { visibleLines } from '../tasks/visible-lines.ts';
import { slugOf } from './slug.ts';
import { verifyCommand } from './verify-lines.ts';

/** A task with `**Verify**:` lines. */
export interface VerifiedTask {
  readonly commands: readonly string[];
  /** The keys (`nameKey`) of the requirements and scenarios that it names. */
  readonly names: ReadonlySet<string>;
}

/**
 * The tasks that say how they are verified and what they are about: in a list such as `_Requirements: 1.1, 1.2_` or
 * `- **Requirements**: auth:login`, by a story such as `[US1]`, by criteria such as `(AC: 1, 2)`, or by the id of a scenario anywhere in their text.
 */
export const verifiedTasks = (markdown: string): VerifiedTask[] =>
  tasksIn(markdown).flatMap((lines) => {
    const commands = lines.flatMap((line) => verifyCommand(line) ?? []);
    return commands.length === 0 ? [] : [{ commands, names: new Set(lines.flatMap(namesIn).map(nameKey)) }];
  });

/** Names that differ only in case, white space or punctuation are the same. */
export const nameKey = (name: string): string => slugOf(name);

/** The lines of each task: a box with what is below it up to the next one, or a section that has a status. */
const tasksIn = (markdown: string): string[][] => {
  const sections: string[][] = [[]];
  for (const { line } of visibleLines(markdown)) {
    if (/^#{1,6}\s/.test(line)) sections.push([line]);
    else sections.at(-1)!.push(line);
  }
  return sections.flatMap((lines) => {
    if (statusIn(lines) !== undefined) return [lines];
    const tasks: string[][] = [[]];
    for (const line of lines) {
      if (isBox(line)) tasks.push([line]);
      else tasks.at(-1)!.push(line);
    }
    return tasks;
  });
};

const field =
  /^[\s>]*(?:[-*+]\s+)?[*_]{0,2}(?:Requirements?|Scenarios?|Validates|Implements|Covers)\b[*_]{0,2}:?[*_]{0,2}:?(.*)$/is;

const namesIn = (line: string): string[] => {
  const list = field.exec(line)?.[1]?.replace(/^\s*Requirements?\b/i, '');
  const listed = list === undefined ? [] : [list, ...list.split(/[,;]/)];
  const words = line.split(/[\s,;`"'()<>]+/).filter((word) => word.includes('/') || word.includes(':'));
  const stories = [...line.matchAll(/\[(US\d{1,6})\]/gi)].map(([, story]) => story!);
  const tagged = [...line.matchAll(/@scenario[\s:]{1,8}(\S+)/g)].map(([, id]) => id!);
  const criteria = [...line.matchAll(/\(AC:?([\s\d,#]{1,200})\)/gi)].flatMap(([, numbers]) =>
    [...numbers!.matchAll(/\d+/g)].map(([number]) => `AC ${number}`),
  );
  return [...listed, ...words, ...stories, ...tagged, ...criteria].filter((name) => /[\p{L}\p{N}]/u.test(name));
};

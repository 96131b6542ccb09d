import { markdownTasks } from '../tasks/format.ts';
import { isBox, parseTasks, statusIn } from '../tasks/parse.ts';
import type { Task } from '../tasks/task.ts';
import { visibleLines } from '../tasks/visible-lines.ts';
import { commandsIn, linesBelow, markdownFormat, sectionsBelow } from './markdown.ts';

/** `### Task 1: title` or `### Iteration 1: title`. Only boxes in such sections are tasks. */
const section = /^(?:Task|Iteration)\s[^:]*:/;

const isSection = ({ level, title }: { readonly level: number; readonly title: string }): boolean =>
  level === 3 && section.test(title);

const boxLines = (text: string): string[] => linesBelow(text, isSection).filter(isTaskLine);

/** A section without boxes is one open task, as in ralphex, until a box in it is ticked. */
const tasks = (text: string): Task[] =>
  sectionsBelow(text, isSection).flatMap(({ title, lines }) => {
    const boxes = parseTasks(lines.filter(isTaskLine).join('\n'));
    return boxes.length > 0 ? boxes : [{ title, done: false, optional: false }];
  });

/** A box whose text has another box describes the format. */
const isTaskLine = (line: string): boolean => isBox(line) && !/\[[ xX]\].*\[[ xX]\]/s.test(line);

const headings = (text: string): string[] =>
  visibleLines(text).flatMap(({ line }) => (isHeading(line) ? [line.replace(/^#+\s+/, '').trim()] : []));

const isHeading = (line: string): boolean => /^###\s+(?:Task|Iteration)\s[^:]*:/.test(line);

/** Without a box in such a section, boxes elsewhere are the tasks. */
export const isRalphex = (text: string): boolean => {
  const sections = sectionsBelow(text, isSection);
  if (sections.length === 0 || statusIn(sections.flatMap(({ lines }) => lines)) !== undefined) return false;
  return boxLines(text).length > 0 || !visibleLines(text).some(({ line }) => isBox(line));
};

export const ralphexPlan = markdownFormat({
  name: 'ralphex plan',
  taskLines: boxLines,
  tasks,
  whenDone: `${markdownTasks.whenDone}; below a heading without a box, add a ticked one that says what you did`,
  titles: headings,
  isTask: isHeading,
  commands: (text) => commandsIn(linesBelow(text, ({ title }) => title === 'Validation Commands')),
});

import { isBox, statusIn } from '../tasks/parse.ts';
import { visibleLines } from '../tasks/visible-lines.ts';
import { commandsIn, linesBelow, markdownFormat } from './markdown.ts';

/** `### Task 1: title`, also with `Iteration`. Only boxes in such sections are tasks. */
const section = /^(?:Task|Iteration)\s[^:]*:/;

const isSection = ({ level, title }: { readonly level: number; readonly title: string }): boolean =>
  level === 3 && section.test(title);

const boxLines = (text: string): string[] => linesBelow(text, isSection).filter(isTaskLine);

/** A box whose text has another box describes the format. */
const isTaskLine = (line: string): boolean => isBox(line) && !/\[[ xX]\].*\[[ xX]\]/s.test(line);

const headings = (text: string): string[] =>
  visibleLines(text).flatMap(({ line }) => (isHeading(line) ? [line.replace(/^#+\s+/, '').trim()] : []));

const isHeading = (line: string): boolean => /^###\s+(?:Task|Iteration)\s[^:]*:/.test(line);

export const isRalphex = (text: string): boolean =>
  boxLines(text).length > 0 && statusIn(linesBelow(text, isSection)) === undefined;

export const ralphexPlan = markdownFormat({
  name: 'ralphex plan',
  taskLines: boxLines,
  titles: headings,
  isTask: isHeading,
  commands: (text) => commandsIn(linesBelow(text, ({ title }) => title === 'Validation Commands')),
});

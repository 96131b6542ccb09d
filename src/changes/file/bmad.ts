import { visibleLines } from '../tasks/visible-lines.ts';
import { commandsIn, fieldOf, hasHeading, linesBelow, markdownFormat } from './markdown.ts';

const isTasks = ({ title }: { readonly title: string }): boolean => title === 'Tasks / Subtasks';

export const isBmadStory = (text: string): boolean => hasHeading(text, isTasks);

/** Only boxes below `## Tasks / Subtasks` are tasks. */
export const bmadStory = markdownFormat({
  name: 'BMAD story',
  taskLines: (text) => linesBelow(text, isTasks),
  agentFields: ['status'],
  agentSections: /^(?:Dev Agent Record|File List|Change Log)$/,
});

/** A spec of `bmad-build`: the boxes below `**Execution:**` are tasks. */
export const isBmadSpec = (text: string): boolean =>
  fieldOf(text, 'status') !== null && /^<frozen-after-approval\b/m.test(text) && executionLines(text).length > 0;

/** The lines below `**Execution:**`, up to the next such label or heading. */
const executionLines = (text: string): string[] => linesAfter(text, /^\*\*Execution:?\*\*/);

const linesAfter = (text: string, label: RegExp): string[] => {
  let isInside = false;
  return visibleLines(text).flatMap(({ line }) => {
    if (/^#{1,6}\s|^\*\*[^*]+\*\*/.test(line)) isInside = label.test(line);
    return isInside ? [line] : [];
  });
};

export const bmadSpec = markdownFormat({
  name: 'BMAD build spec',
  taskLines: executionLines,
  commands: (text) => commandsIn(linesAfter(text, /^\*\*Commands:?\*\*/)),
  agentFields: ['status', 'baseline_commit', 'review_loop_iteration'],
  agentSections: /^(?:Spec Change Log|Suggested Review Order)$/,
});

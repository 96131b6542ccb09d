import { fieldOf, hasHeading, linesBelow, markdownFormat } from './markdown.ts';

const isCriteria = ({ title }: { readonly title: string }): boolean =>
  title === 'Acceptance Criteria' || title === 'Definition of Done';

export const isBacklogTask = (text: string): boolean =>
  ['id', 'title', 'status'].every((key) => fieldOf(text, key) !== null) &&
  (fieldOf(text, 'created_date') !== null ||
    hasHeading(text, (heading) => isCriteria(heading) || heading.title === 'Description'));

/** A task of Backlog.md: its criteria are the tasks, or without any, its status is that of one task. */
export const backlogTask = markdownFormat({
  name: 'Backlog.md task',
  taskLines: (text) => linesBelow(text, isCriteria),
  tasksWithoutBoxes: (text) => {
    const title = unquoted(fieldOf(text, 'title') ?? '');
    const done = /^["']?done\b/i.test(fieldOf(text, 'status') ?? '');
    return [{ title, done, optional: false }];
  },
  whenDone:
    'tick a criterion (`- [x]`) when it is met, add what is missing, and set `status` in the front matter to `Done` when all are',
  agentFields: ['status', 'assignee', 'updated_date'],
  agentSections: /^(?:Implementation (?:Plan|Notes)|Comments|Final Summary)$/,
});

/** The tool quotes a title with a colon: `'Fix: login'`. */
const unquoted = (value: string): string => /^'(.*)'$/.exec(value)?.[1]?.replaceAll("''", "'") ?? value;

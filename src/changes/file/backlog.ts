import { fieldOf, hasHeading, markdownFormat, tasksBelow } from './markdown.ts';

const isCriteria = ({ title }: { readonly title: string }): boolean =>
  title === 'Acceptance Criteria' || title === 'Definition of Done';

export const isBacklogTask = (text: string): boolean =>
  ['id', 'title', 'status'].every((key) => fieldOf(text, key) !== null) &&
  (hasHeading(text, isCriteria) || hasHeading(text, ({ title }) => title === 'Description'));

/** A task of Backlog.md: its criteria are the tasks, or without any, its status is that of one task. */
export const backlogTask = markdownFormat({
  name: 'Backlog.md task',
  tasks: (text) => {
    const criteria = tasksBelow(text, isCriteria);
    const title = fieldOf(text, 'title') ?? '';
    const done = /^["']?done\b/i.test(fieldOf(text, 'status') ?? '');
    return criteria.length > 0 ? criteria : [{ title, done, optional: false }];
  },
  agentFields: ['status', 'assignee', 'updated_date'],
  agentSections: /^(?:Implementation (?:Plan|Notes)|Final Summary)$/,
});

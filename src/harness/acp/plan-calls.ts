import type { AgentEvent } from '../../ralph/agent-events.ts';
import { listAt, textAt } from '../json.ts';

/** Shows the plans of a turn like calls of a todo tool, and each only when it has changed. */
export const createPlanCalls = () => {
  let last = '';
  return (update: unknown): readonly AgentEvent[] => {
    const title = titleOf(listAt(update, 'entries'));
    if (title === last || title === '') return [];
    last = title;
    return [
      { type: 'tool', tool: 'plan', title },
      { type: 'tool-result', tool: 'plan', failed: false },
    ];
  };
};

/** How much is done, and what is in progress. */
const titleOf = (entries: readonly unknown[]): string => {
  if (entries.length === 0) return '';
  const done = entries.filter((entry) => textAt(entry, 'status') === 'completed').length;
  const current = entries.find((entry) => textAt(entry, 'status') === 'in_progress');
  const content = textAt(current, 'content');
  return `${done} of ${entries.length} done${content === null ? '' : `: ${content}`}`;
};

import type { Usage } from '../ralph/agent-events.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { TaskCount } from '../ralph/record.ts';
import { spentUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { pluralise } from '../text/format.ts';
import { costText, shortTokens } from './figures.ts';
import type { Symbols } from './symbols.ts';
import { toolText } from './tool-lines.ts';

/** Counts what the status line of a run shows. */
export const createLiveFigures = ({
  symbols,
  showsTool,
}: {
  readonly symbols: Symbols;
  readonly showsTool: boolean;
}) => {
  let tasks: TaskCount | null = null;
  let tasksAtStart: TaskCount | null = null;
  let usage: Usage | null = null;
  /** Those of the current iteration. */
  let toolCalls = 0;
  let lastTool = '';

  return {
    /** Those before the iteration. */
    tasksAtStart: (): TaskCount | null => tasksAtStart,
    /** Sets the tasks before an iteration whose earlier events were not counted. */
    joinAt(count: TaskCount | null): void {
      tasks = tasksAtStart = count;
    },
    /** The most important first, as the last ones are left out on a narrow terminal. */
    texts: (): string[] => [
      toolCalls === 0 ? '' : pluralise(toolCalls, 'tool'),
      tasks === null ? '' : `${tasks.done}/${tasks.total} tasks`,
      costText(usage),
      showsTool ? lastTool : '',
      shortTokens(usage),
    ],
    count(event: RunEvent, view: RunView): void {
      if (event.type === 'run-started') tasks = tasksAtStart = event.tasks ?? null;
      if (event.type === 'tasks-changed') tasks = event.tasks;
      if (event.type === 'iteration-finished') tasks = tasksAtStart = event.record.tasks ?? tasks;
      if (event.type === 'iteration-started' || event.type === 'review-started')
        [toolCalls, lastTool, usage] = [0, '', spentUsage(view)];
      if (event.type !== 'agent' && event.type !== 'reviewer') return;
      if (event.event.type === 'usage') usage = spentUsage(view);
      if (event.event.type !== 'tool') return;
      toolCalls++;
      if (showsTool) lastTool = toolText(event.event, { symbols, root: view.workspace?.root ?? null });
    },
  };
};

import { join } from 'node:path';
import { tryReadTasks } from '../changes/tasks/read.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { statsOf } from '../files/read.ts';
import type { TaskCount } from '../ralph/record.ts';
import type { RunContext } from './context.ts';

const intervalMs = 1000;

/**
 * Emits the number of tasks when it changes while an agent works, until the returned function is called. Looks at the
 * task file once a second, and reads it only if it was written.
 */
export const watchTasks = (
  { target, workProject, emit }: Pick<RunContext, 'target' | 'workProject' | 'emit'>,
  before: TaskCount,
): (() => void) => {
  const file = join(workProject.root, target.tasksFile);
  let stamp = '';
  let last = before;
  const look = () => {
    const stats = statsOf(file);
    const current = stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
    if (current === stamp) return;
    stamp = current;
    const tasks = tryReadTasks(target, workProject.root);
    if (tasks === null || tasks === 'unreadable') return;
    const count = countTasks(tasks);
    if (count.done === last.done && count.total === last.total) return;
    last = count;
    emit({ type: 'tasks-changed', tasks: count, at: new Date().toISOString() });
  };
  const timer = setInterval(look, intervalMs).unref();
  return () => clearInterval(timer);
};

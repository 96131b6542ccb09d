import { join } from 'node:path';
import { tryReadTasks } from '../../changes/tasks/read.ts';
import { countTasks, type Task } from '../../changes/tasks/task.ts';
import { statsOf } from '../../files/read.ts';
import { stampOf } from '../../files/stamp.ts';
import type { TaskCount } from '../../ralph/record.ts';
import type { RunContext } from '../context.ts';

type TaskContext = Pick<RunContext, 'target' | 'workProject'>;

/** Returns the tasks where the agent works; null if the change has none, or they cannot be read. */
export const workspaceTasks = ({ target, workProject }: TaskContext): readonly Task[] | null => {
  const tasks = tryReadTasks(target, workProject.root);
  return tasks === 'unreadable' ? null : tasks;
};

export const countWorkspaceTasks = (context: TaskContext): TaskCount | null => {
  const tasks = workspaceTasks(context);
  return tasks && countTasks(tasks);
};

const intervalMs = 1000;

/**
 * Emits the number of tasks when it changes while an agent works, until the returned function is called. Looks at the
 * task file once a second, and reads it only if it was written.
 */
export const watchTasks = (
  { target, workProject, emit }: TaskContext & Pick<RunContext, 'emit'>,
  before: TaskCount,
): (() => void) => {
  const file = join(workProject.root, target.tasksFile);
  let stamp = '';
  let last = before;
  const look = () => {
    const current = stampOf(statsOf(file));
    if (current === stamp) return;
    stamp = current;
    const count = countWorkspaceTasks({ target, workProject });
    if (count === null || (count.done === last.done && count.total === last.total)) return;
    last = count;
    emit({ type: 'tasks-changed', tasks: count, at: new Date().toISOString() });
  };
  const timer = setInterval(look, intervalMs).unref();
  return () => clearInterval(timer);
};

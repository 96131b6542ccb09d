import { textInside } from '../files/inside.ts';
import type { Change } from './source.ts';
import { parseTasks, type Task } from './tasks.ts';

/** Returns null if the change has no task file in this root. */
export const readTasks = ({ tasksFile }: Change, root: string): Task[] | null => {
  const text = textInside(root, tasksFile);
  return text === null ? null : parseTasks(text);
};

export const tryReadTasks = (change: Change, root: string): Task[] | 'unreadable' | null => {
  try {
    return readTasks(change, root);
  } catch {
    return 'unreadable';
  }
};

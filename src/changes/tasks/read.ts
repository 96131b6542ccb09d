import { textInside } from '../../files/inside.ts';
import type { Change } from '../source.ts';
import type { Task } from './task.ts';

/** Returns null if the change has no task file in this root. */
export const readTasks = ({ tasksFile, format }: Change, root: string): Task[] | null => {
  const text = textInside(root, tasksFile);
  return text === null ? null : format.tasks(text);
};

export const tryReadTasks = (change: Change, root: string): Task[] | 'unreadable' | null => {
  try {
    return readTasks(change, root);
  } catch {
    return 'unreadable';
  }
};

/** Whether the change is one file, which is both the proposal and the task file. */
export const isOneFile = ({ proposalFile, tasksFile }: Pick<Change, 'proposalFile' | 'tasksFile'>): boolean =>
  proposalFile === tasksFile;

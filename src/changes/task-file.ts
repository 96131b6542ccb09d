import { join } from 'node:path';
import { readIfThere } from '../files/read.ts';
import type { Change } from './source.ts';
import { parseTasks, type Task } from './tasks.ts';

/** Returns null if the change has no task file in this root. */
export const readTasks = async ({ tasksFile }: Change, root: string): Promise<Task[] | null> => {
  const text = await readIfThere(join(root, tasksFile));
  return text === null ? null : parseTasks(text);
};

import { join } from 'node:path';
import { changeFolder } from './changes.ts';
import { readIfThere } from '../files/read.ts';
import type { Project } from '../store/project.ts';
import { parseTasks, type Task } from './tasks.ts';

/** null when the change has no tasks.md. */
export const readTasks = async (project: Project, id: string): Promise<Task[] | null> => {
  const text = await readIfThere(join(changeFolder(project, id), 'tasks.md'));
  return text === null ? null : parseTasks(text);
};

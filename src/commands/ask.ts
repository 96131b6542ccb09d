import { isCancel, select } from '@clack/prompts';
import { readTasks } from '../project/changes.ts';
import type { Project } from '../project/find.ts';
import { countTasks } from '../project/tasks.ts';

/** Shows the changes as a list to choose from; null when it was cancelled. */
export const askForChange = async (project: Project, ids: readonly string[]): Promise<string | null> => {
  const options = await Promise.all(
    ids.map(async (id) => {
      const tasks = await readTasks(project, id);
      if (tasks === null) return { value: id, label: id };
      const { done, all } = countTasks(tasks);
      return { value: id, label: id, hint: `${done} of ${all} tasks done` };
    }),
  );
  const chosen = await select({ message: 'Which change?', options, maxItems: 12, output: process.stderr });
  return isCancel(chosen) ? null : chosen;
};

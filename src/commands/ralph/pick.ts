import { userError } from '../../errors.ts';
import type { Project } from '../../store/project.ts';
import { changeOf } from '../../changes/sources.ts';
import { readTasks } from '../../changes/task-file.ts';
import { countTasks } from '../../changes/tasks.ts';
import { ask, askSeveral, type Choice } from '../../report/questions.ts';

const several = 'Select multiple…';

/** Asks the user to select changes. */
export const pick = async (project: Project, candidates: readonly string[]): Promise<string[]> => {
  const choices = await Promise.all(candidates.map((id) => choiceOf(project, id)));
  const chosen = await ask('Which change?', candidates.length > 1 ? [...choices, { value: several }] : choices);
  const picked = chosen === several ? await askSeveral('Which changes?', choices) : chosen === null ? null : [chosen];
  if (picked === null) throw userError('cancelled', 'no change was selected');
  return picked;
};

const choiceOf = async (project: Project, id: string): Promise<Choice> => {
  const tasks = await readTasks(changeOf(project, id), project.root);
  if (tasks === null) return { value: id };
  const { done, total } = countTasks(tasks);
  return { value: id, hint: `${done} of ${total} tasks done` };
};

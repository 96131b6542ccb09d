import { userError } from '../../errors.ts';
import type { Options } from '../../flags.ts';
import { changesOfModule, listChanges, readTasks, resolveChange } from '../../project/changes.ts';
import type { Project } from '../../project/find.ts';
import { moduleOf } from '../../project/ids.ts';
import { listModules, moduleIdOf, resolveModule } from '../../project/modules.ts';
import { countTasks } from '../../project/tasks.ts';
import type { Choice } from '../../report/ask.ts';
import type { Terminal } from '../../report/terminal.ts';

/** The change that is meant. Asks only when a person is there and neither flag says it. */
export const chooseTarget = async (
  project: Project,
  options: Pick<Options, 'change' | 'module' | 'interactive'>,
  terminal: Terminal,
): Promise<string> => {
  const module = options.module === null ? null : await chosenModule(project, options.module);
  const moduleId = module === null ? null : moduleIdOf(module);
  if (options.change !== null) {
    const change = await resolveChange(project, options.change);
    if (module !== null && moduleOf(change) !== moduleId) throw userError('module-mismatch', change, module);
    return change;
  }

  const candidates = moduleId === null ? await listChanges(project) : await changesOfModule(project, moduleId);
  const canAsk = options.interactive && terminal.canAsk;
  if (module !== null && candidates.length === 1) return candidates[0]!;
  if (candidates.length === 0 && (canAsk || module !== null))
    throw userError('no-changes', module === null ? '.spool/changes' : `module ${module}`);
  if (!canAsk)
    throw module === null ? userError('change-required', candidates) : userError('several-changes', module, candidates);

  const { ask } = await import('../../report/ask.ts');
  const chosen = await ask('Which change?', await Promise.all(candidates.map((id) => choiceOf(project, id))));
  if (chosen === null) throw userError('cancelled');
  return chosen;
};

/** A module needs no folder of its own: its changes are enough. */
const chosenModule = async (project: Project, query: string): Promise<string> => {
  const unwritten = (await listModules(project)).every((name) => !name.startsWith(query));
  return unwritten && (await changesOfModule(project, query)).length > 0 ? query : resolveModule(project, query);
};

const choiceOf = async (project: Project, id: string): Promise<Choice> => {
  const tasks = await readTasks(project, id);
  if (tasks === null) return { value: id };
  const { done, all } = countTasks(tasks);
  return { value: id, hint: `${done} of ${all} tasks done` };
};

import { currentStatus } from '../ralph/view.ts';
import { listChanges, readTasks } from './changes.ts';
import type { Project } from './find.ts';
import { moduleOf } from './ids.ts';
import { moduleFolderName } from './modules.ts';
import { loopOwner, readState } from './state.ts';
import { countTasks } from './tasks.ts';

/** One active change at a glance. What there is none of is null. */
export interface ChangeOverview {
  readonly id: string;
  readonly module: string | null;
  readonly tasks: { readonly done: number; readonly all: number } | null;
  readonly lastRun: {
    readonly run: string;
    readonly status: string;
    readonly iteration: number;
    readonly startedAt: string;
    readonly endedAt: string | null;
  } | null;
}

export const overviews = async (project: Project): Promise<ChangeOverview[]> =>
  Promise.all((await listChanges(project)).map((id) => overview(project, id)));

export const overview = async (project: Project, id: string): Promise<ChangeOverview> => {
  const moduleId = moduleOf(id);
  const tasks = await readTasks(project, id);
  const view = await readState(project, id);
  return {
    id,
    module: moduleId === null ? null : ((await moduleFolderName(project, moduleId)) ?? moduleId),
    tasks: tasks && countTasks(tasks),
    lastRun: view && {
      run: view.run,
      status: currentStatus(view, loopOwner(project, id) !== null),
      iteration: view.iteration,
      startedAt: view.startedAt,
      endedAt: view.endedAt,
    },
  };
};

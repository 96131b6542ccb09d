import { UserError } from '../errors.ts';
import type { Usage } from '../ralph/events.ts';
import { totalUsage } from '../ralph/tally.ts';
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
    readonly run: string | null;
    /** `unreadable` when state.json is damaged or of a newer version; then the rest is null. */
    readonly status: string;
    readonly iteration: number | null;
    readonly startedAt: string | null;
    readonly endedAt: string | null;
    readonly usage: Usage | null;
  } | null;
}

export const overviews = async (project: Project): Promise<ChangeOverview[]> =>
  Promise.all((await listChanges(project)).map((id) => overview(project, id)));

export const overview = async (project: Project, id: string): Promise<ChangeOverview> => {
  const moduleId = moduleOf(id);
  const tasks = await readTasks(project, id);
  return {
    id,
    module: moduleId === null ? null : ((await moduleFolderName(project, moduleId)) ?? moduleId),
    tasks: tasks && countTasks(tasks),
    lastRun: await lastRunOf(project, id),
  };
};

const lastRunOf = async (project: Project, id: string): Promise<ChangeOverview['lastRun']> => {
  try {
    const view = await readState(project, id);
    if (view === null) return null;
    const { run, iteration, startedAt, endedAt } = view;
    const usage = totalUsage(view);
    return { run, status: currentStatus(view, loopOwner(project, id) !== null), iteration, startedAt, endedAt, usage };
  } catch (error) {
    // One bad file must not hide the other changes.
    if (!(error instanceof UserError)) throw error;
    return { run: null, status: 'unreadable', iteration: null, startedAt: null, endedAt: null, usage: null };
  }
};

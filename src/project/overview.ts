import { UserError } from '../errors.ts';
import type { Usage } from '../ralph/events.ts';
import { totalUsage } from '../ralph/tally.ts';
import { currentStatus } from '../ralph/view.ts';
import { listChanges, readTasks } from './changes.ts';
import type { Project } from './find.ts';
import { moduleOf } from './ids.ts';
import { moduleFolderName } from './modules.ts';
import { loopOwner, readRun } from './state.ts';
import { countTasks } from './tasks.ts';

/** One active change at a glance. What there is none of is null. */
export interface ChangeOverview {
  readonly id: string;
  readonly module: string | null;
  readonly tasks: { readonly done: number; readonly all: number } | null;
  readonly lastRun: {
    readonly run: string | null;
    /** `unreadable` when state.json is of a newer version; then the rest is null. */
    readonly status: string;
    readonly iteration: number | null;
    readonly startedAt: string | null;
    readonly endedAt: string | null;
    readonly usage: Usage | null;
  } | null;
  /** One line about a state.json that is damaged; null when it is not. */
  readonly damage: string | null;
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
    ...(await lastRunOf(project, id)),
  };
};

const lastRunOf = async (project: Project, id: string): Promise<Pick<ChangeOverview, 'lastRun' | 'damage'>> => {
  try {
    const { view, damage } = await readRun(project, id);
    if (view === null) return { lastRun: null, damage };
    const { run, iteration, startedAt, endedAt } = view;
    const status = currentStatus(view, loopOwner(project, id) !== null);
    return { lastRun: { run, status, iteration, startedAt, endedAt, usage: totalUsage(view) }, damage };
  } catch (error) {
    // One bad file must not hide the other changes.
    if (!(error instanceof UserError)) throw error;
    return { lastRun: { ...nothingKnown, status: 'unreadable' }, damage: null };
  }
};

const nothingKnown = { run: null, iteration: null, startedAt: null, endedAt: null, usage: null };

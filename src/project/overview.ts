import { UserError } from '../errors.ts';
import { commitsBeyondBase } from '../git/branches.ts';
import type { Usage } from '../ralph/events.ts';
import { totalUsage } from '../ralph/tally.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { listChanges } from './changes.ts';
import type { Project } from './find.ts';
import { moduleOf } from './ids.ts';
import { readLanded } from './landed.ts';
import { moduleFolderName } from './modules.ts';
import { loopOwner, readState } from './state.ts';
import { countTasks, type Task } from './tasks.ts';
import { currentTasks } from './work-copy.ts';

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
    /** Whether the branch of the run is on its base; null when it has none, or nothing on it. */
    readonly landed: boolean | null;
  } | null;
}

export const overviews = async (project: Project): Promise<ChangeOverview[]> =>
  Promise.all((await listChanges(project)).map((id) => overview(project, id)));

export const overview = async (project: Project, id: string): Promise<ChangeOverview> => {
  const moduleId = moduleOf(id);
  const view = await lastView(project, id);
  const tasks = await currentTasks(project, id, view === 'unreadable' ? null : view);
  return {
    id,
    module: moduleId === null ? null : ((await moduleFolderName(project, moduleId)) ?? moduleId),
    tasks: tasks && countTasks(tasks),
    lastRun: view === 'unreadable' ? unreadable : view && (await describe(project, id, view)),
  };
};

/** The tasks of a change where its last run works, together with those of the project. */
export const tasksOf = async (project: Project, id: string): Promise<Task[] | null> => {
  const view = await lastView(project, id);
  return currentTasks(project, id, view === 'unreadable' ? null : view);
};

const describe = async (project: Project, id: string, view: RunView): Promise<ChangeOverview['lastRun']> => {
  const { run, iteration, startedAt, endedAt } = view;
  const status = currentStatus(view, loopOwner(project, id) !== null);
  return {
    run,
    status,
    iteration,
    startedAt,
    endedAt,
    usage: totalUsage(view),
    landed: await hasLanded(project, view),
  };
};

const unreadable = {
  run: null,
  status: 'unreadable',
  iteration: null,
  startedAt: null,
  endedAt: null,
  usage: null,
  landed: null,
};

const hasLanded = async (project: Project, { change, run, place }: RunView): Promise<boolean | null> => {
  const branch = place?.branch ?? null;
  if (branch === null) return null;
  const landed = await readLanded(project, change);
  const onto = landed?.run === run && landed.branch === branch ? landed.base : null;
  const ahead = await commitsBeyondBase(project.root, branch, onto);
  if (ahead !== null && ahead > 0) return false;
  return onto === null ? null : true;
};

const lastView = async (project: Project, id: string): Promise<RunView | null | 'unreadable'> => {
  try {
    return await readState(project, id);
  } catch (error) {
    // One bad file must not hide the other changes.
    if (!(error instanceof UserError)) throw error;
    return 'unreadable';
  }
};

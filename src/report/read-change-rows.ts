import { asUserError } from '../errors.ts';
import { hasLanded } from '../changes/landed-branch.ts';
import type { Usage } from '../ralph/agent-events.ts';
import { spentUsage } from '../ralph/usage.ts';
import { currentStatus, phaseOf, type RunPhase, type RunView } from '../ralph/view.ts';
import type { Change } from '../changes/source.ts';
import { problemText } from '../changes/problems.ts';
import { activeChanges, archivedChanges, type ListedChange } from '../changes/sources.ts';
import { readTasks } from '../changes/tasks/read.ts';
import type { Project } from '../store/project.ts';
import { moduleName } from '../changes/modules.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { asRecorded } from '../store/user-state/steps.ts';
import { loopOwner, queuedBy } from '../store/state.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { currentTasks, lastSaved } from '../changes/tasks/current.ts';

/** Summary of a change. Missing values are null. */
export interface ChangeRow {
  readonly id: string;
  /** Where it is from, such as `openspec`. */
  readonly source: string;
  readonly module: string | null;
  readonly tasks: { readonly done: number; readonly total: number } | null;
  readonly lastRun: {
    readonly run: string | null;
    /** `unreadable` if state.json has a newer version; the other fields are then null. */
    readonly status: string;
    /** What a run that is running does instead of working; null if it works or has ended. */
    readonly phase: RunPhase | null;
    readonly iteration: number | null;
    readonly startedAt: string | null;
    readonly endedAt: string | null;
    readonly usage: Usage | null;
    /** Whether the run's branch has landed on its base; null if there is no branch, or no commit on it. */
    readonly landed: boolean | null;
  } | null;
  /** The process of the batch that has not started it yet. */
  readonly queued: { readonly pid: number; readonly host: string; readonly since: string } | null;
  /** What workers do with it; missing without a queue, null if they do not have it. */
  readonly remote?: { readonly text: string; readonly status: string; readonly iteration: number | null } | null;
  /** A line about a damaged state.json; null if it is intact. */
  readonly damage: string | null;
  /** Why its files cannot be used; null if they can. */
  readonly problem: string | null;
}

interface OverviewOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly isArchived?: boolean;
}

export const readChangeRows = async (project: Project, env: NodeJS.ProcessEnv): Promise<ChangeRow[]> =>
  Promise.all((await activeChanges(project)).map((listed) => overviewOf(project, listed, { env })));

export const archivedOverviews = async (project: Project, env: NodeJS.ProcessEnv): Promise<ChangeRow[]> =>
  Promise.all((await archivedChanges(project)).map((listed) => overviewOf(project, listed, { env, isArchived: true })));

/** A change that cannot be read is listed with its problem. */
const overviewOf = async (project: Project, listed: ListedChange, options: OverviewOptions): Promise<ChangeRow> => {
  const { id, source, change } = listed;
  const withProblem = async (problem: string): Promise<ChangeRow> => {
    const last = await lastRunOf(project, id, options.env).catch(unreadableRun);
    return { id, source, module: null, tasks: null, lastRun: last.lastRun, queued: null, damage: last.damage, problem };
  };
  if (change === null) return withProblem(listed.problem);
  try {
    return await overview(project, change, options);
  } catch (error) {
    const problem = asUserError(error);
    if (problem === null) throw error;
    return withProblem(problemText(project, problem));
  }
};

/** Throws if the tasks of the change cannot be read. */
export const overview = async (
  project: Project,
  change: Change,
  { env, isArchived = false }: OverviewOptions,
): Promise<ChangeRow> => {
  const { id, source, module: moduleId } = change;
  const { saved, lastRun, damage } = await lastRunOf(project, id, env);
  const tasks = isArchived ? readTasks(change, project.root) : await currentTasks(project, change, saved);
  return {
    id,
    source,
    module: moduleId === null ? null : (moduleName(project, moduleId) ?? moduleId),
    tasks: tasks && countTasks(tasks),
    lastRun,
    queued: isArchived ? null : queueOf(project, id),
    damage,
    problem: null,
  };
};

const queueOf = (project: Project, id: string): ChangeRow['queued'] => {
  const owner = loopOwner(project, id) === null ? queuedBy(project, id) : null;
  return owner && { pid: owner.pid, host: owner.host, since: owner.since };
};

interface LastRun extends Pick<ChangeRow, 'lastRun' | 'damage'> {
  readonly saved: RunView | null;
}

const lastRunOf = async (project: Project, id: string, env: NodeJS.ProcessEnv): Promise<LastRun> => {
  const found = await lastSaved(project, id);
  if (found === null) return { saved: null, lastRun: unreadable, damage: null };
  const { view: saved, damage } = found;
  const lastRun = saved && (await describe(project, id, asRecorded(userStateFolder(project, id, env), saved)));
  return { saved, lastRun, damage };
};

/** The problem may be that of its run. */
const unreadableRun = (error: unknown): LastRun => {
  if (asUserError(error) === null) throw error;
  return { saved: null, lastRun: unreadable, damage: null };
};

const describe = async (project: Project, id: string, view: RunView): Promise<ChangeRow['lastRun']> => {
  const { run, iteration, startedAt, endedAt } = view;
  const status = currentStatus(view, loopOwner(project, id) !== null);
  return {
    run,
    status,
    phase: phaseOf({ ...view, status }),
    iteration,
    startedAt,
    endedAt,
    usage: spentUsage(view),
    landed: await hasLanded(project, view),
  };
};

const unreadable = {
  run: null,
  status: 'unreadable',
  phase: null,
  iteration: null,
  startedAt: null,
  endedAt: null,
  usage: null,
  landed: null,
};

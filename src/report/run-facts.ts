import { tasksOfRun } from '../changes/tasks/current.ts';
import { countTasks, openTasks } from '../changes/tasks/task.ts';
import type { RunEvent } from '../ralph/events.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { createRedactor } from '../secrets/redact.ts';
import { leftoversOf } from '../store/leftovers.ts';
import type { Project } from '../store/project.ts';
import type { RunFacts } from './render-run.ts';
import { symbolsFor } from './symbols.ts';

interface FactsRequest {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly alive: boolean;
  readonly now: Date;
}

/** What a run does now, and which of its tasks are open. */
export const factsOf = async (
  view: RunView,
  { project, env, alive, now }: FactsRequest,
): Promise<{
  readonly shown: RunView;
  readonly facts: Pick<RunFacts, 'tasks' | 'openTasks' | 'activity' | 'leftovers' | 'now'>;
}> => {
  const redactor = createRedactor(env);
  const isRunning = currentStatus(view, alive) === 'running';
  const tasks = await tasksOfRun(project, view).catch(() => null);
  const { shown, activity } = isRunning
    ? await activityOf(view, { project, env, now })
    : { shown: view, activity: null };
  return {
    shown,
    facts: {
      now,
      leftovers: isRunning ? [] : leftoversOf(project, view),
      tasks: tasks && countTasks(tasks),
      openTasks: tasks === null ? [] : openTasks(tasks).map(({ title }) => redactor.text(title)),
      activity: activity && redactor.oneLine(activity.text, 200),
    },
  };
};

/** What a run that is running does. Imported only when needed, for a fast start. */
const activityOf = async (view: RunView, { project, env, now }: Omit<FactsRequest, 'alive'>) => {
  const [{ elapsedNow, lastActivity }, { activityText }] = await Promise.all([
    import('../store/activity.ts'),
    import('./activity.ts'),
  ]);
  const describe = (event: RunEvent) =>
    activityText(event, { symbols: symbolsFor(env), root: view.workspace?.root ?? null });
  return {
    shown: { ...view, elapsedMs: elapsedNow(project, view, now) },
    activity: lastActivity(project, view, describe),
  };
};

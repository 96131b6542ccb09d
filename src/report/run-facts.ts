import { tasksOfRun } from '../changes/tasks/current.ts';
import { countTasks, openTasks } from '../changes/tasks/task.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { createRedactor } from '../secrets/redact.ts';
import { elapsedNow, lastActivity } from '../store/activity.ts';
import { leftoversOf } from '../store/leftovers.ts';
import type { Project } from '../store/project.ts';
import { activityText } from './activity.ts';
import type { RunFacts } from './status.ts';
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
  const activity = isRunning
    ? lastActivity(project, view, (event) =>
        activityText(event, { symbols: symbolsFor(env), root: view.workspace?.root ?? null }),
      )
    : null;
  return {
    shown: isRunning ? { ...view, elapsedMs: elapsedNow(project, view, now) } : view,
    facts: {
      now,
      leftovers: isRunning ? [] : leftoversOf(project, view),
      tasks: tasks && countTasks(tasks),
      openTasks: tasks === null ? [] : openTasks(tasks).map(({ title }) => redactor.text(title)),
      activity: activity && redactor.oneLine(activity.text, 200),
    },
  };
};

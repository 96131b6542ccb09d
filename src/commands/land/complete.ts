import type { Project } from '../../project/find.ts';
import { loopOwner, readState } from '../../project/state.ts';
import { countTasks } from '../../project/tasks.ts';
import { currentTasks } from '../../project/work-copy.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';

/** Why the change on a branch is not complete; null when its last run is. */
export const whyIncomplete = async (project: Project, change: string, branch: string): Promise<string | null> => {
  const view = await readState(project, change);
  if (view === null) return 'it was never run';
  if (view.place !== null && view.place.branch !== branch) return `its last run was not on ${branch}`;
  const tasks = await currentTasks(project, change, view);
  const { done, all } = countTasks(tasks ?? []);
  const isOpen = view.gate.requireTasks && done < all;
  const stop = stopOf(view, loopOwner(project, change) !== null);
  if (stop === null && !isOpen) return null;
  return [...(all === 0 ? [] : [`${done} of ${all} tasks`]), ...(stop === null ? [] : [stop])].join(', ');
};

/** null when it is complete. */
const stopOf = (view: RunView, alive: boolean): string | null => {
  const status = currentStatus(view, alive);
  switch (status) {
    case 'complete':
      return null;
    case 'limit':
      return `stopped at --${view.cause}`;
    case 'blocked':
      return view.cause === 'max-stalled' ? 'stopped at --max-stalled' : 'blocked';
    case 'failed':
    case 'interrupted':
    case 'running':
      return status;
  }
};

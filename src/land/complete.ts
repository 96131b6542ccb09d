import { type FlagName, flagOf } from '../config/flags.ts';
import { commitsBeyond, tipOf } from '../git/branches.ts';
import type { Project } from '../store/project.ts';
import { recordedTip } from '../store/user-state/branches.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { isKnown } from '../store/user-state/identity.ts';
import { asRecorded } from '../store/user-state/steps.ts';
import { loopOwner, readState } from '../store/state.ts';
import type { Change } from '../changes/source.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { currentTasks } from '../changes/tasks/current.ts';
import { pluralise } from '../text/format.ts';
import type { Stop } from '../ralph/events.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';

/** Returns why the change on a branch is not complete; null if its last run is complete. */
export const whyIncomplete = async (
  project: Project,
  { target, branch, env }: { readonly target: Change; readonly branch: string; readonly env: NodeJS.ProcessEnv },
): Promise<string | null> => {
  const change = target.id;
  const saved = await readState(project, change);
  if (saved === null) return 'it has no runs';
  const folder = userStateFolder(project, change, env);
  if (!isKnown(folder, saved) && env.SPOOL_TRUST !== '1') return 'its last run was not started here';
  const view = asRecorded(folder, saved);
  if (view.workspace !== null && view.workspace.branch !== branch) return `its last run was not on ${branch}`;
  const tasks = await currentTasks(project, target, view);
  const { done, total } = countTasks(tasks ?? []);
  const isOpen = view.gate.requireTasks && done < total;
  const reason =
    whyStopped(view, loopOwner(project, change) !== null) ??
    (await addedSince(project, branch, recordedTip(folder, view.run)));
  if (reason === null && !isOpen) return null;
  return [...(total === 0 ? [] : [`${done} of ${total} tasks`]), ...(reason === null ? [] : [reason])].join(', ');
};

/** Describes what was added to a branch after its run was complete; null if nothing was. */
const addedSince = async ({ root }: Project, branch: string, verified: string | null): Promise<string | null> => {
  const tip = await tipOf(root, branch);
  if (verified === null || tip === null || tip === verified) return null;
  const added = await commitsBeyond(root, verified, tip);
  return `${branch} has ${added === null || added === 0 ? 'changes' : pluralise(added, 'commit')} that its run did not make`;
};

/** The flags of the limits that stop a run; null for other causes. */
const limitFlags: Readonly<Record<Stop['cause'], FlagName | null>> = {
  promise: null,
  'blocked-promise': null,
  denied: null,
  signal: null,
  'not-started': null,
  'fail-fast': null,
  'max-failures': null,
  'max-iterations': 'maxIterations',
  'max-duration': 'maxDuration',
  until: 'until',
  'max-cost': 'maxCost',
  'max-tokens': 'maxTokens',
  'max-wait': 'maxWait',
  'max-stalled': 'maxStalled',
  'max-reviews': 'maxReviews',
};

/** Returns null if the run is complete. */
const whyStopped = (view: RunView, alive: boolean): string | null => {
  const status = currentStatus(view, alive);
  switch (status) {
    case 'complete':
      return null;
    case 'limit':
    case 'blocked': {
      const flag = view.cause === null ? null : limitFlags[view.cause];
      return flag === null ? status : `stopped at ${flagOf(flag)}`;
    }
    case 'failed':
    case 'interrupted':
    case 'running':
      return status;
  }
};

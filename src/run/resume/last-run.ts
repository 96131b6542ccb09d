import type { Change } from '../../changes/source.ts';
import { isResumable, type RunView } from '../../ralph/view.ts';
import { historySize } from '../../store/history.ts';
import type { Project } from '../../store/project.ts';
import { loopOwner, loadRun, type LoadedRun, stateStamp } from '../../store/state.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { asRecorded } from '../../store/user-state/steps.ts';

/** The last run of a change, read once by everything that a start checks. */
export interface LastRun extends LoadedRun {
  /** Its process lives, so what was read may change. */
  readonly isRunning: boolean;
  /** Identifies the version of the files that were read, or an older one. */
  readonly version: string;
}

interface RunOf {
  readonly project: Project;
  readonly target: Pick<Change, 'id'>;
}

/** The files are identified before they are read: what is written in between is noticed later. */
export const readLastRun = async (of: RunOf): Promise<LastRun> => {
  const isRunning = loopOwner(of.project, of.target.id) !== null;
  const version = lastRunVersion(of);
  return { ...(await loadRun(of.project, of.target.id)), isRunning, version };
};

/** Changes whenever something about the last run is written. */
export const lastRunVersion = ({ project, target: { id } }: RunOf): string =>
  `${stateStamp(project, id)} ${historySize(project, id)}`;

/** Returns the last run with the status that the user state confirms. */
export const recordedRun = (
  { project, target, env }: RunOf & { readonly env: NodeJS.ProcessEnv },
  { view }: LastRun,
): RunView | null => view && asRecorded(userStateFolder(project, target.id, env), view);

/** Returns the run that would be resumed; null if there is none, or if it is running. */
export const interruptedRun = (of: RunOf, env: NodeJS.ProcessEnv, lastRun: LastRun): RunView | null => {
  if (lastRun.isRunning || !lastRun.hasSettings) return null;
  const recorded = recordedRun({ ...of, env }, lastRun);
  return recorded && isResumable(recorded) ? recorded : null;
};

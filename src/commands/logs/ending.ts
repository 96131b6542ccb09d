import { signalExitCodes } from '../../errors.ts';
import type { StopSignalName, StopSource } from '../../process/signals.ts';
import type { RunView } from '../../ralph/view.ts';
import { runsOf } from '../../store/runs.ts';
import { exitCodeFor } from '../runs/run-exit-code.ts';
import type { LogFiles } from './log-files.ts';

/** The exit code of a command that follows a run: that of the run, unless the command itself was interrupted. */
export const endCode = (view: RunView | null, stopped: StopSource | null): number => {
  if (stopped !== null) return exitCodeFor('interrupted', stopped);
  if (view === null || view.status === 'running') return 0;
  return exitCodeFor(view.status, signalOf(view));
};

/** The signal that ended a run, as its end says. */
const signalOf = ({ cause, detail }: RunView): StopSignalName | null => {
  if (cause !== 'signal') return null;
  const names = Object.keys(signalExitCodes) as StopSignalName[];
  return names.find((name) => detail?.includes(` ${name}`)) ?? null;
};

/** Why there is nothing of an iteration. */
export const whyMissing = ({ project, change, run }: LogFiles, view: RunView | null, iteration: number): string => {
  if (!runsOf(project, change).includes(run)) return `the files of run ${run} were deleted, maybe by "spool prune"`;
  if (view === null) return `the files of run ${run} were deleted, or an older version of Spool has written them`;
  const last = view.iteration;
  return iteration > last ? `run ${run} has only reached iteration ${last}` : 'it was deleted';
};

import { processesOf, terminateLeftovers } from '../process/tree.ts';
import type { RunView } from '../ralph/view.ts';
import { wasAbandoned } from './lock-owner.ts';
import { lockFile } from './paths.ts';
import type { Project } from './project.ts';

/*
 * What is left of a run whose Spool was killed: its agent and the processes that the agent has started. A run that ends in
 * any other way ends them, and releases its lock. They can be found on Linux only.
 */

type OpenRun = Pick<RunView, 'change' | 'run'>;

/** Returns the ids of the processes that are left of a run. */
export const leftoversOf = (project: Project, { change, run }: OpenRun): number[] =>
  wasAbandoned(lockFile(project, change)) ? processesOf(run) : [];

/** Ends them, as the next start of a run does. Returns how many there were. */
export const endLeftovers = async (project: Project, { change, run }: OpenRun): Promise<number> =>
  wasAbandoned(lockFile(project, change)) ? terminateLeftovers(run) : 0;

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { wasCommittedSince } from '../../git/versions.ts';
import { pathInTree, type WorkTree } from '../../git/work-tree.ts';
import { stateFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { saveIntervalMs } from '../emitter.ts';

/**
 * Returns the latest time at which the Spool of the last run may have been running. It saves its state at intervals.
 */
export const lastSaveOf = (project: Project, change: string): number | null => {
  const stats = statSync(stateFile(project, change), { throwIfNoEntry: false });
  return stats === undefined ? null : stats.mtimeMs + saveIntervalMs;
};

interface CrashedRun {
  readonly tree: WorkTree | null;
  readonly workProject: Project;
  readonly lastActivityMs: number | null;
  /** The number of its processes that were still running. */
  readonly leftovers: number;
}

/** Returns a function that tells whether a path was committed after the run, when no agent was left: by the user. */
export const committedByUser =
  ({ tree, workProject, lastActivityMs, leftovers }: CrashedRun) =>
  async (path: string): Promise<boolean> =>
    leftovers === 0 &&
    tree !== null &&
    lastActivityMs !== null &&
    wasCommittedSince(tree, pathInTree(tree, join(workProject.root, path)), lastActivityMs);

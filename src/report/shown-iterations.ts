import type { IterationRecord } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import { lastRecords } from '../store/history.ts';
import type { Project } from '../store/project.ts';

/** How many iterations of a run are shown, by its end and by `spool status`. */
export const shownIterations = 20;

/** Returns the last iterations of a run; none of a run after which another one was started. */
export const lastIterations = (project: Project, { change, run }: RunView): IterationRecord[] =>
  lastRecords(project, change, shownIterations).records.filter((record) => record.run === run);

import { entriesOf } from '../files/folders.ts';
import { folderNames } from '../files/read.ts';
import { allRunsFolder, runFolder, runsFolder } from './paths.ts';
import type { Project } from './project.ts';
import { runId } from './run-id.ts';

/** The changes that were ever run, including archived ones. */
export const changesWithRuns = (project: Project): string[] => folderNames(allRunsFolder(project));

/** The runs of a change that have a folder, oldest first. `spool prune` deletes old ones. */
export const runsOf = (project: Project, change: string): string[] =>
  folderNames(runsFolder(project, change)).filter((name) => runId.test(name));

/** The last iteration for which a run has a prompt or a log; null if there is none. */
export const lastIterationIn = (project: Project, change: string, run: string): number | null => {
  const numbers = entriesOf(runFolder(project, change, run)).map(
    ({ name }) => /^(\d{4,})\.(?:log|prompt\.md)$/.exec(name)?.[1],
  );
  return numbers.reduce<number | null>((last, found) => {
    const number = found === undefined ? 0 : Number(found);
    return number > (last ?? 0) ? number : last;
  }, null);
};

import { basesFile, tipsFile } from '../paths.ts';
import { appendLine, linesIn } from './lines.ts';

/** Called with the commit of the branch when a run is complete. */
export const recordTip = (folder: string, run: string, commit: string): void =>
  appendLine(tipsFile(folder), `${run} ${commit}\n`);

/** The commit that the branch of a run had when it was complete; null if it is unknown. */
export const recordedTip = (folder: string, run: string): string | null =>
  linesIn(tipsFile(folder))
    .findLast((line) => line.startsWith(`${run} `))
    ?.slice(run.length + 1) ?? null;

/** Called before agents work on a branch, with the branch to land it on. */
export const recordBase = (folder: string, branch: string, base: string | null): void =>
  appendLine(basesFile(folder), `${branch} ${base ?? ''}\n`);

/** Returns the branch to land it on: null if the run was started on no branch, undefined if nothing is recorded. */
export const recordedBase = (folder: string, branch: string): string | null | undefined => {
  // Names of branches have no blanks.
  const line = linesIn(basesFile(folder)).findLast((each) => each.startsWith(`${branch} `));
  return line === undefined ? undefined : line.slice(branch.length + 1) || null;
};

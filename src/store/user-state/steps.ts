import { isResumable, type RunView } from '../../ralph/view.ts';
import { stepsFile } from '../paths.ts';
import { dropPreviousVersion, isKnown, saveVersion } from './identity.ts';
import { appendLine, linesIn } from './lines.ts';

/**
 * Called before a run is written to state.json as started or resumed. `written` is what goes into state.json; the user
 * state has the secrets, as a resume needs them.
 */
export const recordRun = (folder: string, view: RunView, written: RunView): void => {
  saveVersion(folder, view, written);
  appendLine(stepsFile(folder), `${view.run} starting\n`);
};

/** Called when state.json has the run as recorded. From now on it must have this run, in this version. */
export const confirmRun = (folder: string, { run }: RunView): void => {
  dropPreviousVersion(folder, run);
  appendLine(stepsFile(folder), `${run} running\n`);
};

/** Called before a run is written to state.json as ended. */
export const recordEnd = (folder: string, { run, status }: RunView): void =>
  appendLine(stepsFile(folder), `${run} ${status}\n`);

interface Step {
  readonly run: string;
  readonly status: string;
}

const stepsIn = (folder: string): Step[] =>
  linesIn(stepsFile(folder)).map((line) => {
    const [run = '', status = ''] = line.split(' ');
    return { run, status };
  });

/** The last step that is in state.json, and the run that may have been about to start after it. */
const lastSteps = (folder: string): { readonly last: Step | null; readonly starting: string | null } => {
  const steps = stepsIn(folder);
  const newest = steps.at(-1);
  return {
    last: steps.findLast(({ status }) => status !== 'starting') ?? null,
    starting: newest?.status === 'starting' ? newest.run : null,
  };
};

/** Returns the run that is missing in state.json; null if state.json has the last run, or if that run has ended and there is no state.json. */
export const missingRun = (folder: string, view: RunView | null): string | null => {
  const { last, starting } = lastSteps(folder);
  if (last === null || view?.run === last.run || (view !== null && view.run === starting)) return null;
  return view !== null || isResumable(last) ? last.run : null;
};

/** How a run ended, once for each time; null for a run that was not started here. */
export const recordedEnds = (folder: string, run: string): readonly string[] | null => {
  if (!isKnown(folder, { run })) return null;
  const steps = stepsIn(folder).filter((step) => step.run === run);
  return steps.map(({ status }) => status).filter((status) => status !== 'starting' && status !== 'running');
};

/** A run that was started here has ended only if that is its last recorded step, regardless of state.json. */
export const asRecorded = (folder: string, view: RunView): RunView => {
  if (isResumable(view) || !isKnown(folder, view)) return view;
  const { last } = lastSteps(folder);
  return last?.run === view.run && last.status === view.status
    ? view
    : { ...view, status: 'interrupted', cause: null, detail: null };
};

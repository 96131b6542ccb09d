import { userError } from '../errors.ts';
import { type FlagName, flagOf } from '../config/flags.ts';
import { isTracked } from '../git/worktree.ts';
import { asRecorded, isSameStart, missingRun, recognise, recordedGate, recordFolder } from '../store/record.ts';
import { loopOwner, ralphFolder, readRun } from '../store/state.ts';
import type { RunView } from '../ralph/view.ts';
import { mask } from '../secrets/redact.ts';
import type { RunRequest } from './request.ts';

/**
 * An interrupted run is resumed with the gate, the agents and the place that its state.json names, so that file must be
 * Spool's own. One that was changed is refused; of one that was started elsewhere a person is asked once; one that came
 * with a clone is not resumed at all.
 */
export const checkOrigin = async (request: RunRequest): Promise<RunRequest> => {
  const { project, change, options, env } = request;
  if (options.fresh) return request;
  await checkLast(request);
  const view = await interruptedRun(request);
  if (view === null) return request;
  const recognised = recognise(recordFolder(project, change, env), view);
  if (recognised === 'same') return request;
  if (recognised !== 'unknown') throw userError('changed-run', change, recognised);
  if (await isTracked(project.root, ralphFolder(project, change))) {
    request.reporter.warn(`The run of ${change} came with the repository, so it is not resumed. Starting a new one.`);
    return { ...request, options: { ...options, fresh: true } };
  }
  await agree(request, view);
  askAgain(request, view);
  return { ...request, agreed: view };
};

/** The last run that was recorded is the one that state.json has, unless it has ended and there is no state.json any more. */
const checkLast = async ({ project, change, env }: RunRequest): Promise<void> => {
  if (loopOwner(project, change) !== null) return;
  const folder = recordFolder(project, change, env);
  const { view, isWhole } = await readRun(project, change);
  const missing = isWhole ? missingRun(folder, view) : null;
  if (missing !== null) throw userError('missing-run', change, missing, recordedGate(folder, missing));
};

/** The same for the run as it is read under the lock: the file, and the lock, may have been changed since the first look. */
export const checkUnchanged = ({ project, change, env, agreed }: RunRequest, saved: RunView): void => {
  const recognised = recognise(recordFolder(project, change, env), saved);
  if (recognised === 'same' || (recognised === 'unknown' && agreed && isSameStart(agreed, saved))) return;
  throw recognised === 'unknown' ? userError('unknown-run', change) : userError('changed-run', change, recognised);
};

/** What was redacted is known only where the run was started. */
const askAgain = (
  { change, explicit }: RunRequest,
  { gate, agents, completionPromise, blockedPromise }: RunView,
): void => {
  const kept: Partial<Record<FlagName, unknown>> = {
    verify: gate.verify,
    harness: agents,
    completionPromise,
    blockedPromise,
  };
  const names = Object.keys(kept) as FlagName[];
  const lost = names.find((name) => !explicit.has(name) && JSON.stringify(kept[name]).includes(mask));
  if (lost !== undefined) throw userError('redacted-run', change, flagOf(lost));
};

const interruptedRun = async ({ project, change, env }: RunRequest): Promise<RunView | null> => {
  if (loopOwner(project, change) !== null) return null;
  const { view: saved, isWhole } = await readRun(project, change);
  const view = saved && asRecorded(recordFolder(project, change, env), saved);
  return isWhole && (view?.status === 'running' || view?.status === 'interrupted') ? view : null;
};

const agree = async ({ change, env, person }: RunRequest, view: RunView): Promise<void> => {
  if (env.SPOOL_TRUST === '1') return;
  if (person === null) throw userError('unknown-run', change);
  if (!(await person.agreesToResume(view)))
    throw userError('cancelled', 'the run was not resumed (--fresh starts a new one)');
};

import { userError } from '../errors.ts';
import { asRecorded, recordFolder } from '../store/record.ts';
import { loopOwner, readRun } from '../store/state.ts';
import { clockTime, dayOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { RunRequest } from './request.ts';

/** A resumed run whose --until has passed would end before it begins: a person is asked for a new one, anybody else told. */
export const withNewUntil = async (request: RunRequest): Promise<RunRequest> => {
  const passed = await passedUntil(request);
  if (passed === null) return request;
  const { change, options, explicit, person } = request;
  const now = new Date();
  const when = `${clockTime(passed)} (${dayOf(passed, now)})`;
  if (person === null)
    throw userError('until-passed', when, commandLine('spool', 'ralph', '--change', change), clockTime(passed));
  const until = await person.chooseUntil(when);
  if (until === null) throw userError('cancelled', 'no time was given');
  return { ...request, options: { ...options, until }, explicit: new Set([...explicit, 'until' as const]) };
};

/** null while it is still to come, and for whatever is not a run that would be resumed. */
const passedUntil = async ({ project, change, options, explicit, env }: RunRequest): Promise<Date | null> => {
  if (options.fresh || explicit.has('until')) return null;
  const { view: saved, isWhole } = await readRun(project, change);
  const view = saved && asRecorded(recordFolder(project, change, env), saved);
  const isResumed = isWhole && (view?.status === 'running' || view?.status === 'interrupted');
  if (!view || !isResumed || loopOwner(project, change) !== null) return null;
  const { untilMs } = view.limits;
  return untilMs !== null && untilMs <= Date.now() ? new Date(untilMs) : null;
};

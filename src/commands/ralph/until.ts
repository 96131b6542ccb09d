import { userError } from '../../errors.ts';
import { asRecorded, recordFolder } from '../../project/record.ts';
import { loopOwner, readRun } from '../../project/state.ts';
import { noTime, parseValue, wanted } from '../../values.ts';
import { clockTime, dayOf } from '../../report/format.ts';
import { commandLine } from '../../shell-words.ts';
import type { RunRequest } from './run.ts';

/** A resumed run whose --until has passed would end before it begins: a person is asked for a new one, anybody else told. */
export const withNewUntil = async (request: RunRequest): Promise<RunRequest> => {
  const passed = await passedUntil(request);
  if (passed === null) return request;
  const { change, options, asked, call, shared } = request;
  const now = new Date();
  const when = `${clockTime(passed)} (${dayOf(passed, now)})`;
  if (!options.interactive || options.json || shared || !call.terminal.canAsk)
    throw userError('until-passed', when, commandLine('spool', 'ralph', '--change', change), clockTime(passed));
  const until = await askForTime(`--until ${when} has passed. New stop time (empty for none):`);
  return { ...request, options: { ...options, until }, asked: new Set([...asked, 'until' as const]) };
};

/** null while it is still to come, and for whatever is not a run that would be resumed. */
const passedUntil = async ({ project, change, options, asked, call }: RunRequest): Promise<Date | null> => {
  if (options.fresh || asked.has('until')) return null;
  const { view: saved, isWhole } = await readRun(project, change);
  const view = saved && asRecorded(recordFolder(project, change, call.env), saved);
  const isResumed = isWhole && (view?.status === 'running' || view?.status === 'interrupted');
  if (!view || !isResumed || loopOwner(project, change) !== null) return null;
  const { untilMs } = view.limits;
  return untilMs !== null && untilMs <= Date.now() ? new Date(untilMs) : null;
};

const askForTime = async (message: string): Promise<string> => {
  const { askText } = await import('../../report/ask.ts');
  const problem = (answer: string) =>
    answer.trim() === '' || parseValue('clock', answer) !== null ? undefined : `--until ${wanted.clock}.`;
  const answer = await askText(message, problem);
  if (answer === null) throw userError('cancelled', 'no time was given');
  return answer.trim() || noTime;
};

import { userError } from '../../errors.ts';
import { clockTime, relativeDay } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { interruptedRun, type LastRun } from './last-run.ts';
import type { RunSpec } from '../spec.ts';
import type { RunServices } from '../services.ts';

/**
 * A resumed run whose --until has passed would end at once. Asks the user for a new time, and throws without a
 * terminal.
 */
export const withNewUntil = async (spec: RunSpec, { env, person }: RunServices, lastRun: LastRun): Promise<RunSpec> => {
  const passed = passedUntil(spec, env, lastRun);
  if (passed === null) return spec;
  const { target, options, explicit } = spec;
  const now = new Date();
  const when = `${clockTime(passed)} (${relativeDay(passed, now)})`;
  if (person === null)
    throw userError('until-passed', when, commandLine('spool', 'ralph', '--change', target.id), clockTime(passed));
  const until = await person.chooseUntil(when);
  if (until === null) throw userError('cancelled', 'no time was given');
  return { ...spec, options: { ...options, until }, explicit: new Set([...explicit, 'until' as const]) };
};

/** Returns null if --until has not passed, or if no run would be resumed. */
const passedUntil = (spec: RunSpec, env: NodeJS.ProcessEnv, lastRun: LastRun): Date | null => {
  if (spec.options.fresh || spec.explicit.has('until')) return null;
  const view = interruptedRun(spec, env, lastRun);
  const untilMs = view?.limits.untilMs ?? null;
  return untilMs !== null && untilMs <= Date.now() ? new Date(untilMs) : null;
};

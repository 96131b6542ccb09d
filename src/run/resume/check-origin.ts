import { userError } from '../../errors.ts';
import { type FlagName, flagOf } from '../../config/flags.ts';
import { isTracked } from '../../git/work-tree.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { isSameStart, recognise, recordedGate } from '../../store/user-state/identity.ts';
import { missingRun } from '../../store/user-state/steps.ts';
import type { RunView } from '../../ralph/view.ts';
import { mask } from '../../secrets/redact.ts';
import { interruptedRun, type LastRun } from './last-run.ts';
import type { RunSpec } from '../spec.ts';
import type { RunServices } from '../services.ts';
import { ralphFolder } from '../../store/paths.ts';

/**
 * An interrupted run is resumed with the gate, the agents and the workspace in its state.json, so Spool must have
 * written that file. Throws if it was changed, asks the user if the run was started elsewhere, and does not resume a
 * run that came with a clone.
 */
export const checkOrigin = async (spec: RunSpec, services: RunServices, lastRun: LastRun): Promise<CheckedSpec> => {
  const { project, options } = spec;
  const change = spec.target.id;
  const { env } = services;
  const unchanged = { spec, agreed: null };
  if (options.fresh) return unchanged;
  checkLast(spec, env, lastRun);
  const view = interruptedRun(spec, env, lastRun);
  if (view === null) return unchanged;
  const recognised = recognise(userStateFolder(project, change, env), view);
  if (recognised === 'same') return unchanged;
  if (recognised !== 'unknown') throw userError('changed-run', change, recognised);
  if (await isTracked(project.root, ralphFolder(project, change))) {
    services.reporter.warn(`The run of ${change} came with the repository, so it is not resumed. Starting a new one.`);
    return { spec: { ...spec, options: { ...options, fresh: true } }, agreed: null };
  }
  await agree(spec, services, view);
  checkRedacted(spec, view);
  return { spec, agreed: view };
};

export interface CheckedSpec {
  readonly spec: RunSpec;
  /** A run that was started elsewhere and that the user agreed to resume; null otherwise. */
  readonly agreed: RunView | null;
}

/** Throws if state.json does not contain the last recorded run, unless that run has ended and the file was deleted. */
const checkLast = ({ project, target: { id: change } }: RunSpec, env: NodeJS.ProcessEnv, lastRun: LastRun): void => {
  const { view, hasSettings, isRunning } = lastRun;
  if (isRunning) return;
  const folder = userStateFolder(project, change, env);
  const missing = hasSettings ? missingRun(folder, view) : null;
  if (missing !== null) throw userError('missing-run', change, missing, recordedGate(folder, missing));
};

/** Checks the run again under the lock: the file may have changed since `checkOrigin`. */
export const checkUnchanged = (
  { project, target: { id: change } }: RunSpec,
  { env, agreed, saved }: { env: NodeJS.ProcessEnv; agreed: RunView | null; saved: RunView },
): void => {
  const recognised = recognise(userStateFolder(project, change, env), saved);
  if (recognised === 'same' || (recognised === 'unknown' && agreed && isSameStart(agreed, saved))) return;
  throw recognised === 'unknown' ? userError('unknown-run', change) : userError('changed-run', change, recognised);
};

/** Throws if a value that the run needs was redacted: it is known only on the machine where the run was started. */
const checkRedacted = (
  { target, explicit }: RunSpec,
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
  if (lost !== undefined) throw userError('redacted-run', target.id, flagOf(lost));
};

const agree = async ({ target }: RunSpec, { env, person }: RunServices, view: RunView): Promise<void> => {
  if (env.SPOOL_TRUST === '1') return;
  if (person === null) throw userError('unknown-run', target.id);
  if (!(await person.agreesToResume(view)))
    throw userError('cancelled', 'the run was not resumed (--fresh starts a new one)');
};

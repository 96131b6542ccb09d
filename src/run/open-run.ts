import { terminateOrphans } from '../process/tree.ts';
import { allAgents } from '../ralph/plan.ts';
import type { RunView } from '../ralph/view.ts';
import { createRedactor } from '../secrets/redact.ts';
import { makeRunFolder } from '../store/folders.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { confirmRun, recordEnd, recordRun } from '../store/user-state/steps.ts';
import type { ChangeLock } from '../store/run-lock.ts';
import { replaceState } from '../store/save-state.ts';
import { readState } from '../store/state.ts';
import { pluralise } from '../text/format.ts';
import { usableAgents } from './plan/agents.ts';
import type { Cleanup } from './cleanup.ts';
import type { RunContext } from './context.ts';
import { type RunControl, withControl } from './control.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import type { CheckedStart } from './check-start.ts';
import { reportsIn } from './plan/agent-reports.ts';
import { watchLimits } from './plan/reported-limits.ts';
import { checkUnchanged } from './resume/check-origin.ts';
import { createdNotice } from './new-change.ts';
import { environmentNotice, specNotices } from './start-notices.ts';
import { replanIfChanged, type Planned } from './plan/plan.ts';
import type { RunSpec } from './spec.ts';
import type { RunServices } from './services.ts';
import { createSessions } from './sessions.ts';
import { removeReviewCopy } from './review/copy.ts';
import { savePrompt } from './assignment.ts';
import { openAgentWorkspace } from './workspace/open-agent-workspace.ts';

export interface OpenedRun {
  readonly context: RunContext;
  readonly planned: Planned;
  readonly saveError: Emitter['saveError'];
}

interface LockedRun extends CheckedStart {
  readonly lock: ChangeLock;
}

/** Opens everything that a run uses: its journal, its workspace, the guard, a session for each agent. */
export const openRun = async (locked: LockedRun, services: RunServices, cleanup: Cleanup): Promise<OpenedRun> => {
  const { spec, lock, deadline, repository } = locked;
  const { planned, notices } = await finishPlan(locked, services);
  const { plan, previous } = planned;
  const sandbox = await locked.runSandbox.open(plan, allAgents(plan));
  const { saveError, ...recording } = openRecording({ ...locked, planned }, services, cleanup);
  const { emit, view, folder, elapsedMs } = recording;
  const announce = (text: string) => emit({ type: 'notice', text });
  deadline.setLimits(plan.limits, elapsedMs);
  sandbox?.onNotice(announce);
  notices.forEach(announce);
  // The processes of an earlier attempt are those of its worker, which ends them.
  const leftovers = services.cluster ? 0 : await cleanUpLeftovers(locked, planned, announce);
  removeReviewCopy({ project: spec.project, plan });
  const control = openControl(locked, services, { emit, view, cleanup });

  const tag = services.cluster?.tag ?? plan.run;
  const run = { ...givenBy(spec, services), ...recording, plan, tag, lock, sandbox, control, stopSignals: control };
  const work = await openAgentWorkspace({ ...run, previous, leftovers, deadline, repository }, cleanup);
  const sessions = createSessions({ ...run, ...work }, services.openSession);
  cleanup.add(sessions, (each) => each.close());
  const context: RunContext = {
    ...run,
    ...work,
    assignment: { ...locked.assignment, userPrompt: savePrompt(folder, locked.assignment.userPrompt) },
    sessions,
    isResumed: previous !== null,
    crashedMidIteration: previous !== null && crashedMidIteration(previous.view),
  };
  return { context, planned, saveError };
};

/** The parts of the context that the caller of `startRun` provides. */
const givenBy = (
  { project, target, options }: RunSpec,
  { env, findHarness, reporter, trusted, batch, cluster }: RunServices,
) => ({
  project,
  target,
  options,
  env,
  findHarness,
  reporter,
  trusted,
  batch: batch ?? null,
  cluster: cluster ?? null,
});

/** What records the run, from here on until the process ends. */
type Recording = Pick<RunContext, 'folder' | 'redactor' | 'elapsedMs' | 'emit' | 'view'> & Pick<Emitter, 'saveError'>;

const openRecording = (
  { spec, planned, stopwatch }: CheckedStart,
  { env, pid, reporter, findHarness, cluster }: RunServices,
  cleanup: Cleanup,
): Recording => {
  const { project } = spec;
  const { plan, previous } = planned;
  const folder = makeRunFolder(project, plan.change, plan.run);
  const redactor = createRedactor({ ...env, SPOOL_NOTIFY: spec.options.notify.join('\n') });
  const elapsedMs = () => Math.round((previous?.view.elapsedMs ?? 0) + stopwatch.elapsedMs());
  const userState = userStateFolder(project, plan.change, env);
  const emitter = createEmitter({
    project,
    planned,
    pid,
    report: reporter.onEvent,
    warn: reporter.warn,
    elapsedMs,
    recorder: {
      starting: (view, written) => recordRun(userState, view, written),
      started: (view) => confirmRun(userState, view),
      ending: (view) => recordEnd(userState, view),
    },
    redactor,
  });
  cleanup.add(emitter, (each) => each.dispose());
  const circumstances = { options: spec.options, isSandboxed: plan.sandbox, isWorker: cluster !== undefined };
  const emit = watchLimits(plan, reportsIn(circumstances, findHarness), emitter.emit);
  return { folder, redactor, elapsedMs, emit, view: emitter.view, saveError: emitter.saveError };
};

/** Listens for signals and for requests of other processes, until the run ends. */
const openControl = (
  { spec, deadline }: LockedRun,
  { onStopSignals, env, batch }: RunServices,
  { emit, view, cleanup }: Pick<RunContext, 'emit' | 'view'> & { cleanup: Cleanup },
): RunControl => {
  const signals = onStopSignals((text) => emit({ type: 'notice', text }));
  const { project, target } = spec;
  const control = withControl(signals, { project, change: target.id, env, emit, view, batch });
  cleanup.add(control, (each) => each.dispose());
  deadline.followSignals(control);
  return control;
};

/** Returns the final plan, under the lock, and the notices about it. */
const finishPlan = async ({ spec, planned: before, usable, agreed }: LockedRun, services: RunServices) => {
  const { env, trusted } = services;
  const found = await replanIfChanged(before, { ...spec, env });
  const { previous, damage } = found;
  if (previous) checkUnchanged(spec, { env, agreed, saved: previous.saved });
  trusted.check({ ...spec, ...found });
  const { agents, notices } = found === before ? usable : usableAgents(found.plan, spec, services);
  const damaged = damage === null ? [] : [replaceDamaged(spec, damage)];
  return {
    planned: { ...found, plan: { ...found.plan, agents } },
    notices: [
      ...createdNotice(spec),
      ...(found.previous ? [] : spec.target.warnings(spec.project.root)),
      ...(spec.notices ?? []),
      ...(await specNotices(spec)),
      ...damaged,
      ...environmentNotice(env),
      ...notices,
      ...found.notices,
    ],
  };
};

const replaceDamaged = ({ project, target }: RunSpec, { text, rebuilt }: NonNullable<Planned['damage']>): string =>
  `${text} The damaged file is saved as ${replaceState(project, target.id, rebuilt)}.`;

/**
 * Terminates processes of runs whose Spool is gone, whether the runs are resumed or not. Returns how many there were.
 */
const cleanUpLeftovers = async (
  { spec, lock }: LockedRun,
  { crashedRun }: Planned,
  announce: (text: string) => void,
): Promise<number> => {
  const { replaced } = lock;
  const dead = replaced === null ? null : ((await readState(spec.project, replaced).catch(() => null))?.run ?? null);
  let all = 0;
  for (const run of new Set([crashedRun, dead])) {
    const ended = run === null ? 0 : await terminateOrphans(run);
    if (ended === 0) continue;
    const processes = pluralise(ended, 'process', 'processes');
    announce(`Cleaned up ${processes} left over from the last run.`);
    all += ended;
  }
  return all;
};

/** Returns whether a run ended while its agent was running, not during the gate. */
const crashedMidIteration = ({ status, iteration, finishedIterations, pending }: RunView): boolean =>
  status === 'running' && iteration > finishedIterations && pending === null;

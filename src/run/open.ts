import { dirname } from 'node:path';
import { createFolder } from '../files/folders.ts';
import { removeSafely, writeSafely } from '../files/safe.ts';
import { guardSettings } from '../git/call/settings.ts';
import { findWorkTree, type WorkTree } from '../git/work-tree.ts';
import { forgetGoal, openGuard } from '../guard/guard.ts';
import { terminateOrphans } from '../process/tree.ts';
import type { Emit } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { createRedactor } from '../secrets/redact.ts';
import { makeRunFolder, newTempIndex } from '../store/folders.ts';
import { takeOverNotes } from '../store/notes.ts';
import type { Project } from '../store/project.ts';
import { confirmRun, recordEnd, userRecordFolder, recordRun } from '../store/user-record.ts';
import type { ChangeLock } from '../store/run-lock.ts';
import { replaceState } from '../store/save-state.ts';
import { readState } from '../store/state.ts';
import { pluralise } from '../text/format.ts';
import { limitedEnvironment, usableAgents } from './agents.ts';
import type { Cleanup } from './cleanup.ts';
import type { RunContext } from './context.ts';
import { withControl } from './control.ts';
import { openWorkspaceCopies } from './copies.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import type { DraftRun } from './draft.ts';
import { watchLimits } from './limits.ts';
import { checkUnchanged } from './check-resumed.ts';
import { planAgain, type Planned } from './plan.ts';
import { noteRepository } from './repository.ts';
import type { RunSpec } from './spec.ts';
import type { RunServices } from './services.ts';
import { createSessions } from './sessions.ts';
import { savePrompt } from './assignment.ts';
import { commitsSince, lastActivityOf } from './unsettled.ts';
import { openWorkspace } from './workspace.ts';
import { workspaceFile } from '../store/paths.ts';

export interface OpenedRun {
  readonly context: RunContext;
  readonly planned: Planned;
  readonly saveError: Emitter['saveError'];
}

interface LockedRun extends DraftRun {
  readonly lock: ChangeLock;
}

/** Opens everything that a run uses: its journal, its workspace, the guard, a session for each agent. */
export const openRun = async (draft: LockedRun, services: RunServices, cleanup: Cleanup): Promise<OpenedRun> => {
  const { spec, lock, deadline } = draft;
  const { project, change, options } = spec;
  const { env, findHarness, reporter, trusted } = services;
  const { planned, notices } = await settlePlan(draft, services);
  const { plan, previous } = planned;
  const sandbox = await draft.runSandbox.open(plan, plan.agents);
  const folder = makeRunFolder(project, change, plan.run);
  const redactor = createRedactor(env);
  const elapsedMs = () => Math.round((previous?.view.elapsedMs ?? 0) + performance.now() - draft.beganMs);
  deadline.setLimits(plan.limits, elapsedMs());
  const record = userRecordFolder(project, change, env);
  const emitter = createEmitter({
    project,
    planned,
    pid: services.pid,
    report: reporter.onEvent,
    warn: reporter.warn,
    elapsedMs,
    record: {
      starting: (view, written) => recordRun(record, view, written),
      started: (view) => confirmRun(record, view),
      ending: (view) => recordEnd(record, view),
    },
    redactor,
  });
  cleanup.add(emitter, (each) => each.dispose());
  const emit = watchLimits(plan, findHarness, emitter.emit);
  sandbox?.onNotice((text) => emit({ type: 'notice', text }));
  for (const text of notices) emit({ type: 'notice', text });
  const leftovers = await endLeftovers(draft, planned, emit);
  const signals = services.onStopSignals(() =>
    emit({ type: 'notice', text: 'Stopping… (Ctrl-C again to force quit)' }),
  );
  const stopSignals = withControl(signals, { project, change, emit });
  cleanup.add(stopSignals, (each) => each.dispose());
  deadline.followSignals(stopSignals);

  const run = { change, options, plan, previous };
  const checkSetup = (root: string) => trusted.checkIn(root, run, 'worktreeSetup');
  const exclusive = services.batch?.exclusive ?? ((work) => work());
  const opening = exclusive(() =>
    openWorkspace({
      project,
      change,
      options,
      env,
      folder,
      redactor,
      emit,
      sandbox,
      stopSignals,
      checkSetup,
      previous: previous?.view.workspace ?? null,
    }),
  );
  const workspace = await opening.catch(deadline.rethrow);
  const work = { root: workspace.root };
  writeSafely(workspaceFile(folder), `${workspace.root}\n`);
  const tree = await openWorkTree({ work, env }, emit);
  if (tree) cleanup.add(tree, ({ tempIndex }) => removeSafely(dirname(tempIndex)));
  createFolder(record);
  await noteRepository({ project, change, env });
  const notes = takeOverNotes({ run: plan.run, folder, record, redact: redactor.data });
  if (options.fresh) forgetGoal(record);
  // Opened before Spool commits anything: commits since the interruption of the last run were made by the user.
  const guard = await openGuard({
    project: work,
    change,
    commands: plan.gate.verify,
    folder: record,
    committedSince: commitsSince({ tree, work, leftovers, lastActivityMs: lastActivityOf(project, change) }),
  });
  if (workspace.worktree !== null) trusted.checkIn(workspace.root, run, 'harness');
  // Files that were guarded before are known, so they need no trust.
  if (workspace.worktree !== null && guard.isNew) trusted.checkIn(workspace.root, run, 'verify');
  const copies = await openWorkspaceCopies({ project, change, workspace, guard, emit });
  const task = { ...draft.task, userPrompt: await savePrompt(folder, draft.task.userPrompt) };
  const batch = services.batch ?? null;
  const sessions = createSessions(
    {
      project,
      plan,
      options,
      workProject: work,
      workspace,
      env,
      stopSignals,
      redactor,
      sandbox,
      batch,
    },
    services.openSession,
  );
  cleanup.add(sessions, (each) => each.close());
  const context: RunContext = {
    project,
    workProject: work,
    options,
    plan,
    assignment: task,
    workspace,
    tree,
    guard,
    copies,
    folder,
    notes,
    lock,
    emit,
    view: emitter.view,
    redactor,
    sessions,
    sandbox,
    stopSignals,
    elapsedMs,
    crashedMidIteration: previous !== null && crashedMidIteration(previous.view),
    env,
    findHarness,
    reporter,
    trusted,
    batch,
  };
  return { context, planned, saveError: emitter.saveError };
};

/** Returns the final plan, under the lock, and the notices about it. */
const settlePlan = async ({ spec, planned: drafted, usable, agreed }: LockedRun, services: RunServices) => {
  const { env, trusted } = services;
  const found = await planAgain(drafted, { ...spec, env });
  const { previous, damage } = found;
  if (previous) checkUnchanged(spec, { env, agreed, saved: previous.saved });
  trusted.check({ ...spec, ...found });
  const { agents, notices } = found === drafted ? usable : usableAgents(found.plan, spec, services);
  const damaged = damage === null ? [] : [replaceDamaged(spec, damage)];
  return {
    planned: { ...found, plan: { ...found.plan, agents } },
    notices: [...damaged, ...limitedEnvironment(env), ...notices, ...found.notices],
  };
};

const replaceDamaged = ({ project, change }: RunSpec, { text, rebuilt }: NonNullable<Planned['damage']>): string =>
  `${text} The damaged file is saved as ${replaceState(project, change, rebuilt)}.`;

/**
 * Terminates processes of runs whose Spool is gone, whether the runs are resumed or not. Returns how many there were.
 */
const endLeftovers = async ({ spec, lock }: LockedRun, { crashedRun }: Planned, emit: Emit): Promise<number> => {
  const { replaced } = lock;
  const dead = replaced === null ? null : ((await readState(spec.project, replaced).catch(() => null))?.run ?? null);
  let all = 0;
  for (const run of new Set([crashedRun, dead])) {
    const ended = run === null ? 0 : await terminateOrphans(run);
    if (ended === 0) continue;
    const processes = pluralise(ended, 'process', 'processes');
    emit({ type: 'notice', text: `Cleaned up ${processes} left over from the last run.` });
    all += ended;
  }
  return all;
};

/** Returns null without a git repository, or if git refuses it, which is announced. */
const openWorkTree = async (
  { work, env }: { work: Project; env: NodeJS.ProcessEnv },
  emit: Emit,
): Promise<WorkTree | null> => {
  const found = await findWorkTree(work.root, newTempIndex(env));
  if (found.kind === 'refused') emit({ type: 'notice', text: `Nothing will be committed, git refuses: ${found.why}` });
  if (found.kind !== 'found') return null;
  await guardSettings(found.tree);
  return found.tree;
};

/** Returns whether a run ended while its agent was running, not during the gate. */
const crashedMidIteration = ({ status, iteration, finishedIterations, pending }: RunView): boolean =>
  status === 'running' && iteration > finishedIterations && pending === null;

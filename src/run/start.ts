import { join } from 'node:path';
import { systemProblem } from '../errors.ts';
import { tipOf } from '../git/branches.ts';
import { holdSettings } from '../git/settings.ts';
import { createFolder, removeOwn, writeOwn } from '../files/own.ts';
import { findWorkTree, gitDirOf, type WorkTree } from '../git/worktree.ts';
import { missingBinary } from '../harness/registry.ts';
import { passed } from '../process/passed-environment.ts';
import { terminateOrphans } from '../process/tree.ts';
import { readProposal } from '../changes/changes.ts';
import { readIfThere } from '../files/read.ts';
import { forgetGoal, openGuard } from '../guard/guard.ts';
import { type Project, stateFolder } from '../store/project.ts';
import { moduleOf } from '../changes/ids.ts';
import { confirmRun, recordEnd, recordFolder, recordRun, recordTip } from '../store/record.ts';
import { readModule } from '../changes/modules.ts';
import { takeOverNotes } from '../store/notes.ts';
import { ralphFolder, readState } from '../store/state.ts';
import { type ChangeLock, lockChange } from '../store/run-lock.ts';
import { replaceState } from '../store/save-state.ts';
import { makeRunFolder, newScratch } from '../store/folders.ts';
import type { Emit, Workspace, RunPlan } from '../ralph/events.ts';
import { runLoop, type LoopState } from '../ralph/loop.ts';
import type { RunView } from '../ralph/view.ts';
import { pluralise } from '../text/format.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import type { Sandbox } from '../process/sandbox.ts';
import { checkTask } from './task.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import { createRunDeadline, type RunDeadline } from './deadline.ts';
import { checkLimits, watchLimits } from './limits.ts';
import { createNotify } from './notify.ts';
import { openWorkspaceCopies } from './copies.ts';
import { releaseWorkspace, openWorkspace } from './workspace.ts';
import { agentsOf, newRunId, type Planned, planRun } from './plan.ts';
import { createRunSandbox, distrustWritable, type RunSandbox } from './sandbox.ts';
import type { StopSignals } from '../process/signals.ts';
import type { RunTask } from './context.ts';
import { commitsSince, lastActivityOf, announceUnsettled } from './unsettled.ts';
import { withNewUntil } from './until.ts';
import { checkUnchanged, checkOrigin } from './origin.ts';
import { createSessions } from './sessions.ts';
import { createLoopHost } from './host.ts';
import type { RunRequest, RunResult } from './request.ts';

/** How many names of what is guarded are announced. */
const mostGuarded = 50;

/** What the user can have got wrong is found before the lock is taken; nothing is written until then. */
export const startRun = async (given: RunRequest): Promise<RunResult> => {
  const request = { ...(await withNewUntil(await checkOrigin(given))), newRun: newRunId() };
  const end = createRunDeadline();
  try {
    return await startWithin({ ...request, end, began: performance.now() });
  } finally {
    end.dispose();
  }
};

interface TimedRequest extends RunRequest {
  readonly newRun: string;
  readonly end: RunDeadline;
  /** When it was started, in the milliseconds of `performance`. */
  readonly began: number;
}

const startWithin = async (request: TimedRequest): Promise<RunResult> => {
  const { options, end, find } = request;
  distrustWritable(
    options,
    request,
    agentsOf(options).map(({ harness }) => find(harness)),
  );
  end.within({ maxDurationMs: options.maxDuration, untilMs: Infinity }, 0);
  const task = await readTask(request);
  const planned = await planRun(request);
  if (planned.previous === null) await checkTask(request, task, planned.plan);
  const { agents } = presentAgents(planned.plan, request);
  const runSandbox = createRunSandbox({ ...request, stop: end.stop });
  try {
    await openStoppably(request, () => runSandbox.open(planned.plan, agents));
    return await runAlone({ ...request, task, runSandbox }, planned);
  } finally {
    await runSandbox.close();
  }
};

/** Building a sandbox takes a while, and may take for ever where something is wrong with it. */
const openStoppably = async ({ onStopSignals, end }: TimedRequest, open: () => Promise<unknown>): Promise<void> => {
  const stopSignals = onStopSignals(() => {});
  end.endWith(stopSignals);
  try {
    await open().catch(end.rethrow);
    if (stopSignals.received() !== null) end.rethrow(null);
  } finally {
    stopSignals.dispose();
  }
};

/** No other run works on this change, or in this work tree, at the same time. */
const runAlone = async (request: Omit<LockedRequest, 'lock'>, planned: Planned): Promise<RunResult> => {
  const { project, change } = request;
  const isolateAgentData = request.options.worktree || Boolean(planned.previous?.view.workspace?.worktree);
  const treeFolder = isolateAgentData ? null : ((await gitDirOf(project.root)) ?? stateFolder(project));
  const lock = lockChange(project, change, { treeFolder });
  try {
    return await runLocked({ ...request, lock });
  } finally {
    lock.release();
  }
};

interface LockedRequest extends TimedRequest {
  readonly task: RunTask;
  readonly lock: ChangeLock;
  readonly runSandbox: RunSandbox;
}

const runLocked = async (request: LockedRequest): Promise<RunResult> => {
  const { project, change, find, env, reporter, lock } = request;
  const found = await planRun(request);
  const { plan: wanted, previous, crashedRun } = found;
  if (previous) checkUnchanged(request, previous.saved);
  request.trusted.check({ ...request, ...found });
  const { agents, notices } = presentAgents(wanted, request);
  const narrowed = narrowedEnvironment(env);
  const planned = { ...found, plan: { ...wanted, agents } };
  const sandbox = await request.runSandbox.open(wanted, agents);
  const folder = makeRunFolder(project, change, wanted.run);
  const redactor = createRedactor(env);
  const elapsedMs = () => Math.round((previous?.view.elapsedMs ?? 0) + performance.now() - request.began);
  request.end.within(wanted.limits, elapsedMs());
  const records = recordFolder(project, change, env);
  const emitter = createEmitter({
    project,
    planned,
    report: reporter.onEvent,
    elapsedMs,
    record: {
      starting: (view, written) => recordRun(records, view, written),
      started: (view) => confirmRun(records, view),
      ending: (view) => recordEnd(records, view),
    },
    redactor,
  });
  const emit = watchLimits(planned.plan, find, emitter.emit);
  sandbox?.tell((text) => emit({ type: 'notice', text }));
  const damaged = found.damage === null ? [] : [replaceDamaged(request, found.damage)];
  for (const text of [...damaged, ...narrowed, ...notices, ...found.notices]) emit({ type: 'notice', text });
  const dead =
    lock.replaced === null ? null : ((await readState(project, lock.replaced).catch(() => null))?.run ?? null);
  let leftovers = 0;
  for (const run of new Set([crashedRun, dead])) if (run !== null) leftovers += await endLeftovers(run, emit);
  const stopSignals = request.onStopSignals((signal) =>
    emit({ type: 'notice', text: `${signal}: ending what runs; once more kills it now.` }),
  );
  request.end.endWith(stopSignals);
  try {
    return await runPlanned({
      ...request,
      ...planned,
      sandbox,
      folder,
      redactor,
      elapsedMs,
      emitter,
      emit,
      stopSignals,
      leftovers,
    });
  } finally {
    emitter.dispose();
    stopSignals.dispose();
  }
};

interface PlannedRequest extends LockedRequest, Planned {
  /** null where the run has none. */
  readonly sandbox: Sandbox | null;
  readonly folder: string;
  readonly redactor: Redactor;
  readonly elapsedMs: () => number;
  readonly emitter: Emitter;
  readonly emit: Emit;
  readonly stopSignals: StopSignals;
  /** How many processes of a run that was cut off were still there. */
  readonly leftovers: number;
}

const runPlanned = async (request: PlannedRequest): Promise<RunResult> => {
  const { project, change, options, plan, previous, folder, emitter, emit } = request;
  const checkSetup = (root: string) => request.trusted.checkIn(root, request, 'worktreeSetup');
  const exclusive = request.batch?.exclusive ?? ((task: () => Promise<Workspace>) => task());
  const opening = exclusive(() =>
    openWorkspace({ ...request, previous: previous?.view.workspace ?? null, checkSetup }),
  );
  const workspace = await opening.catch(request.end.rethrow);
  const work = { root: workspace.root };
  writeOwn(join(folder, 'workspace'), `${workspace.root}\n`);
  const tree = await openWorkTree({ ...request, work }, emit);
  const kept = recordFolder(project, change, request.env);
  createFolder(kept);
  const notes = takeOverNotes({ run: plan.run, folder, record: kept });
  if (options.fresh) forgetGoal(kept);
  // Before Spool commits anything: what was committed since the last run was cut off is a person's.
  const guard = await openGuard({
    project: work,
    change,
    commands: plan.gate.verify,
    folder: kept,
    committedSince: commitsSince({ ...request, tree, work, lastSignMs: lastActivityOf(project, change) }),
  });
  if (workspace.worktree !== null) request.trusted.checkIn(workspace.root, request, 'harness');
  // What was guarded before is not trusted, but known.
  if (workspace.worktree !== null && guard.isNew) request.trusted.checkIn(workspace.root, request, 'verify');
  const copies = await openWorkspaceCopies({ project, change, workspace, guard, emit });
  const task = { ...request.task, userPrompt: await keepPrompt(folder, request.task.userPrompt) };
  const usageOfOthers = request.batch?.usageOfOthers ?? (() => null);
  const crashedMidIteration = previous !== null && crashedMidIterationOf(previous.view);
  const isolateAgentData = request.batch?.isolateAgentData ?? false;
  const opened = {
    ...request,
    workspace,
    work,
    task,
    tree,
    notes,
    guard,
    copies,
    crashedMidIteration,
    usageOfOthers,
    isolateAgentData,
  };
  const sessions = createSessions(opened);
  const parts = { ...opened, sessions };
  const notify = createNotify(parts);
  const guarded = plan.gate.allowTampering ? [] : guard.names().slice(0, mostGuarded);
  const commands = request.trusted.originsOf(request);
  emit({ type: 'run-started', plan, workspace, commands, guarded, at: new Date().toISOString() });
  if (!plan.gate.allowTampering) await announceUnsettled(parts);
  request.end.giveGrace(options.stopGrace);
  try {
    const reason = await runLoop(plan, initialLoopState(request), createLoopHost(parts, emitter.view));
    // What the agent may change begins anew with the next goal.
    if (reason === 'complete') {
      forgetGoal(kept);
      const tip = workspace.branch === null ? null : await tipOf(project.root, workspace.branch);
      if (tip !== null) recordTip(kept, plan.run, tip);
    }
    const left = await releaseWorkspace({ project, change, workspace, done: reason === 'complete' });
    for (const text of left) emit({ type: 'notice', text });
    const view = emitter.view();
    await notify(view);
    return { reason, cause: view.cause, detail: view.detail ?? '', view };
  } catch (error) {
    // The run can be resumed, so its state stays; but whoever waits for its end is told.
    const view = { ...emitter.view(), status: 'failed', cause: null, detail: systemProblem(error) } as const;
    await notify(view);
    throw error;
  } finally {
    await sessions.close();
    if (tree) removeOwn(tree.tempIndex);
  }
};

/** The agents that are there, and what to say of the others; an error when there is none. */
const presentAgents = (plan: RunPlan, { find, env, cwd, project }: RunRequest) => {
  const lookup = { env, cwds: [cwd, project.root] };
  const looked = plan.agents.map((agent) => ({ agent, problem: missingBinary(find(agent.harness), lookup) }));
  const agents = looked
    .filter(({ problem }) => problem === null)
    .map(({ agent }) => (find(agent.harness).launch.choosesOwnModel ? { ...agent, model: null } : agent));
  const modelled = plan.agents.filter((agent) => agent.model !== null && find(agent.harness).launch.choosesOwnModel);
  const missing = looked.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (agents.length === 0 && missing[0]) throw missing[0];
  const ignored = modelled.map(
    ({ harness, model }) => `${find(harness).title} is not given the model ${model}: it chooses its model itself.`,
  );
  const unchecked = checkLimits({ agents, limits: plan.limits }, find);
  return { agents, notices: [...missing.map(({ message }) => message), ...ignored, ...unchecked] };
};

/** An agent that misses a variable fails in ways that do not say so. */
const narrowedEnvironment = (env: NodeJS.ProcessEnv): string[] => {
  const [all, some] = [Object.keys(env).length, Object.keys(passed(env)).length];
  return all === some ? [] : [`${some} of ${all} variables of the environment are passed on (env.pass).`];
};

/** null where there is no git, which is fine, or where git refuses, which is said. */
const openWorkTree = async (
  { project, work, change }: RunRequest & { work: Project },
  emit: Emit,
): Promise<WorkTree | null> => {
  const found = await findWorkTree(work.root, newScratch(ralphFolder(project, change)));
  if (found.kind === 'refused') emit({ type: 'notice', text: `Nothing will be committed, git refuses: ${found.why}` });
  if (found.kind !== 'found') return null;
  await holdSettings(found.tree);
  return found.tree;
};

const replaceDamaged = ({ project, change }: RunRequest, { text, rebuilt }: NonNullable<Planned['damage']>): string =>
  `${text} The damaged file is saved as ${replaceState(project, change, rebuilt)}.`;

/** Ends what a run whose Spool is gone may have left running, whether it is resumed or not. */
const endLeftovers = async (run: string, emit: Emit): Promise<number> => {
  const ended = await terminateOrphans(run);
  if (ended > 0)
    emit({
      type: 'notice',
      text: `Ended what the last run had left running: ${pluralise(ended, 'process', 'processes')}.`,
    });
  return ended;
};

/** The user's prompt is kept with the run, so that it is there when the run is resumed without one. */
const keepPrompt = async (folder: string, userPrompt: string): Promise<string> => {
  const file = join(folder, 'user-prompt.md');
  if (userPrompt.trim() === '') return (await readIfThere(file)) ?? '';
  writeOwn(file, userPrompt);
  return userPrompt;
};

const readTask = async ({ project, change, prompt }: RunRequest): Promise<RunTask> => {
  const moduleId = moduleOf(change);
  return {
    proposal: await readProposal(project, change),
    module: moduleId === null ? null : await readModule(project, moduleId),
    userPrompt: prompt,
  };
};

const initialLoopState = ({ previous, cooldowns }: Planned): LoopState => ({
  last: previous?.last ?? null,
  cooldowns: new Map(Object.entries(cooldowns)),
  pending: previous?.view.pending ?? null,
});

/** In the middle of an iteration; one whose agent has ended was not. */
const crashedMidIterationOf = ({ status, iteration, finishedIterations, pending }: RunView): boolean =>
  status === 'running' && iteration > finishedIterations && pending === null;

import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { systemProblem, userError } from '../../errors.ts';
import { findWorkTree, type WorkTree } from '../../git/worktree.ts';
import type { Harness } from '../../harness/harness.ts';
import { missingBinary } from '../../harness/index.ts';
import { endRun } from '../../processes.ts';
import { readProposal } from '../../project/changes.ts';
import { readIfThere } from '../../project/files.ts';
import { openGuard } from '../../project/guard.ts';
import type { Project } from '../../project/find.ts';
import { moduleOf } from '../../project/ids.ts';
import { readModule } from '../../project/modules.ts';
import { type ChangeLock, lockChange, makeRunFolder, ralphFolder, writeState } from '../../project/state.ts';
import type { Emit, RunPlan, StopReason } from '../../ralph/events.ts';
import { runLoop, type Standing } from '../../ralph/loop.ts';
import { emptyTally } from '../../ralph/tally.ts';
import { initialView, reduceView } from '../../ralph/view.ts';
import { count } from '../../report/format.ts';
import { createJsonReport } from '../../report/json.ts';
import { createLiveReport } from '../../report/live.ts';
import type { Report } from '../../report/report.ts';
import { createRedactor } from '../../redact.ts';
import type { Call } from '../command.ts';
import { notify } from './notify.ts';
import { leavePlace, openPlace } from './place.ts';
import { type Planned, type PlanRequest, planRun } from './plan.ts';
import { exitCodeOf, listenForStops, type Stops } from './signals.ts';
import type { Brief } from './parts.ts';
import { makeWorld } from './world.ts';

export interface RunRequest extends PlanRequest {
  /** The harness of that name; an error when there is none. */
  readonly find: (name: string) => Harness;
  readonly call: Call;
}

/** How long processes of a run whose Spool is gone may take to end. */
const leftoverGraceMs = 2000;

/** What the user can have got wrong is found before the lock is taken; nothing is written until then. */
export const startRun = async (request: RunRequest): Promise<number> => {
  const { project, change } = request;
  const brief = await readBrief(request);
  const planned = await planRun(request);
  presentAgents(planned.plan, request);
  const apart = request.options.worktree || Boolean(planned.previous?.view.place?.worktree);
  const lock = lockChange(project, change, { apart });
  try {
    return await runLocked({ ...request, brief, lock });
  } finally {
    lock.release();
  }
};

interface LockedRequest extends RunRequest {
  readonly brief: Brief;
  readonly lock: ChangeLock;
}

const runLocked = async (request: LockedRequest): Promise<number> => {
  const { project, change, options, find, call } = request;
  const { plan: wanted, previous, cutOff } = await planRun(request);
  const { agents, notices } = presentAgents(wanted, request);
  const plan = { ...wanted, agents };
  const folder = makeRunFolder(project, change, plan.run);
  const userPrompt = await keepPrompt(folder, request.brief.userPrompt);
  const redactor = createRedactor(call.env);
  const report = options.json
    ? createJsonReport(call.terminal, redactor)
    : createLiveReport(call.terminal, {
        stream: options.stream,
        verbose: options.verbose,
        harness: find,
        folder: relative(call.cwd, folder) || '.',
      });
  const began = performance.now();
  const elapsedMs = () => Math.round((previous?.view.elapsedMs ?? 0) + performance.now() - began);
  const { emit, view } = createEmit({ ...request, elapsedMs }, { plan, previous, cutOff }, report);
  for (const text of notices) emit({ type: 'notice', text });
  if (previous) emit({ type: 'notice', text: resumed(plan) });
  if (cutOff !== null) await endLeftovers(cutOff, emit);
  const stops = listenForStops((signal) =>
    emit({ type: 'notice', text: `${signal}: ending the agent; once more kills it now.` }),
  );
  try {
    const place = await openPlace({
      ...request,
      previous: previous?.view.place ?? null,
      folder,
      stops,
      redactor,
      emit,
    });
    const work = { root: place.root };
    const tree = await openWorkTree({ ...request, work }, emit);
    const guard = await openGuard({
      project: work,
      change,
      commands: plan.gate.verify,
      file: join(folder, 'guard.json'),
    });
    const brief = { ...request.brief, userPrompt };
    const parts = { ...request, work, brief, plan, folder, tree, stops, emit, guard, redactor, elapsedMs };
    emit({ type: 'run-started', plan, place, at: new Date().toISOString() });
    const reason = await runLoop(plan, standingOf(previous), makeWorld(parts));
    const left = await leavePlace(project, place, reason === 'complete');
    if (left !== null) emit({ type: 'notice', text: left });
    if (options.notify !== null) await notify(options.notify, { ...parts, view: view() });
    return exitCode(reason, stops);
  } finally {
    stops.dispose();
  }
};

/** The agents that are there, and what to say of the others; an error when there is none. */
const presentAgents = (plan: RunPlan, { find, call }: RunRequest) => {
  const looked = plan.agents.map((agent) => ({
    agent,
    problem: missingBinary(find(agent.harness), call.env.PATH ?? ''),
  }));
  const agents = looked
    .filter(({ problem }) => problem === null)
    .map(({ agent }) => (find(agent.harness).ownModel ? { ...agent, model: null } : agent));
  const modelled = plan.agents.filter((agent) => agent.model !== null && find(agent.harness).ownModel);
  const missing = looked.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (agents.length === 0 && missing[0]) throw missing[0];
  const ignored = modelled.map(
    ({ harness, model }) => `${find(harness).title} is not given the model ${model}: it chooses its model itself.`,
  );
  return { agents, notices: [...missing.map(({ message }) => message), ...ignored] };
};

/** null where there is no git, which is fine, or where git refuses, which is said. */
const openWorkTree = async (
  { project, work, change }: RunRequest & { work: Project },
  emit: Emit,
): Promise<WorkTree | null> => {
  const scratch = join(ralphFolder(project, change), `index.${randomUUID()}`);
  const found = await findWorkTree(work.root, scratch);
  if (found.kind === 'refused') emit({ type: 'notice', text: `Nothing will be committed, git refuses: ${found.why}` });
  return found.kind === 'found' ? found.tree : null;
};

const resumed = ({ firstIteration }: RunPlan) =>
  `The last run was interrupted; going on with iteration ${firstIteration} (--fresh starts anew).`;

/** Ends what a run whose Spool is gone may have left running, whether it is resumed or not. */
const endLeftovers = async (run: string, emit: Emit): Promise<void> => {
  const ended = await endRun(run, leftoverGraceMs);
  if (ended === 0) return;
  emit({ type: 'notice', text: `Ended what the last run had left running: ${count(ended, 'process', 'processes')}.` });
};

/** The user's prompt is kept with the run, so that it is there when the run is resumed without one. */
const keepPrompt = async (folder: string, userPrompt: string): Promise<string> => {
  const file = join(folder, 'user-prompt.md');
  if (userPrompt.trim() === '') return (await readIfThere(file)) ?? '';
  await writeFile(file, userPrompt, { mode: 0o600 });
  return userPrompt;
};

const readBrief = async ({ project, change, options, call }: RunRequest): Promise<Brief> => {
  const moduleId = moduleOf(change);
  return {
    proposal: await readProposal(project, change),
    module: moduleId === null ? null : await readModule(project, moduleId),
    userPrompt:
      options.promptFile === null ? (call.argument ?? '') : await readPromptFile(call.cwd, options.promptFile),
  };
};

const readPromptFile = async (cwd: string, path: string): Promise<string> => {
  const text = await readFile(resolve(cwd, path), 'utf8').catch((error: unknown) => {
    throw userError('bad-prompt-file', path, systemProblem(error));
  });
  if (text.trim() === '') throw userError('empty-prompt-file', path);
  return text;
};

const standingOf = (previous: Planned['previous']): Standing => ({
  tally: previous?.view ?? emptyTally,
  last: previous?.last ?? null,
  restingUntil: new Map(Object.entries(previous?.view.resting ?? {})),
});

/** state.json first, then the readers: none of them shows what is not on disk, and none can stop the run. */
const createEmit = (
  { project, elapsedMs }: Pick<RunRequest, 'project'> & { elapsedMs: () => number },
  { plan, previous }: Planned,
  report: Report,
) => {
  const at = new Date().toISOString();
  const startedAt = previous?.view.startedAt ?? at;
  let view = initialView(plan, { pid: process.pid, startedAt, previous: previous?.view ?? null, at });
  const emit: Emit = (event) => {
    const next = reduceView(view, event);
    if (next !== view) {
      view = { ...next, elapsedMs: elapsedMs() };
      writeState(project, view);
    }
    try {
      report(event, view);
    } catch {
      // A terminal that is gone.
    }
  };
  return { emit, view: () => view };
};

const exitCode = (reason: StopReason, stops: Stops): number => {
  switch (reason) {
    case 'complete':
      return 0;
    case 'failed':
      return 1;
    case 'limit':
      return 3;
    case 'blocked':
      return 4;
    case 'interrupted':
      return exitCodeOf(stops.received() ?? 'SIGTERM');
  }
};

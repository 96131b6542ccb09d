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
import { moduleOf } from '../../project/ids.ts';
import { readModule } from '../../project/modules.ts';
import { type ChangeLock, lockChange, makeRunFolder, ralphFolder, writeState } from '../../project/state.ts';
import type { Emit, RunEvent, RunPlan, StopReason } from '../../ralph/events.ts';
import { runLoop } from '../../ralph/loop.ts';
import { initialView, reduceView } from '../../ralph/view.ts';
import { count } from '../../report/format.ts';
import { createLiveReport } from '../../report/live.ts';
import type { Call } from '../command.ts';
import { type Planned, type PlanRequest, planRun } from './plan.ts';
import { exitCodeOf, listenForStops, type Stops } from './signals.ts';
import { makeWorld, type Brief } from './world.ts';

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
  presentAgents((await planRun(request)).plan, request);
  const lock = lockChange(project, change);
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
  const { project, change, options, find, call, brief } = request;
  const { plan: wanted, previous, cutOff } = await planRun(request);
  const { agents, missing } = presentAgents(wanted, request);
  const plan = { ...wanted, agents };
  const folder = makeRunFolder(project, change, plan.run);
  const userPrompt = await keepPrompt(folder, brief.userPrompt);
  const report = createLiveReport(call.terminal, {
    stream: options.stream,
    verbose: options.verbose,
    harness: find,
    folder: relative(call.cwd, folder) || '.',
  });
  const emit = createEmit(request, { plan, previous, cutOff }, report);
  for (const text of missing) emit({ type: 'notice', text });
  if (previous) emit({ type: 'notice', text: resumed(plan) });
  if (cutOff !== null) await endLeftovers(cutOff, emit);
  const stops = listenForStops((signal) =>
    emit({ type: 'notice', text: `${signal}: ending the agent; once more kills it now.` }),
  );
  try {
    const tree = await openWorkTree(request, emit);
    const parts = { ...request, brief: { ...brief, userPrompt }, plan, folder, tree, stops, emit };
    emit({ type: 'run-started', plan, at: new Date().toISOString() });
    return exitCode(await runLoop(plan, previous?.last ?? null, makeWorld(parts)), stops);
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
  const agents = looked.filter(({ problem }) => problem === null).map(({ agent }) => agent);
  const missing = looked.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (agents.length === 0 && missing[0]) throw missing[0];
  return { agents, missing: missing.map(({ message }) => message) };
};

/** null where there is no git, which is fine, or where git refuses, which is said. */
const openWorkTree = async ({ project, change }: RunRequest, emit: Emit): Promise<WorkTree | null> => {
  const scratch = join(ralphFolder(project, change), `index.${randomUUID()}`);
  const found = await findWorkTree(project.root, scratch);
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

/** state.json first, then the readers: none of them shows what is not on disk, and none can stop the run. */
const createEmit = ({ project }: RunRequest, { plan, previous }: Planned, report: (event: RunEvent) => void): Emit => {
  const at = new Date().toISOString();
  const { startedAt = at, usage = null } = previous?.view ?? {};
  let view = initialView(plan, { pid: process.pid, startedAt, usage, at });
  return (event) => {
    const next = reduceView(view, event);
    if (next !== view) writeState(project, next);
    view = next;
    try {
      report(event);
    } catch {
      // A terminal that is gone.
    }
  };
};

const exitCode = (reason: StopReason, stops: Stops): number => {
  switch (reason) {
    case 'complete':
      return 0;
    case 'failed':
      return 1;
    case 'limit':
      return 3;
    case 'interrupted':
      return exitCodeOf(stops.received() ?? 'SIGTERM');
  }
};

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { systemProblem, userError } from '../errors.ts';
import type { Options } from '../flags.ts';
import { findWorkTree } from '../git/worktree.ts';
import type { Harness } from '../harness/harness.ts';
import { locateBinary } from '../harness/index.ts';
import { readProposal } from '../project/changes.ts';
import type { Project } from '../project/find.ts';
import { lastRecords } from '../project/history.ts';
import { moduleOf } from '../project/ids.ts';
import { readModule } from '../project/modules.ts';
import { lockChange, makeRunFolder, ralphFolder, readState, writeState } from '../project/state.ts';
import type { Emit, IterationRecord, RunEvent, RunPlan, StopReason } from '../ralph/events.ts';
import { runLoop } from '../ralph/loop.ts';
import { initialView, reduceView, type RunView } from '../ralph/view.ts';
import { createLiveReport } from '../report/live.ts';
import type { Call } from './command.ts';
import { exitCodeOf, listenForStops, type Stops } from './signals.ts';
import { makeWorld, type Task } from './world.ts';

export interface RunRequest {
  readonly project: Project;
  readonly change: string;
  readonly options: Options;
  readonly harness: Harness;
  readonly call: Call;
}

/** Everything that can be wrong is found before the lock is taken; nothing is written until then. */
export const startRun = async (request: RunRequest): Promise<number> => {
  const { project, change, options, harness, call } = request;
  const task = await readTask(request);
  const binary = locateBinary(harness, call.env.PATH ?? '');
  const release = lockChange(project, change);
  try {
    const previous = await resumable(project, change, options);
    const plan = makePlan(request, previous);
    const folder = makeRunFolder(project, change, plan.run);
    const report = createLiveReport(call.terminal, {
      stream: options.stream,
      agent: harness.title,
      folder: relative(call.cwd, folder) || '.',
    });
    const emit = createEmit(project, plan, previous?.view.startedAt ?? null, report);
    if (previous)
      emit({
        type: 'notice',
        text: `The last run was interrupted; going on with iteration ${plan.firstIteration} (--fresh starts anew).`,
      });
    const stops = listenForStops((signal) =>
      emit({ type: 'notice', text: `${signal}: ending the agent; once more kills it now.` }),
    );
    try {
      const tree = await findWorkTree(project.root, join(ralphFolder(project, change), `index.${process.pid}`));
      const world = makeWorld({ ...request, env: call.env, task, binary, plan, folder, tree, stops, emit });
      emit({ type: 'run-started', plan, at: new Date().toISOString() });
      return exitCode(await runLoop(plan, previous?.last ?? null, world), stops);
    } finally {
      stops.dispose();
    }
  } finally {
    release();
  }
};

const readTask = async ({ project, change, options, call }: RunRequest): Promise<Task> => {
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

interface Previous {
  readonly view: RunView;
  readonly last: IterationRecord | null;
}

/** The run to go on with: the last one, if it was cut off and has iterations left. */
const resumable = async (project: Project, change: string, options: Options): Promise<Previous | null> => {
  const view = await readState(project, change);
  if (view === null || options.fresh) return null;
  // We hold the lock, so a run that says "running" is one whose process is gone.
  if (view.status !== 'running' && view.status !== 'interrupted') return null;
  const last = (await lastRecords(project, change, 1)).find((record) => record.run === view.run) ?? null;
  return (last?.iteration ?? 0) < options.maxIterations ? { view, last } : null;
};

const makePlan = ({ change, options, harness }: RunRequest, previous: Previous | null): RunPlan => ({
  run: previous?.view.run ?? newRunId(),
  change,
  module: moduleOf(change),
  harness: harness.name,
  model: options.model,
  allowAll: options.allowAll,
  completionPromise: options.completionPromise,
  minIterations: options.minIterations,
  maxIterations: options.maxIterations,
  failFast: options.failFast,
  retryDelayMs: options.retryDelay,
  firstIteration: (previous?.last?.iteration ?? 0) + 1,
});

/** Sorts by time: `20261115-070312-9f3a`. */
const newRunId = () => {
  const [day, time] = new Date().toISOString().replaceAll(/[-:]/g, '').split('T') as [string, string];
  return `${day}-${time.slice(0, 6)}-${randomBytes(2).toString('hex')}`;
};

/** state.json first, then the readers: none of them shows what is not on disk, and none can stop the run. */
const createEmit = (
  project: Project,
  plan: RunPlan,
  startedAt: string | null,
  report: (event: RunEvent) => void,
): Emit => {
  const at = new Date().toISOString();
  let view = initialView(plan, { pid: process.pid, startedAt: startedAt ?? at, at });
  return (event) => {
    const next = reduceView(view, event);
    if (next !== view || event.type === 'run-started') writeState(project, next);
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

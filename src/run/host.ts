import { setTimeout as delay } from 'node:timers/promises';
import { renameSafely, writeSafely } from '../files/safe.ts';
import { changeOf } from '../changes/sources.ts';
import { readTasks } from '../changes/task-file.ts';
import { adoptContext, loadContext } from '../store/added-context.ts';
import { statsOf } from '../files/read.ts';
import { appendRecord } from '../store/history.ts';
import { countTasks } from '../changes/tasks.ts';
import { boundRecord } from '../ralph/bounds.ts';
import type { LoopHost } from '../ralph/loop.ts';
import { buildRalphPrompt, describeResult } from '../ralph/prompt.ts';
import { commandLine } from '../text/shell-words.ts';
import { createTaskReader, describeFiles } from './assignment.ts';
import { createGate } from './gate.ts';
import { ensureRunState, type RunContext } from './context.ts';
import type { StopSignals } from '../process/signals.ts';
import { createWorkTracker } from './track-work.ts';
import { releaseWorkspace } from './workspace.ts';
import { iterationLog, iterationPrompt } from '../store/paths.ts';
import { maxTimerMs } from '../process/timers.ts';

/** Gives the loop access to the disk, the clock, git and the agents. */
export const createLoopHost = (context: RunContext): LoopHost => {
  const work = createWorkTracker(context);
  const gate = createGate(context);
  const prompt = createPrompt(context);
  const pauseFor = (ms: number) => {
    work.invalidate();
    return pause(ms, context.stopSignals);
  };
  return {
    now: () => new Date(),
    ticks: () => performance.now(),
    elapsedMs: context.elapsedMs,
    random: () => Math.random(),
    totals: context.view,
    usageOfOthers: () => context.batch?.usageOfOthers() ?? null,
    wait: (ms) => pauseFor(Math.min(ms, maxTimerMs)),
    waitUntil: async (ms) => {
      // In short steps, because the clock may be set and the machine may sleep.
      while (Date.now() < ms && context.stopSignals.received() === null)
        await pauseFor(Math.min(ms - Date.now(), 1000));
    },
    stopSignal: () => context.stopSignals.received(),
    prompt: async (...turn) => {
      if ((await context.copies.sync()).taken.length > 0) work.invalidate();
      return prompt(...turn);
    },
    trailer: ({ harness }) => context.findHarness(harness).output.trailer ?? [],
    runAgent: runHarness(context),
    trackWork: work.track,
    uncommitted: work.uncommitted,
    release: (reason) => {
      const { project, plan, workspace } = context;
      return releaseWorkspace({ project, change: plan.change, workspace, done: reason === 'complete' });
    },
    gate: async (iteration, verdict, again) => {
      // The gate was interrupted: changes since then were made by the user.
      if (again) context.guard.before();
      const report = await gate(iteration, verdict, again);
      if (report !== null) work.invalidate();
      return report;
    },
    withoutSecrets: (record) => boundRecord(record, context.redactor),
    save: async (record) => {
      ensureRunState(context);
      appendRecord(context.project, context.plan.change, record);
    },
    tasks: async () => {
      const tasks = await readTasks(changeOf(context.project, context.plan.change), context.workProject.root).catch(
        () => null,
      );
      return tasks && countTasks(tasks);
    },
    emit: context.emit,
  };
};

const pause = (ms: number, stopSignals: StopSignals): Promise<void> =>
  delay(Math.max(1, ms), undefined, { signal: stopSignals.stop }).catch(() => {});

const createPrompt = (context: RunContext): LoopHost['prompt'] => {
  const { project, workProject, plan, folder, view } = context;
  const readTask = createTaskReader(context);
  const readContext = createContextReader(context);
  return async (iteration, last) => {
    const task = await readTask();
    const prompt = buildRalphPrompt(task.userPrompt, {
      ...plan,
      ...task,
      ...describeFiles(changeOf(project, plan.change), workProject.root),
      changeId: plan.change,
      moduleId: plan.module ?? '',
      iteration,
      contextContent: await readContext(),
      lastResult: describeResult(last, view()),
    });
    writeSafely(moveEarlier(iterationPrompt(folder, iteration)), prompt, 'create');
    return prompt;
  };
};

/** Reads the context that the user has added. Edits of context.txt by an agent are ignored, and announced once. */
const createContextReader = ({
  project,
  plan,
  env,
  emit,
}: Pick<RunContext, 'project' | 'plan' | 'env' | 'emit'>): (() => Promise<string | null>) => {
  const of = { project, change: plan.change, env };
  let adopted: Promise<void> | null = null;
  let isAnnounced = false;
  return async () => {
    await (adopted ??= adoptContext(of));
    const { text, isEdited } = loadContext(of);
    if (isEdited && !isAnnounced)
      emit({
        type: 'notice',
        text: `context.txt was changed, and not by --add-context or --clear-context: the prompt has what they were given. If it was you: ${commandLine('spool', 'accept', plan.change)}`,
      });
    isAnnounced = isEdited;
    return text;
  };
};

const runHarness =
  (context: RunContext): LoopHost['runAgent'] =>
  async ({ agent, iteration, prompt, deadlines }, see) => {
    const { findHarness, reporter, plan, folder, stopSignals, guard, sessions } = context;
    guard.before();
    const { allowAll, change, run } = plan;
    const title = `ralph ${change} ${run} #${iteration}`;
    const ended = await sessions.of(findHarness(agent.harness)).prompt(
      {
        job: { model: agent.model, allowAll, prompt, promptFile: iterationPrompt(folder, iteration), title },
        tag: `${run}/${iteration}`,
        logFile: moveEarlier(iterationLog(folder, iteration)),
        deadlines,
      },
      { onEvent: see, drained: () => reporter.drained(stopSignals.stop) },
    );
    ensureRunState(context);
    return ended;
  };

/** Renames the file of an interrupted iteration with the same number to `0007.log.1`. Returns `file`. */
const moveEarlier = (file: string): string => {
  for (let number = 1; statsOf(file); number++)
    if (!statsOf(`${file}.${number}`)) renameSafely(file, `${file}.${number}`);
  return file;
};

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { renameOwn, writeOwn } from '../files/own.ts';
import { filesOfChange } from '../changes/changes.ts';
import { readTasks } from '../changes/task-file.ts';
import { adoptContext, loadContext } from '../store/context.ts';
import { statsOf } from '../files/read.ts';
import { appendRecord } from '../store/history.ts';
import { countTasks } from '../changes/tasks.ts';
import type { World } from '../ralph/loop.ts';
import type { RunView } from '../ralph/view.ts';
import { buildRalphPrompt, describeResult } from '../ralph/prompt.ts';
import { commandLine } from '../text/shell-words.ts';
import { createBriefReader } from './brief.ts';
import { makeGate } from './verify.ts';
import { fileOf, keepState, type WorldParts } from './context.ts';
import type { Stops } from '../process/signals.ts';
import { makeWork } from './work.ts';

/** Node's timers do not go further. */
const longestTimerMs = 2 ** 31 - 1;

/** The disk, the clock, git and the agent, as the loop sees them. */
export const makeWorld = (parts: WorldParts, view: () => RunView): World => {
  const work = makeWork(parts);
  const gate = makeGate(parts);
  const prompt = makePrompt(parts, view);
  const pauseFor = (ms: number) => {
    work.disturbed();
    return pause(ms, parts.stops);
  };
  return {
    now: () => new Date(),
    ticks: () => performance.now(),
    elapsedMs: parts.elapsedMs,
    random: () => Math.random(),
    tally: view,
    usageOfOthers: parts.usageOfOthers,
    wait: (ms) => pauseFor(Math.min(ms, longestTimerMs)),
    waitUntil: async (ms) => {
      // In short steps: the clock may be set, and the machine may sleep.
      while (Date.now() < ms && parts.stops.received() === null) await pauseFor(Math.min(ms - Date.now(), 1000));
    },
    stopSignal: () => parts.stops.received(),
    prompt: async (...turn) => {
      if ((await parts.copies.sync()).taken.length > 0) work.disturbed();
      return prompt(...turn);
    },
    trailer: ({ harness }) => parts.find(harness).trailer ?? [],
    runAgent: runHarness(parts),
    watchWork: work.watch,
    uncommitted: work.uncommitted,
    gate: async (iteration, verdict, again) => {
      // What a person has changed since it was cut off is not the agent's doing.
      if (again) parts.guard.before();
      const report = await gate(iteration, verdict, again);
      if (report !== null) work.disturbed();
      return report;
    },
    withoutSecrets: (record) => parts.redactor.data(record),
    save: async (record) => {
      keepState(parts);
      appendRecord(parts.project, parts.plan.change, record);
    },
    tasks: async () => {
      const tasks = await readTasks(parts.work, parts.plan.change).catch(() => null);
      return tasks && countTasks(tasks);
    },
    emit: parts.emit,
  };
};

const pause = (ms: number, stops: Stops): Promise<void> =>
  delay(Math.max(1, ms), undefined, { signal: stops.stop }).catch(() => {});

const makePrompt = (parts: WorldParts, view: () => RunView): World['prompt'] => {
  const { work, plan, folder } = parts;
  const readBrief = createBriefReader(parts);
  const readContext = createContextReader(parts);
  return async (iteration, last) => {
    const brief = await readBrief();
    const prompt = buildRalphPrompt(brief.userPrompt, {
      ...plan,
      ...brief,
      files: filesOfChange(work, plan.change),
      changeId: plan.change,
      moduleId: plan.module ?? '',
      iteration,
      contextContent: await readContext(),
      lastResult: describeResult(last, view()),
    });
    writeOwn(setAside(promptFile(folder, iteration)), prompt, 'create');
    return prompt;
  };
};

/** What an agent writes into context.txt is not what a person has added; that is said once. */
const createContextReader = ({ project, plan, env, emit }: WorldParts): (() => Promise<string | null>) => {
  const of = { project, change: plan.change, env };
  let adopted: Promise<void> | null = null;
  let isSaid = false;
  return async () => {
    await (adopted ??= adoptContext(of));
    const { text, isEdited } = loadContext(of);
    if (isEdited && !isSaid)
      emit({
        type: 'notice',
        text: `context.txt was changed, and not by --add-context or --clear-context: the prompt has what they were given. If it was you: ${commandLine('spool', 'accept', plan.change)}`,
      });
    isSaid = isEdited;
    return text;
  };
};

const runHarness =
  (parts: WorldParts): World['runAgent'] =>
  async ({ agent, iteration, prompt, deadlines }, see) => {
    const { find, reporter, plan, folder, stops, guard, sessions } = parts;
    guard.before();
    const { allowAll, change, run } = plan;
    const title = `ralph ${change} ${run} #${iteration}`;
    const ended = await sessions.of(find(agent.harness)).prompt(
      {
        job: { model: agent.model, allowAll, prompt, promptFile: promptFile(folder, iteration), title },
        tag: `${run}/${iteration}`,
        logFile: setAside(join(folder, fileOf(iteration, 'log'))),
        deadlines,
      },
      { see, drained: () => reporter.drained(stops.stop) },
    );
    keepState(parts);
    return ended;
  };

const promptFile = (folder: string, iteration: number) => join(folder, fileOf(iteration, 'prompt.md'));

/** What an interrupted iteration of the same number left there is kept as `0007.log.1`. */
const setAside = (file: string): string => {
  for (let number = 1; statsOf(file); number++) if (!statsOf(`${file}.${number}`)) renameOwn(file, `${file}.${number}`);
  return file;
};

import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Options } from '../../flags.ts';
import { commitFiles } from '../../git/commit.ts';
import { changesBetween, summarise, takeTree, type WorkTree } from '../../git/worktree.ts';
import { runAgent } from '../../harness/agent.ts';
import type { Harness } from '../../harness/harness.ts';
import { loadContext } from '../../project/context.ts';
import type { Project } from '../../project/find.ts';
import { appendRecord } from '../../project/history.ts';
import { type ChangeLock, makeRunFolder } from '../../project/state.ts';
import type { Emit, RunPlan } from '../../ralph/events.ts';
import type { Work, World } from '../../ralph/loop.ts';
import { buildRalphPrompt, describeResult } from '../../ralph/prompt.ts';
import type { Call } from '../command.ts';
import type { Stops } from './signals.ts';

/** What a run is about, read once when it starts. */
export interface Brief {
  readonly userPrompt: string;
  readonly proposal: string;
  readonly module: string | null;
}

export interface WorldParts {
  readonly project: Project;
  readonly options: Options;
  readonly find: (name: string) => Harness;
  readonly call: Call;
  readonly brief: Brief;
  readonly plan: RunPlan;
  /** Where the prompts and the logs of this run go. */
  readonly folder: string;
  readonly lock: ChangeLock;
  /** null where there is no git. */
  readonly tree: WorkTree | null;
  readonly stops: Stops;
  readonly emit: Emit;
}

/** Node's timers do not go further. */
const longestTimerMs = 2 ** 31 - 1;

/** The disk, the clock, git and the agent, as the loop sees them. */
export const makeWorld = (parts: WorldParts): World => ({
  now: () => new Date(),
  ticks: () => performance.now(),
  wait: (ms) => delay(Math.min(ms, longestTimerMs), undefined, { signal: parts.stops.stop }).catch(() => {}),
  stopSignal: () => parts.stops.received(),
  prompt: makePrompt(parts),
  runAgent: runHarness(parts),
  watchWork: watchWork(parts),
  save: (record) => appendRecord(parts.project, parts.plan.change, record),
  emit: parts.emit,
});

const makePrompt =
  ({ project, brief, plan, folder }: WorldParts): World['prompt'] =>
  async (iteration, last) => {
    const prompt = buildRalphPrompt(brief.userPrompt, {
      ...plan,
      ...brief,
      changeId: plan.change,
      moduleId: plan.module ?? '',
      iteration,
      contextContent: await loadContext(project, plan.change),
      lastResult: describeResult(last),
    });
    await writeFile(await setAside(promptFile(folder, iteration)), prompt, { mode: 0o600 });
    return prompt;
  };

const runHarness =
  ({ project, options, find, call, plan, folder, lock, stops, emit }: WorldParts): World['runAgent'] =>
  async ({ agent, iteration, prompt }, see) => {
    const { allowAll, change, run } = plan;
    const title = `ralph ${change} ${run} #${iteration}`;
    const ended = await runAgent(
      {
        harness: find(agent.harness),
        job: { model: agent.model, allowAll, prompt, promptFile: promptFile(folder, iteration), title },
        cwd: project.root,
        env: call.env,
        tag: `${run}/${iteration}`,
        logFile: await setAside(fileOf(folder, iteration, 'log')),
        stopGraceMs: options.stopGrace,
        stops,
      },
      { see, drained: () => call.terminal.drained() },
    );
    if (lock.keep()) {
      makeRunFolder(project, change, run);
      emit({ type: 'notice', text: 'The agent deleted the state folder: the history before this iteration is gone.' });
    }
    return ended;
  };

const watchWork =
  (parts: WorldParts): World['watchWork'] =>
  async (iteration) => {
    const { tree } = parts;
    const before = tree && (await takeTree(tree));
    return async () => (tree && before ? workSince(parts, tree, before, iteration) : { git: null, commit: null });
  };

const workSince = async (
  { options, plan, stops, emit }: WorldParts,
  tree: WorkTree,
  before: string,
  iteration: number,
): Promise<Work> => {
  const after = await takeTree(tree);
  if (!after) return { git: null, commit: null };
  const changes = await changesBetween(tree, before, after);
  const git = summarise(changes);
  if (!options.commit || changes.length === 0) return { git, commit: null };
  const result = await commitFiles(tree, {
    names: changes.map(({ name }) => name),
    treeId: after,
    message: `ralph(${plan.change}): iteration ${iteration}`,
    kill: stops.kill,
  });
  if (result.kind === 'refused') emit({ type: 'notice', text: `No commit: ${result.why}` });
  return { git, commit: result.kind === 'committed' ? result.hash : null };
};

/** `0007.log` */
const fileOf = (folder: string, iteration: number, ending: string) =>
  join(folder, `${String(iteration).padStart(4, '0')}.${ending}`);

const promptFile = (folder: string, iteration: number) => fileOf(folder, iteration, 'prompt.md');

/** What an interrupted iteration of the same number left there is kept as `0007.log.1`. */
const setAside = async (file: string): Promise<string> => {
  for (let number = 1; existsSync(file); number++)
    if (!existsSync(`${file}.${number}`)) await rename(file, `${file}.${number}`);
  return file;
};

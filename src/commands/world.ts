import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Options } from '../flags.ts';
import { commitFiles } from '../git/commit.ts';
import { changesBetween, snapshot, summarise, type WorkTree } from '../git/worktree.ts';
import { createEventStream } from '../harness/decode.ts';
import type { Harness } from '../harness/harness.ts';
import { runProcess } from '../harness/run.ts';
import { loadContext } from '../project/context.ts';
import type { Project } from '../project/find.ts';
import { appendRecord } from '../project/history.ts';
import { type ChangeLock, makeRunFolder } from '../project/state.ts';
import type { Emit, RunPlan } from '../ralph/events.ts';
import type { Work, World } from '../ralph/loop.ts';
import { buildRalphPrompt, describeResult } from '../ralph/prompt.ts';
import type { Stops } from './signals.ts';

/** What a run is about, read once when it starts. */
export interface Task {
  readonly userPrompt: string;
  readonly proposal: string;
  readonly module: string | null;
}

export interface WorldParts {
  readonly project: Project;
  readonly options: Options;
  readonly harness: Harness;
  /** The file of the agent. */
  readonly binary: string;
  readonly env: NodeJS.ProcessEnv;
  readonly task: Task;
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
  runAgent: runAgent(parts),
  watchWork: watchWork(parts),
  save: (record) => appendRecord(parts.project, parts.plan.change, record),
  emit: parts.emit,
});

const makePrompt =
  ({ project, task, plan, folder }: WorldParts): World['prompt'] =>
  async (iteration, last) => {
    const prompt = buildRalphPrompt(task.userPrompt, {
      ...plan,
      ...task,
      changeId: plan.change,
      moduleId: plan.module ?? '',
      iteration,
      contextContent: await loadContext(project, plan.change),
      lastResult: describeResult(last),
    });
    await writeFile(fileOf(folder, iteration, 'prompt.md'), prompt, { mode: 0o600 });
    return prompt;
  };

const runAgent =
  ({ project, harness, binary, env, plan, folder, lock, stops, emit }: WorldParts): World['runAgent'] =>
  async (iteration, prompt, see) => {
    const { model, allowAll, change, run } = plan;
    const events = createEventStream(harness.decoder(), see);
    const ended = await runProcess(
      {
        binary,
        args: harness.args({ model, allowAll, title: `ralph ${change} ${run} #${iteration}` }),
        cwd: project.root,
        env,
        tag: `${run}/${iteration}`,
        prompt,
        logFile: fileOf(folder, iteration, 'log'),
      },
      { output: events.write, stop: stops.stop, kill: stops.kill },
    );
    events.end();
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
    const before = tree && (await snapshot(tree));
    return async () => (tree && before ? workSince(parts, tree, before, iteration) : { git: null, commit: null });
  };

const workSince = async (
  { options, plan, stops, emit }: WorldParts,
  tree: WorkTree,
  before: string,
  iteration: number,
): Promise<Work> => {
  const after = await snapshot(tree);
  if (!after) return { git: null, commit: null };
  const changes = await changesBetween(tree, before, after);
  const git = summarise(changes);
  if (!options.commit || changes.length === 0) return { git, commit: null };
  const result = await commitFiles(tree, {
    names: changes.map(({ name }) => name),
    snapshotId: after,
    message: `ralph(${plan.change}): iteration ${iteration}`,
    kill: stops.kill,
  });
  if (result.kind === 'refused') emit({ type: 'notice', text: `No commit: ${result.why}` });
  return { git, commit: result.kind === 'committed' ? result.hash : null };
};

/** `0007.log` */
const fileOf = (folder: string, iteration: number, ending: string) =>
  join(folder, `${String(iteration).padStart(4, '0')}.${ending}`);

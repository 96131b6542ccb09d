import { renameEarlier } from '../files/rename-earlier.ts';
import { writeSafely } from '../files/safe.ts';
import { deletedChanges } from '../changes/sources.ts';
import { adoptContext, contextId, loadContext } from '../store/added-context.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { appendRecord } from '../store/history.ts';
import { countTasks, newlyDone, type Task } from '../changes/tasks/task.ts';
import { boundRecord } from '../ralph/bounds.ts';
import type { LoopHost } from '../ralph/loop-host.ts';
import { totalUsage } from '../ralph/usage.ts';
import { buildRalphPrompt, describeResult } from '../ralph/prompt.ts';
import { commandLine } from '../text/shell-words.ts';
import { createAssignmentReader, describeFiles } from './assignment.ts';
import { createGate } from './gate/gate.ts';
import { ensureRunState, type RunContext } from './context.ts';
import { waitUntil } from './control.ts';
import { createHandover, type Handover } from './handover.ts';
import type { NextIteration } from './services.ts';
import { addProofToCommit } from './work/commit-proof.ts';
import { createWorkTracker } from './work/track.ts';
import { saveWhile } from './work/unfinished.ts';
import { scenariosToProve } from './gate/proof-gate.ts';
import { countWorkspaceTasks, watchTasks, workspaceTasks } from './workspace/tasks.ts';
import { releaseWorkspace } from './workspace/release-workspace.ts';
import { iterationLog, iterationPrompt } from '../store/paths.ts';
import { maxTimerMs } from '../process/timers.ts';

/** Gives the loop access to the disk, the clock, git and the agents. */
export const createLoopHost = (context: RunContext): LoopHost => {
  const work = createWorkTracker(context);
  const checkPromise = createGate(context);
  const handover = createHandover(context);
  const buildPrompt = createPromptBuilder(context, handover);
  const runAgent = createAgentRunner(context);
  let tasksBefore: readonly Task[] = [];
  const { control } = context;
  return {
    ...createWaits(control, work.invalidate),
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    elapsedMs: context.elapsedMs,
    random: () => Math.random(),
    totals: context.view,
    usageOfOthers: () => context.batch?.usageOfOthers() ?? null,
    isPauseRequested: control.isPauseRequested,
    stopSignal: control.received,
    contextId: () => contextId(loadContext(changeRef(context)).text),
    prompt: async (iteration, last) => {
      if ((await context.copies.sync()).taken.length > 0) work.invalidate();
      tasksBefore = workspaceTasks(context) ?? [];
      return buildPrompt(iteration, last);
    },
    trailer: ({ harness }) => context.findHarness(harness).output.trailer ?? [],
    runAgent: async (job, onEvent) => {
      const stopWatching = watchTasks(context, countTasks(tasksBefore));
      return saveWhile(context, work, () => runAgent(job, onEvent)).finally(stopWatching);
    },
    endAgents: context.sessions.close,
    trackWork: work.track,
    uncommitted: work.uncommitted,
    changed: work.changed,
    isChangeDeleted: async () => (await deletedChanges(context.project)).includes(context.plan.change),
    release: (reason) => {
      const { project, target, workspace } = context;
      return releaseWorkspace({ project, target, workspace, done: reason === 'complete' });
    },
    gate: async (iteration, ended, isResumed) => {
      // Changes since the interruption were made by the user.
      if (isResumed) context.guard.acceptEdits();
      const report = await checkPromise(iteration, ended);
      if (report !== null) work.invalidate();
      if (report?.passed === false && context.plan.gate.requireScenarios) await work.afterGate(iteration);
      return report;
    },
    addProofToCommit: (record) => addProofToCommit(context, record),
    boundRecord: (record) => boundRecord(record, context.redactor),
    save: async (record) => {
      ensureRunState(context);
      control.takeRequests();
      handover.add(record);
      appendRecord(context.project, context.plan.change, record);
    },
    admit: async () => (await context.cluster?.admit(nextIteration(context))) ?? null,
    publish: async () => context.cluster?.publish(),
    tasks: async () => countWorkspaceTasks(context),
    completedTasks: async () => newlyDone(tasksBefore, workspaceTasks(context) ?? []),
    emit: context.emit,
  };
};

type Waits = Pick<LoopHost, 'wait' | 'waitUntil' | 'waitForResume'>;

const createWaits = (control: RunContext['control'], onWait: () => void): Waits => {
  const mayWait = () => control.received() === null && !control.isPauseRequested();
  const isPaused = () => control.received() === null && control.isPauseRequested();
  const waitFor = async (ms: number): Promise<void> => {
    onWait();
    if (mayWait()) await control.wait(ms);
  };
  return {
    wait: (ms) => waitFor(Math.min(ms, maxTimerMs)),
    waitUntil: (ms) => waitUntil(ms, { wait: waitFor, mayWait }),
    waitForResume: (ms) => {
      onWait();
      return waitUntil(ms, { wait: control.wait, mayWait: isPaused });
    },
  };
};

const nextIteration = ({ plan, view }: Pick<RunContext, 'plan' | 'view'>): NextIteration => ({
  run: plan.run,
  iteration: view().finishedIterations + 1,
  costUsd: totalUsage(view())?.costUsd ?? null,
});

const changeRef = ({ project, plan, env }: Pick<RunContext, 'project' | 'plan' | 'env'>): ChangeRef => ({
  project,
  change: plan.change,
  env,
});

const createPromptBuilder = (context: RunContext, handover: Pick<Handover, 'quoted'>): LoopHost['prompt'] => {
  const { target, workProject, plan, folder, view } = context;
  const readAssignment = createAssignmentReader(context);
  const readContext = createContextReader(context);
  return async (iteration, last) => {
    const assignment = await readAssignment();
    const contextContent = await readContext();
    const text = buildRalphPrompt(assignment.userPrompt, {
      ...plan,
      ...assignment,
      ...describeFiles(target, workProject.root),
      changeId: plan.change,
      moduleId: plan.module ?? '',
      iteration,
      contextContent,
      lastResult: describeResult(last, view()),
      handoverNotes: handover.quoted(),
      ...scenariosToProve(context),
    });
    writeSafely(renameEarlier(iterationPrompt(folder, iteration)), text, 'create');
    return { text, contextId: contextId(contextContent) };
  };
};

/** Reads the context that the user has added. Edits of context.txt by an agent are ignored, and announced once. */
const createContextReader = (
  context: Pick<RunContext, 'project' | 'plan' | 'env' | 'emit'>,
): (() => Promise<string | null>) => {
  const { plan, emit } = context;
  const ref = changeRef(context);
  let adopted: Promise<void> | null = null;
  let isAnnounced = false;
  return async () => {
    await (adopted ??= adoptContext(ref));
    const { text, isEdited } = loadContext(ref);
    if (isEdited && !isAnnounced)
      emit({
        type: 'notice',
        text: `context.txt was edited. The prompt still uses the text from --add-context. To use the file: ${commandLine('spool', 'accept', plan.change)}`,
      });
    isAnnounced = isEdited;
    return text;
  };
};

const createAgentRunner =
  (context: RunContext): LoopHost['runAgent'] =>
  async ({ agent, iteration, prompt, deadlines }, onEvent) => {
    const { findHarness, reporter, plan, folder, stopSignals, guard, sessions } = context;
    guard.acceptEdits();
    const { allowAll, change, run } = plan;
    const title = `ralph ${change} ${run} #${iteration}`;
    const ended = await sessions.of(findHarness(agent.harness)).prompt(
      {
        job: { model: agent.model, allowAll, prompt, promptFile: iterationPrompt(folder, iteration), title },
        tag: `${context.tag}/${iteration}`,
        logFile: renameEarlier(iterationLog(folder, iteration)),
        deadlines,
      },
      { onEvent, drained: () => reporter.drained(stopSignals.stop) },
    );
    ensureRunState(context);
    return ended;
  };

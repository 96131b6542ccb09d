import { type AgentChoice, agentKey, type RunPlan } from './plan.ts';
import { type AgentEvent, type TurnEnd, type AbortReason, type Usage } from './agent-events.ts';
import { type Emit, type Stop, stopCauses, type StopReason, type DiffStat, type Uncommitted } from './events.ts';
import type { TaskCount, GateReport, IterationRecord } from './record.ts';
import { addUsage, totalUsage } from './usage.ts';
import { applyGate, runsCommands, wasInterrupted } from './gate-result.ts';
import { type Verdict, observeIteration } from './iteration.ts';
import { budgetAbort, type Deadlines, deadlinesOf, limitReached } from './limits.ts';
import { decide, outOfIterations, stopByPromise } from './policy.ts';
import { rejectUnread } from './unread-context.ts';
import { createAgentPool } from './agent-pool.ts';
import { type Turn, nextTurn } from './ladder.ts';
import type { RunTotals } from './totals.ts';

/** What a gate knows about the iteration. */
type EndedIteration = Verdict & Pick<IterationRecord, 'checkpoint' | 'commit'>;

/** Everything the loop needs from outside. The loop itself accesses no file, process, clock or console. */
export interface LoopHost {
  now(): Date;
  /** Milliseconds of a monotonic clock. */
  ticks(): number;
  /** Running time, including the time before an interruption. */
  elapsedMs(): number;
  random(): number;
  /** The totals after all events so far. */
  totals(): RunTotals;
  /** Usage of the other runs that share the budget. */
  usageOfOthers(): Usage | null;
  /** Resolves after `ms`, or as soon as a stop or a pause is requested. */
  wait(ms: number): Promise<void>;
  /** Resolves when the clock reaches `ms`, or as soon as a stop or a pause is requested. */
  waitUntil(ms: number): Promise<void>;
  /** Resolves when the run may resume, when the clock reaches `ms`, or as soon as a stop is requested. */
  waitForResume(ms: number): Promise<void>;
  /** The run is asked to pause before its next iteration. */
  isPauseRequested(): boolean;
  /** The signal that requested a stop; null if there was none. */
  stopSignal(): string | null;
  /** Reads the current context and builds the prompt of the iteration. */
  prompt(iteration: number, last: IterationRecord | null): Promise<Prompt>;
  /** Identifies the context that people have added until now; null if there is none. */
  context(): string | null;
  /** Prefixes of lines that the agent CLI itself prints after the agent's message. */
  trailer(agent: AgentChoice): readonly string[];
  /** The agent is stopped as soon as `onEvent` returns a reason. */
  runAgent(job: AgentJob, onEvent: (event: AgentEvent) => AbortReason | null): Promise<TurnEnd>;
  /**
   * Takes a snapshot of the work tree. The returned function commits and describes the changes since then.
   */
  trackWork(iteration: number): Promise<(done: DoneWork) => Promise<IterationChanges>>;
  /** Returns the work that is in no commit. Called once, before `release`. */
  uncommitted(): Promise<readonly Uncommitted[]>;
  /** What the whole run has changed; null if it is not known. Called once, before `release`. */
  changed(): Promise<DiffStat | null>;
  /** Whether the change is neither active nor archived any more. */
  isChangeDeleted(): Promise<boolean>;
  /**
   * Releases the workspace and returns lines for the user about it. Called once, right before `run-ended` is emitted.
   */
  release(reason: StopReason): Promise<readonly string[]>;
  /**
   * Checks whether a promise can be accepted; null if there is nothing to check. `again`: it was interrupted before.
   */
  gate(iteration: number, ended: EndedIteration, again: boolean): Promise<GateReport | null>;
  /** Adds what the gate has proven to the commit of an iteration. Returns the record with its final commit. */
  addProofToCommit(record: IterationRecord): Promise<IterationRecord>;
  /** null if the change has no tasks. */
  tasks(): Promise<TaskCount | null>;
  /** The titles of the tasks that were completed since the last prompt. */
  ticked(): Promise<readonly string[]>;
  /** Redacts the texts of a record and limits its size. */
  withoutSecrets(record: IterationRecord): IterationRecord;
  /** Resolves when the record is on disk. */
  save(record: IterationRecord): Promise<void>;
  /** Asks those who share the budget of the run; returns why the next iteration must not start, or null. */
  admit(): Promise<Stop | null>;
  /** Resolves when the iteration that was saved last is where others can continue from it. */
  publish(): Promise<void>;
  emit: Emit;
}

interface Prompt {
  readonly text: string;
  /** Identifies the context in it, as `context` does. */
  readonly context: string | null;
}

interface AgentJob {
  readonly agent: AgentChoice;
  readonly iteration: number;
  readonly prompt: string;
  readonly deadlines: Deadlines;
}

/** What the message of a commit can say about an iteration. */
export interface DoneWork {
  /** The end of the last message of the agent. */
  readonly lastWords: string;
  /** Titles of the tasks that were completed. */
  readonly ticked: readonly string[];
}

export type IterationChanges = Pick<IterationRecord, 'git' | 'commit' | 'commitProblem' | 'checkpoint'>;

/** The state in which a run starts or resumes. */
export interface LoopState {
  readonly last: IterationRecord | null;
  /** The iteration before the last. */
  readonly earlier: IterationRecord | null;
  /** When the cooldown of an agent ends, by its key. */
  readonly cooldowns: ReadonlyMap<string, number>;
  /** The iteration whose gate was interrupted: only the gate is run again. */
  readonly pending: IterationRecord | null;
}

/** Runs iterations until the policy stops the loop. A deferred attempt does not count as an iteration. */
export const runLoop = async (plan: RunPlan, state: LoopState, host: LoopHost): Promise<StopReason> => {
  const pool = createAgentPool({
    ...plan,
    ...state,
    firstCooldownMs: 30 * plan.retryDelayMs,
    random: host.random,
  });
  let { last, earlier, pending } = state;
  const verdict = last && stopByPromise(plan, last);
  if (verdict) return end(verdict, host);
  for (;;) {
    const early = pending ? null : stopBefore(plan, last, host);
    if (early) return end(early, host);
    if (!pending && host.isPauseRequested()) {
      await pause(plan, last, host);
      continue;
    }
    const turn = nextTurn(plan, { last, earlier });
    const { agent, freeAtMs } = pending
      ? { agent: agentOf(plan, pending), freeAtMs: 0 }
      : pool.next(nowMs(host), turn?.rung);
    if (freeAtMs > nowMs(host)) {
      const tooLong = waitsTooLong(plan, host.totals(), { agent, freeAtMs });
      if (tooLong) return end(tooLong, host);
      await waitForAgent(plan, { agent, freeAtMs }, host);
      continue;
    }

    const denied = pending ? null : await host.admit();
    if (denied) return end(denied, host);

    const again = pending !== null;
    const ended: IterationRecord = pending ?? (await runIteration({ plan, agent, turn, last }, host));
    const record = await passGate(plan, { ended, again }, host);
    if (record === null) return end(gateInterrupted(ended, host), host);
    pending = null;
    const untilMs = pool.settle(agent, record, nowMs(host));
    if (untilMs !== null) {
      const { deferred: _, ...attempt } = record;
      host.emit({ type: 'attempt-deferred', attempt, untilMs, atMs: nowMs(host), at: host.now().toISOString() });
      continue;
    }
    await persist(record, host);
    await host.publish();
    [earlier, last] = [last, record];

    const spent = { elapsedMs: host.elapsedMs(), nowMs: nowMs(host) };
    const decision = decide({
      plan,
      record,
      totals: { ...host.totals(), usage: allUsage(host) },
      spent,
      stopSignal: host.stopSignal(),
    });
    if (decision.next === 'stop') return end(decision.stop, host, missedPause(decision.stop, record, host));
    if (decision.waitMs > 0) await backOff(decision.waitMs, host);
  }
};

interface Next {
  readonly plan: RunPlan;
  readonly agent: AgentChoice;
  /** null without a ladder. */
  readonly turn: Turn | null;
  readonly last: IterationRecord | null;
}

/** Runs one agent and returns its record, without the gate. */
const runIteration = async ({ plan, agent, turn, last }: Next, host: LoopHost): Promise<IterationRecord> => {
  const { finishedIterations, deferred } = host.totals();
  const iteration = finishedIterations + 1;
  const started = host.now();
  const startTicks = host.ticks();
  // An attempt that was deferred has announced it.
  if (turn?.switched && deferred.length === 0)
    host.emit({ type: 'agent-switched', switched: turn.switched, at: started.toISOString() });
  host.emit({ type: 'iteration-started', iteration, agent, at: started.toISOString() });
  const { text: prompt, context } = await host.prompt(iteration, last);
  const observer = observeIteration({ ...plan, trailer: host.trailer(agent) }, prompt);
  const finishWork = await host.trackWork(iteration);
  const deadlines = deadlinesOf(plan.limits, host.elapsedMs());
  const agentTicks = host.ticks();
  const ended = await host.runAgent({ agent, iteration, prompt, deadlines }, (event) => {
    observer.observe(event);
    host.emit({ type: 'agent', event });
    return event.type === 'usage' && !observer.promised()
      ? budgetAbort(plan.limits, addUsage(allUsage(host), observer.usage()))
      : null;
  });
  const endTicks = host.ticks();
  const ticked = await host.ticked();
  const changes = await finishWork({ lastWords: observer.lastWords(), ticked });
  const record: IterationRecord = {
    v: 2,
    run: plan.run,
    iteration,
    startedAt: started.toISOString(),
    durationMs: Math.round(endTicks - startTicks),
    phases: {
      agentMs: Math.round(endTicks - agentTicks),
      gateMs: 0,
      spoolMs: Math.round(agentTicks - startTicks + host.ticks() - endTicks),
    },
    ...agent,
    exitCode: ended.exitCode,
    signal: ended.signal,
    end: ended.end,
    ...changes,
    ...observer.judge(ended),
    gate: null,
    tasks: null,
    context,
    ticked,
    ...(turn && { rung: turn.rung, ...(turn.switched && { switched: turn.switched }) }),
    deferred,
  };
  return host.withoutSecrets(record);
};

interface Gating {
  readonly ended: IterationRecord;
  readonly again: boolean;
}

/**
 * Returns the record with the result of its gate; null if the gate was interrupted by a stop request.
 * The commands may take long, so the record is saved before they start: after an interruption only they are run again.
 */
const passGate = async (
  plan: RunPlan,
  { again, ...gating }: Gating,
  host: LoopHost,
): Promise<IterationRecord | null> => {
  const ended = rejectUnread(gating.ended, host.context());
  if (!again && runsCommands(plan.gate, ended))
    host.emit({ type: 'iteration-pending', record: ended, at: host.now().toISOString() });
  const gateTicks = host.ticks();
  const gate = await host.gate(ended.iteration, ended, again);
  if (gate && wasInterrupted(gate) && host.stopSignal() !== null) return null;
  const tasks = await host.tasks();
  const phases = ended.phases && { ...ended.phases, gateMs: Math.round(host.ticks() - gateTicks) };
  const record = { ...ended, ...applyGate(ended, gate), ...(phases && { phases }), gate, tasks };
  // The checks may have taken long.
  const judged = host.withoutSecrets(rejectUnread(record, host.context()));
  return judged.completionFound ? host.addProofToCommit(judged) : judged;
};

const gateInterrupted = ({ iteration }: IterationRecord, host: LoopHost): Stop => ({
  cause: 'signal',
  detail: `stopped by ${host.stopSignal()} during the checks of iteration ${iteration}; resuming runs them again`,
});

const agentOf = ({ agents }: RunPlan, { harness, model }: IterationRecord): AgentChoice =>
  agents.find((agent) => agentKey(agent) === agentKey({ harness, model })) ?? { harness, model };

/** Saves a record before it is announced. */
const persist = async (record: IterationRecord, host: LoopHost): Promise<void> => {
  await host.save(record);
  host.emit({ type: 'iteration-finished', record, at: host.now().toISOString() });
};

/** Returns why the next iteration must not start; null if it may. */
const stopBefore = (plan: RunPlan, last: IterationRecord | null, host: LoopHost): Stop | null => {
  const signal = host.stopSignal();
  if (signal !== null) return { cause: 'signal', detail: `stopped by ${signal}` };
  if (host.totals().finishedIterations >= plan.maxIterations) return outOfIterations(plan.maxIterations, last);
  return limitReached(plan.limits, {
    elapsedMs: host.elapsedMs(),
    nowMs: nowMs(host),
    usage: allUsage(host),
  });
};

const allUsage = (host: LoopHost) => addUsage(totalUsage(host.totals()), host.usageOfOthers());

interface CoolingDown {
  readonly agent: AgentChoice;
  readonly freeAtMs: number;
}

const waitsTooLong = ({ limits }: RunPlan, totals: RunTotals, { agent, freeAtMs }: CoolingDown): Stop | null => {
  if (totals.deferredSinceMs === null || freeAtMs - totals.deferredSinceMs <= limits.maxWaitMs) return null;
  const why = totals.deferred.at(-1)?.error?.message ?? 'usage limit reached';
  return { cause: 'max-wait', detail: `${agentKey(agent)} is not available within --max-wait: ${why}` };
};

const waitForAgent = async ({ limits }: RunPlan, { agent, freeAtMs }: CoolingDown, host: LoopHost): Promise<void> => {
  const why = whyUnavailable(agent, host.totals());
  const untilMs = Math.min(freeAtMs, deadlineMs(limits, host));
  host.emit({ type: 'waiting', untilMs, why, at: host.now().toISOString() });
  await host.waitUntil(untilMs);
};

/** Why the last attempt with this agent was deferred. */
const whyUnavailable = (agent: AgentChoice, { deferred }: RunTotals): string => {
  const name = agentKey(agent);
  const error = deferred.findLast(({ harness, model }) => agentKey({ harness, model }) === name)?.error ?? null;
  if (error === null) return `${name} is not available yet`;
  return `${error.kind === 'rate-limit' ? `usage limit of ${name}` : `${name} cannot run`}: ${error.message}`;
};

/** Waits for a request to resume, a stop or a limit. */
const pause = async (plan: RunPlan, last: IterationRecord | null, host: LoopHost): Promise<void> => {
  const sinceMs = nowMs(host);
  host.emit({ type: 'paused', at: host.now().toISOString() });
  while (host.isPauseRequested() && stopBefore(plan, last, host) === null)
    await host.waitForResume(deadlineMs(plan.limits, host));
  if (stopBefore(plan, last, host) !== null) return;
  host.emit({ type: 'resumed', pausedMs: nowMs(host) - sinceMs, at: host.now().toISOString() });
};

const deadlineMs = ({ maxDurationMs, untilMs }: RunPlan['limits'], host: LoopHost): number =>
  Math.min(untilMs, nowMs(host) + maxDurationMs - host.elapsedMs());

const backOff = async (ms: number, host: LoopHost): Promise<void> => {
  const at = host.now().toISOString();
  host.emit({ type: 'waiting', untilMs: nowMs(host) + ms, why: 'the iteration failed', at });
  await host.wait(ms);
};

const nowMs = (host: LoopHost) => host.now().getTime();

/** For a run that ends after an iteration although it was asked to pause then. */
const missedPause = ({ cause }: Stop, { iteration }: IterationRecord, host: LoopHost): string[] =>
  cause !== 'signal' && host.isPauseRequested()
    ? [`The run did not pause, because it ended with iteration ${iteration}.`]
    : [];

/** Ends the run. A deferred attempt that is not recorded yet is recorded, unless the run can be resumed. */
const end = async (stop: Stop, host: LoopHost, moreNotes: readonly string[] = []): Promise<StopReason> => {
  const { deferred } = host.totals();
  const reason = stopCauses[stop.cause];
  const lastAttempt = deferred.at(-1);
  if (lastAttempt && reason !== 'interrupted') await persist({ ...lastAttempt, deferred: deferred.slice(0, -1) }, host);
  const tasks = await host.tasks();
  const uncommitted = await host.uncommitted();
  const changed = await host.changed();
  const notes = [...(await host.release(reason)), ...moreNotes];
  const changeDeleted = await host.isChangeDeleted();
  host.emit({
    type: 'run-ended',
    reason,
    ...stop,
    tasks,
    uncommitted,
    ...(changed && { changed }),
    ...(changeDeleted && { changeDeleted }),
    notes,
    at: host.now().toISOString(),
  });
  return reason;
};

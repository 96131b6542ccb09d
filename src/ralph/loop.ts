import {
  type AgentChoice,
  agentKey,
  type AgentEvent,
  type Emit,
  type TurnEnd,
  type GateReport,
  type AbortReason,
  type IterationRecord,
  type RunPlan,
  type Stop,
  stopCauses,
  type StopReason,
  type TaskCount,
  type Uncommitted,
  type Usage,
} from './events.ts';
import { addUsage } from './usage.ts';
import { boundRecord } from './bounds.ts';
import { applyGate, runsCommands } from './gate.ts';
import { type Verdict, observeIteration } from './iteration.ts';
import { budgetAbort, type Deadlines, deadlinesOf, limitReached } from './limits.ts';
import { decide, outOfIterations, agentVerdict } from './policy.ts';
import { createAgentPool } from './agent-pool.ts';
import type { RunTotals } from './totals.ts';
import { totalUsage } from './usage.ts';

/** All that the loop needs from outside. It touches no file, process, clock or console itself. */
export interface LoopHost {
  now(): Date;
  /** Milliseconds that no change of the clock disturbs. */
  ticks(): number;
  /** How long this run has been at work, also before it was interrupted. */
  elapsedMs(): number;
  random(): number;
  /** What the run has come to, by the events so far. */
  totals(): RunTotals;
  /** What runs that share a budget with this one have used. */
  usageOfOthers(): Usage | null;
  /** Resolves after `ms`, or at once when the run is asked to stop. */
  wait(ms: number): Promise<void>;
  /** Resolves when the clock shows that time, or at once when the run is asked to stop. */
  waitUntil(ms: number): Promise<void>;
  /** The signal that asked the run to stop, null while it may go on. */
  stopSignal(): string | null;
  /** Reads the context now and builds the prompt of this iteration. */
  prompt(iteration: number, last: IterationRecord | null): Promise<string>;
  /** How lines begin that this agent CLI prints of its own behind the agent's words. */
  trailer(agent: AgentChoice): readonly string[];
  /** `see` says when the agent must be ended, and why. */
  runAgent(job: AgentJob, see: (event: AgentEvent) => AbortReason | null): Promise<TurnEnd>;
  /** Remembers the work tree; the function it gives says, and commits, what has changed since. */
  trackWork(iteration: number): Promise<() => Promise<Work>>;
  /** Called once, before the end of the run is announced: what it did that is in no commit. */
  uncommitted(): Promise<readonly Uncommitted[]>;
  /** Looks into what must hold before a promise is believed; null when there is nothing to look into. `again` when it was cut off before. */
  gate(iteration: number, verdict: Verdict, again: boolean): Promise<GateReport | null>;
  /** null when the change has none. */
  tasks(): Promise<TaskCount | null>;
  withoutSecrets(record: IterationRecord): IterationRecord;
  /** Resolves when the record is on disk. */
  save(record: IterationRecord): Promise<void>;
  emit: Emit;
}

interface AgentJob {
  readonly agent: AgentChoice;
  readonly iteration: number;
  readonly prompt: string;
  readonly deadlines: Deadlines;
}

export type Work = Pick<IterationRecord, 'git' | 'commit' | 'commitProblem' | 'checkpoint'>;

/** Where a run stands when it starts or goes on. */
export interface LoopState {
  readonly last: IterationRecord | null;
  /** When agents that are held up are free, by their keys. */
  readonly cooldowns: ReadonlyMap<string, number>;
  /** The iteration whose gate was cut off: only that is run again. */
  readonly pending: IterationRecord | null;
}

/** Runs the agent again and again until the policy says stop. An attempt that is held up is not an iteration. */
export const runLoop = async (plan: RunPlan, standing: LoopState, host: LoopHost): Promise<StopReason> => {
  const roster = createAgentPool({
    ...plan,
    ...standing,
    firstCooldownMs: 30 * plan.retryDelayMs,
    random: host.random,
  });
  let { last, pending } = standing;
  const settled = last && agentVerdict(plan, last);
  if (settled) return end(settled, host);
  for (;;) {
    const early = pending ? null : stopBefore(plan, host);
    if (early) return end(early, host);
    const { agent, freeAtMs } = pending ? { agent: workerOf(plan, pending), freeAtMs: 0 } : roster.next(nowMs(host));
    if (freeAtMs > nowMs(host)) {
      const tooLong = waitsTooLong(plan, host.totals(), { agent, freeAtMs });
      if (tooLong) return end(tooLong, host);
      await waitForAgent(plan, { agent, freeAtMs }, host);
      continue;
    }

    const again = pending !== null;
    const ended: IterationRecord = pending ?? (await runIteration({ plan, agent, last }, host));
    const record = await passGate(plan, { ended, again }, host);
    if (record === null) return end(gateCutOff(ended, host), host);
    pending = null;
    const untilMs = roster.cooldownUntil(agent, record, nowMs(host));
    if (untilMs !== null) {
      const { deferred: _, ...attempt } = record;
      host.emit({ type: 'attempt-deferred', attempt, untilMs, atMs: nowMs(host), at: host.now().toISOString() });
      continue;
    }
    await persist(record, host);
    last = record;

    const spent = { elapsedMs: host.elapsedMs(), nowMs: nowMs(host) };
    const decision = decide({
      plan,
      record,
      totals: { ...host.totals(), usage: allUsage(host) },
      spent,
      stopSignal: host.stopSignal(),
    });
    if (decision.next === 'stop') return end(decision.stop, host);
    if (decision.waitMs > 0) await backOff(decision.waitMs, host);
  }
};

interface Turn {
  readonly plan: RunPlan;
  readonly agent: AgentChoice;
  readonly last: IterationRecord | null;
}

/** One agent from its prompt to its end; its record as it is before the gate. */
const runIteration = async ({ plan, agent, last }: Turn, world: LoopHost): Promise<IterationRecord> => {
  const { finishedIterations, deferred } = world.totals();
  const iteration = finishedIterations + 1;
  const started = world.now();
  const startTicks = world.ticks();
  world.emit({ type: 'iteration-started', iteration, agent, at: started.toISOString() });
  const prompt = await world.prompt(iteration, last);
  const watch = observeIteration({ ...plan, trailer: world.trailer(agent) }, prompt);
  const workDone = await world.trackWork(iteration);
  const deadlines = deadlinesOf(plan.limits, world.elapsedMs());
  const ended = await world.runAgent({ agent, iteration, prompt, deadlines }, (event) => {
    watch.see(event);
    world.emit({ type: 'agent', event });
    return event.type === 'usage' && !watch.promised()
      ? budgetAbort(plan.limits, addUsage(allUsage(world), watch.usage()))
      : null;
  });
  const durationMs = Math.round(world.ticks() - startTicks);
  const work = await workDone();
  const record: IterationRecord = {
    v: 2,
    run: plan.run,
    iteration,
    startedAt: started.toISOString(),
    durationMs,
    ...agent,
    exitCode: ended.exitCode,
    signal: ended.signal,
    end: ended.end,
    ...work,
    ...watch.judge(ended),
    gate: null,
    tasks: null,
    deferred,
  };
  return world.withoutSecrets(boundRecord(record));
};

interface Gating {
  readonly ended: IterationRecord;
  readonly again: boolean;
}

/**
 * The record with what its gate says; null when the gate was cut off, as the run is asked to stop.
 * Before its commands start, which may take long, the rest is on disk: nothing but them has to be done again.
 */
const passGate = async (plan: RunPlan, { ended, again }: Gating, world: LoopHost): Promise<IterationRecord | null> => {
  if (!again && runsCommands(plan.gate, ended))
    world.emit({ type: 'iteration-pending', record: ended, at: world.now().toISOString() });
  const gate = await world.gate(ended.iteration, ended, again);
  const cutOff = gate?.runs.some(({ outcome }) => outcome === 'interrupted');
  if (cutOff && world.stopSignal() !== null) return null;
  const tasks = await world.tasks();
  return world.withoutSecrets(boundRecord({ ...ended, ...applyGate(ended, gate), gate, tasks }));
};

const gateCutOff = ({ iteration }: IterationRecord, world: LoopHost): Stop => ({
  cause: 'signal',
  detail: `stopped by ${world.stopSignal()} while the gate of iteration ${iteration} ran; the next start runs it again`,
});

/** The agent of a record, as the roster knows it. */
const workerOf = ({ agents }: RunPlan, { harness, model }: IterationRecord): AgentChoice =>
  agents.find((agent) => agentKey(agent) === agentKey({ harness, model })) ?? { harness, model };

/** On disk first, then announced. */
const persist = async (record: IterationRecord, world: LoopHost): Promise<void> => {
  await world.save(record);
  world.emit({ type: 'iteration-finished', record, at: world.now().toISOString() });
};

/** Why the next iteration must not start; null when it may. */
const stopBefore = (plan: RunPlan, world: LoopHost): Stop | null => {
  const signal = world.stopSignal();
  if (signal !== null) return { cause: 'signal', detail: `stopped by ${signal}` };
  if (world.totals().finishedIterations >= plan.maxIterations) return outOfIterations(plan.maxIterations);
  return limitReached(plan.limits, {
    elapsedMs: world.elapsedMs(),
    nowMs: nowMs(world),
    usage: allUsage(world),
  });
};

const allUsage = (world: LoopHost) => addUsage(totalUsage(world.totals()), world.usageOfOthers());

interface CoolingDown {
  readonly agent: AgentChoice;
  readonly freeAtMs: number;
}

const waitsTooLong = ({ limits }: RunPlan, totals: RunTotals, { agent, freeAtMs }: CoolingDown): Stop | null => {
  if (totals.deferredSinceMs === null || freeAtMs - totals.deferredSinceMs <= limits.maxWaitMs) return null;
  const why = totals.deferred.at(-1)?.error?.message ?? 'its usage limit';
  return { cause: 'max-wait', detail: `${agentKey(agent)} cannot work for longer than --max-wait: ${why}` };
};

const waitForAgent = async ({ limits }: RunPlan, { agent, freeAtMs }: CoolingDown, world: LoopHost): Promise<void> => {
  const why = `${agentKey(agent)} is held up`;
  const leftMs = limits.maxDurationMs - world.elapsedMs();
  const untilMs = Math.min(freeAtMs, limits.untilMs, nowMs(world) + leftMs);
  world.emit({ type: 'waiting', untilMs, why, at: world.now().toISOString() });
  await world.waitUntil(untilMs);
};

const backOff = async (ms: number, world: LoopHost): Promise<void> => {
  const at = world.now().toISOString();
  world.emit({ type: 'waiting', untilMs: nowMs(world) + ms, why: 'the iteration failed', at });
  await world.wait(ms);
};

const nowMs = (world: LoopHost) => world.now().getTime();

/** What was tried last, and is in no record yet, is recorded, unless the run can go on with it. */
const end = async (stop: Stop, world: LoopHost): Promise<StopReason> => {
  const { deferred } = world.totals();
  const reason = stopCauses[stop.cause];
  const tried = deferred.at(-1);
  if (tried && reason !== 'interrupted') await persist({ ...tried, deferred: deferred.slice(0, -1) }, world);
  const tasks = await world.tasks();
  const uncommitted = await world.uncommitted();
  world.emit({ type: 'run-ended', reason, ...stop, tasks, uncommitted, at: world.now().toISOString() });
  return reason;
};

import {
  type AgentChoice,
  agentKey,
  type AgentEvent,
  type Emit,
  type Ended,
  type GateReport,
  type Halt,
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
import { type Verdict, watchIteration } from './iteration.ts';
import { budgetHalt, type Deadlines, deadlinesOf, limitReached } from './limits.ts';
import { decide, outOfIterations, settledBy } from './policy.ts';
import { createRoster } from './roster.ts';
import type { Tally } from './tally.ts';
import { totalUsage } from './usage.ts';

/** All that the loop needs from outside. It touches no file, process, clock or console itself. */
export interface World {
  now(): Date;
  /** Milliseconds that no change of the clock disturbs. */
  ticks(): number;
  /** How long this run has been at work, also before it was interrupted. */
  elapsedMs(): number;
  random(): number;
  /** What the run has come to, by the events so far. */
  tally(): Tally;
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
  runAgent(job: AgentJob, see: (event: AgentEvent) => Halt | null): Promise<Ended>;
  /** Remembers the work tree; the function it gives says, and commits, what has changed since. */
  watchWork(iteration: number): Promise<() => Promise<Work>>;
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
export interface Standing {
  readonly last: IterationRecord | null;
  /** When agents that are held up are free, by their keys. */
  readonly restingUntil: ReadonlyMap<string, number>;
  /** The iteration whose gate was cut off: only that is run again. */
  readonly pending: IterationRecord | null;
}

/** Runs the agent again and again until the policy says stop. An attempt that is held up is not an iteration. */
export const runLoop = async (plan: RunPlan, standing: Standing, world: World): Promise<StopReason> => {
  const roster = createRoster({ ...plan, ...standing, firstRestMs: 30 * plan.retryDelayMs, random: world.random });
  let { last, pending } = standing;
  const settled = last && settledBy(plan, last);
  if (settled) return end(settled, world);
  for (;;) {
    const early = pending ? null : stopBefore(plan, world);
    if (early) return end(early, world);
    const { agent, freeAtMs } = pending ? { agent: workerOf(plan, pending), freeAtMs: 0 } : roster.next(nowMs(world));
    if (freeAtMs > nowMs(world)) {
      const tooLong = waitsTooLong(plan, world.tally(), { agent, freeAtMs });
      if (tooLong) return end(tooLong, world);
      await waitForAgent(plan, { agent, freeAtMs }, world);
      continue;
    }

    const again = pending !== null;
    const ended: IterationRecord = pending ?? (await runIteration({ plan, agent, last }, world));
    const record = await passGate(plan, { ended, again }, world);
    if (record === null) return end(gateCutOff(ended, world), world);
    pending = null;
    const untilMs = roster.heldUntil(agent, record, nowMs(world));
    if (untilMs !== null) {
      const { held: _, ...attempt } = record;
      world.emit({ type: 'held-up', attempt, untilMs, atMs: nowMs(world), at: world.now().toISOString() });
      continue;
    }
    await keep(record, world);
    last = record;

    const spent = { elapsedMs: world.elapsedMs(), nowMs: nowMs(world) };
    const decision = decide({
      plan,
      record,
      tally: { ...world.tally(), usage: allUsage(world) },
      spent,
      stopSignal: world.stopSignal(),
    });
    if (decision.next === 'stop') return end(decision.stop, world);
    if (decision.waitMs > 0) await backOff(decision.waitMs, world);
  }
};

interface Turn {
  readonly plan: RunPlan;
  readonly agent: AgentChoice;
  readonly last: IterationRecord | null;
}

/** One agent from its prompt to its end; its record as it is before the gate. */
const runIteration = async ({ plan, agent, last }: Turn, world: World): Promise<IterationRecord> => {
  const { finished, held } = world.tally();
  const iteration = finished + 1;
  const started = world.now();
  const startTicks = world.ticks();
  world.emit({ type: 'iteration-started', iteration, agent, at: started.toISOString() });
  const prompt = await world.prompt(iteration, last);
  const watch = watchIteration({ ...plan, trailer: world.trailer(agent) }, prompt);
  const workDone = await world.watchWork(iteration);
  const deadlines = deadlinesOf(plan.limits, world.elapsedMs());
  const ended = await world.runAgent({ agent, iteration, prompt, deadlines }, (event) => {
    watch.see(event);
    world.emit({ type: 'agent', event });
    return event.type === 'usage' && !watch.promised()
      ? budgetHalt(plan.limits, addUsage(allUsage(world), watch.usage()))
      : null;
  });
  const durationMs = Math.round(world.ticks() - startTicks);
  const work = await workDone();
  const record: IterationRecord = {
    v: 1,
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
    held,
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
const passGate = async (plan: RunPlan, { ended, again }: Gating, world: World): Promise<IterationRecord | null> => {
  if (!again && runsCommands(plan.gate, ended))
    world.emit({ type: 'iteration-pending', record: ended, at: world.now().toISOString() });
  const gate = await world.gate(ended.iteration, ended, again);
  const cutOff = gate?.runs.some(({ outcome }) => outcome === 'interrupted');
  if (cutOff && world.stopSignal() !== null) return null;
  const tasks = await world.tasks();
  return world.withoutSecrets(boundRecord({ ...ended, ...applyGate(ended, gate), gate, tasks }));
};

const gateCutOff = ({ iteration }: IterationRecord, world: World): Stop => ({
  cause: 'signal',
  detail: `stopped by ${world.stopSignal()} while the gate of iteration ${iteration} ran; the next start runs it again`,
});

/** The agent of a record, as the roster knows it. */
const workerOf = ({ agents }: RunPlan, { harness, model }: IterationRecord): AgentChoice =>
  agents.find((agent) => agentKey(agent) === agentKey({ harness, model })) ?? { harness, model };

/** On disk first, then announced. */
const keep = async (record: IterationRecord, world: World): Promise<void> => {
  await world.save(record);
  world.emit({ type: 'iteration-finished', record, at: world.now().toISOString() });
};

/** Why the next iteration must not start; null when it may. */
const stopBefore = (plan: RunPlan, world: World): Stop | null => {
  const signal = world.stopSignal();
  if (signal !== null) return { cause: 'signal', detail: `stopped by ${signal}` };
  if (world.tally().finished >= plan.maxIterations) return outOfIterations(plan.maxIterations);
  return limitReached(plan.limits, {
    elapsedMs: world.elapsedMs(),
    nowMs: nowMs(world),
    usage: allUsage(world),
  });
};

const allUsage = (world: World) => addUsage(totalUsage(world.tally()), world.usageOfOthers());

interface Resting {
  readonly agent: AgentChoice;
  readonly freeAtMs: number;
}

const waitsTooLong = ({ limits }: RunPlan, tally: Tally, { agent, freeAtMs }: Resting): Stop | null => {
  if (tally.heldSinceMs === null || freeAtMs - tally.heldSinceMs <= limits.maxWaitMs) return null;
  const why = tally.held.at(-1)?.error?.message ?? 'its usage limit';
  return { cause: 'max-wait', detail: `${agentKey(agent)} cannot work for longer than --max-wait: ${why}` };
};

const waitForAgent = async ({ limits }: RunPlan, { agent, freeAtMs }: Resting, world: World): Promise<void> => {
  const why = `${agentKey(agent)} is held up`;
  const leftMs = limits.maxDurationMs - world.elapsedMs();
  const untilMs = Math.min(freeAtMs, limits.untilMs, nowMs(world) + leftMs);
  world.emit({ type: 'waiting', untilMs, why, at: world.now().toISOString() });
  await world.waitUntil(untilMs);
};

const backOff = async (ms: number, world: World): Promise<void> => {
  const at = world.now().toISOString();
  world.emit({ type: 'waiting', untilMs: nowMs(world) + ms, why: 'the iteration failed', at });
  await world.wait(ms);
};

const nowMs = (world: World) => world.now().getTime();

/** What was tried last, and is in no record yet, is recorded, unless the run can go on with it. */
const end = async (stop: Stop, world: World): Promise<StopReason> => {
  const { held } = world.tally();
  const reason = stopCauses[stop.cause];
  const tried = held.at(-1);
  if (tried && reason !== 'interrupted') await keep({ ...tried, held: held.slice(0, -1) }, world);
  const tasks = await world.tasks();
  const uncommitted = await world.uncommitted();
  world.emit({ type: 'run-ended', reason, ...stop, tasks, uncommitted, at: world.now().toISOString() });
  return reason;
};

import {
  type AgentChoice,
  failed,
  type AgentEvent,
  type Emit,
  type Ended,
  type GitSummary,
  type IterationRecord,
  type RunPlan,
  type StopReason,
} from './events.ts';
import { watchIteration } from './iteration.ts';
import { decide } from './policy.ts';
import { createRoster } from './roster.ts';

/** All that the loop needs from outside. It touches no file, process, clock or console itself. */
export interface World {
  now(): Date;
  /** Milliseconds that no change of the clock disturbs. */
  ticks(): number;
  /** Resolves after `ms`, or at once when the run is asked to stop. */
  wait(ms: number): Promise<void>;
  /** The signal that asked the run to stop, null while it may go on. */
  stopSignal(): string | null;
  /** Reads the context now and builds the prompt of this iteration. */
  prompt(iteration: number, last: IterationRecord | null): Promise<string>;
  runAgent(job: AgentJob, see: (event: AgentEvent) => void): Promise<Ended>;
  /** Remembers the work tree; the function it gives says, and commits, what has changed since. */
  watchWork(iteration: number): Promise<() => Promise<Work>>;
  /** Resolves when the record is on disk. */
  save(record: IterationRecord): Promise<void>;
  emit: Emit;
}

interface AgentJob {
  readonly agent: AgentChoice;
  readonly iteration: number;
  readonly prompt: string;
}

export interface Work {
  readonly git: GitSummary | null;
  readonly commit: string | null;
}

/** Runs the agent again and again until the policy says stop. */
export const runLoop = async (plan: RunPlan, last: IterationRecord | null, world: World): Promise<StopReason> => {
  const roster = createRoster(plan.agents);
  let record = last;
  let failures = 0;
  for (let iteration = plan.firstIteration; ; iteration++) {
    const agent = roster.next(world.now());
    record = await runIteration({ plan, agent, iteration, last: record }, world);
    failures = failed(record) ? failures + 1 : 0;
    await world.save(record);
    world.emit({ type: 'iteration-finished', record, at: world.now().toISOString() });

    const handsOver = roster.handsOver(agent, record, world.now());
    const decision = decide({ plan, record, failures, stopSignal: world.stopSignal(), handsOver });
    if (decision.next === 'stop') return end(decision.reason, decision.detail, world);
    if (decision.waitMs > 0) {
      world.emit({ type: 'waiting', ms: decision.waitMs, why: 'the iteration failed' });
      await world.wait(decision.waitMs);
    }
    const signal = world.stopSignal();
    if (signal !== null) return end('interrupted', `stopped by ${signal}`, world);
  }
};

interface Turn {
  readonly plan: RunPlan;
  readonly agent: AgentChoice;
  readonly iteration: number;
  readonly last: IterationRecord | null;
}

const runIteration = async ({ plan, agent, iteration, last }: Turn, world: World): Promise<IterationRecord> => {
  const started = world.now();
  const startTicks = world.ticks();
  world.emit({ type: 'iteration-started', iteration, agent, at: started.toISOString() });
  const prompt = await world.prompt(iteration, last);
  const watch = watchIteration(plan.completionPromise, prompt);
  const workDone = await world.watchWork(iteration);
  const ended = await world.runAgent({ agent, iteration, prompt }, (event) => {
    watch.see(event);
    world.emit({ type: 'agent', event });
  });
  const durationMs = Math.round(world.ticks() - startTicks);
  const { git, commit } = await workDone();
  return {
    v: 1,
    run: plan.run,
    iteration,
    startedAt: started.toISOString(),
    durationMs,
    ...agent,
    exitCode: ended.exitCode,
    signal: ended.signal,
    end: ended.end,
    git,
    commit,
    checkpoint: null,
    ...watch.judge(ended),
  };
};

const end = (reason: StopReason, detail: string, world: World): StopReason => {
  world.emit({ type: 'run-ended', reason, detail, at: world.now().toISOString() });
  return reason;
};

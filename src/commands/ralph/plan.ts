import { userError } from '../../errors.ts';
import type { FlagName, Options } from '../../flags.ts';
import type { Project } from '../../project/find.ts';
import { lastRecords } from '../../project/history.ts';
import { moduleOf } from '../../project/ids.ts';
import { readState } from '../../project/state.ts';
import type { AgentChoice, GatePlan, IterationRecord, Limits, RunPlan } from '../../ralph/events.ts';
import { catchUp, type RunView } from '../../ralph/view.ts';

export interface PlanRequest {
  readonly project: Project;
  readonly change: string;
  readonly options: Options;
  readonly asked: ReadonlySet<FlagName>;
}

export interface Planned {
  readonly plan: RunPlan;
  /** The run that this one goes on with; null for a new one. */
  readonly previous: Previous | null;
  /** When agents that were held up in the last run are free, by their keys. */
  readonly resting: Readonly<Record<string, number>>;
  /** A run that was cut off, resumed or not: something of it may still be running. */
  readonly cutOff: string | null;
}

interface Previous {
  readonly view: RunView;
  readonly last: IterationRecord | null;
}

/** A new run, or the last one again if it was cut off. What it says is sure only for who holds the lock. */
export const planRun = async (request: PlanRequest): Promise<Planned> => {
  const last = await lastCutOff(request);
  const cutOff = last?.view.run ?? null;
  const previous = request.options.fresh ? null : last;
  const resting = (await readState(request.project, request.change))?.resting ?? {};
  return { plan: makePlan(request, previous), previous, cutOff, resting };
};

const lastCutOff = async ({ project, change }: PlanRequest): Promise<Previous | null> => {
  const view = await readState(project, change);
  // Whoever holds the lock knows that the process of a run that says "running" is gone.
  if (view?.status !== 'running' && view?.status !== 'interrupted') return null;
  // The process may have been killed between saving a record and saving the state.
  const records = (await lastRecords(project, change, 2)).filter((record) => record.run === view.run);
  return { view: catchUp(view, records), last: records.at(-1) ?? null };
};

/** A resumed run keeps its agents, promise and limits, unless this call asks for others. Permissions are asked for anew. */
const makePlan = ({ change, options, asked }: PlanRequest, previous: Previous | null): RunPlan => {
  const kept = previous?.view;
  const plan = {
    run: kept?.run ?? newRunId(),
    change,
    module: moduleOf(change),
    agents: kept && !asked.has('harness') ? keptAgents(kept.agents, options, asked) : agentsOf(options),
    allowAll: options.allowAll,
    completionPromise: kept && !asked.has('completionPromise') ? kept.completionPromise : options.completionPromise,
    blockedPromise: kept && !asked.has('blockedPromise') ? kept.blockedPromise : options.blockedPromise,
    minIterations: kept && !asked.has('minIterations') ? kept.minIterations : options.minIterations,
    maxIterations: kept && !asked.has('maxIterations') ? (kept.maxIterations ?? Infinity) : options.maxIterations,
    limits: limitsOf(options, asked, kept),
    gate: gateOf(options, asked, kept),
    failFast: kept && !asked.has('failFast') ? kept.failFast : options.failFast,
    commit: kept && !asked.has('commit') ? kept.commit : options.commit,
    retryDelayMs: options.retryDelay,
    firstIteration: (kept?.finished ?? 0) + 1,
  };
  if (plan.completionPromise === plan.blockedPromise) throw userError('same-promise', plan.blockedPromise);
  if (plan.minIterations > plan.maxIterations) throw userError('min-above-max', plan.minIterations, plan.maxIterations);
  return plan;
};

const limitsOf = (options: Options, asked: ReadonlySet<FlagName>, kept: RunView | undefined): Limits => {
  const wanted: Readonly<Record<keyof Limits, readonly [FlagName, number]>> = {
    maxDurationMs: ['maxDuration', options.maxDuration],
    untilMs: ['until', options.until === null ? Infinity : nextTime(options.until, new Date())],
    maxCostUsd: ['maxCost', options.maxCost],
    maxTokens: ['maxTokens', options.maxTokens],
    iterationTimeoutMs: ['iterationTimeout', options.iterationTimeout],
    idleTimeoutMs: ['idleTimeout', options.idleTimeout],
    maxFailures: ['maxFailures', options.maxFailures],
    maxStalled: ['maxStalled', options.maxStalled],
    maxWaitMs: ['maxWait', options.maxWait],
  };
  return Object.fromEntries(
    Object.entries(wanted).map(([name, [flag, value]]) => [
      name,
      kept && !asked.has(flag) ? (kept.limits[name as keyof Limits] ?? Infinity) : value,
    ]),
  ) as unknown as Limits;
};

/** A resumed run keeps its gate; whoever resumes it may ask for another, but not lose it by saying nothing. */
const gateOf = (options: Options, asked: ReadonlySet<FlagName>, kept: RunView | undefined): GatePlan => ({
  verify: kept && !asked.has('verify') ? kept.gate.verify : options.verify,
  verifyEach: kept && !asked.has('verifyEach') ? kept.gate.verifyEach : options.verifyEach,
  requireTasks: kept && !asked.has('requireTasks') ? kept.gate.requireTasks : options.requireTasks,
  allowTampering: options.allowTampering,
});

/** The next time at which local clocks show it, in milliseconds since 1970. */
const nextTime = (clock: string, now: Date): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) return at.getTime();
  // Not by adding a day to it: the clocks may have been changed since.
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, hours, minutes).getTime();
};

/** Sorts by time: `20261115-070312-9f3a01c2`. */
const newRunId = () => {
  const [day, time] = new Date().toISOString().replaceAll(/[-:]/g, '').split('T') as [string, string];
  return `${day}-${time.slice(0, 6)}-${crypto.randomUUID().slice(0, 8)}`;
};

/** `opencode:anthropic/claude-sonnet, claude`: an agent without a model of its own gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });

const keptAgents = (agents: readonly AgentChoice[], { model }: Options, asked: ReadonlySet<FlagName>) =>
  asked.has('model') ? agents.map(({ harness }) => ({ harness, model })) : agents;

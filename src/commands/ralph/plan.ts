import { randomBytes } from 'node:crypto';
import { userError } from '../../errors.ts';
import type { FlagName, Options } from '../../flags.ts';
import type { Project } from '../../project/find.ts';
import { lastRecords } from '../../project/history.ts';
import { moduleOf } from '../../project/ids.ts';
import { readState } from '../../project/state.ts';
import type { AgentChoice, IterationRecord, RunPlan } from '../../ralph/events.ts';
import type { RunView } from '../../ralph/view.ts';

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
  /** A run that was cut off, resumed or not: something of it may still be running. */
  readonly cutOff: string | null;
}

interface Previous {
  readonly view: RunView;
  readonly last: IterationRecord | null;
}

/** A new run, or the last one again if it was cut off and has iterations left. Only for who holds the lock. */
export const planRun = async (request: PlanRequest): Promise<Planned> => {
  const last = await lastCutOff(request);
  const cutOff = last?.view.run ?? null;
  const previous = request.options.fresh ? null : last;
  const resumed = previous && makePlan(request, previous);
  if (resumed && resumed.firstIteration <= resumed.maxIterations) return { plan: resumed, previous, cutOff };
  return { plan: makePlan(request, null), previous: null, cutOff };
};

const lastCutOff = async ({ project, change }: PlanRequest): Promise<Previous | null> => {
  const view = await readState(project, change);
  // Whoever holds the lock knows that the process of a run that says "running" is gone.
  if (view?.status !== 'running' && view?.status !== 'interrupted') return null;
  const last = (await lastRecords(project, change, 1)).find((record) => record.run === view.run) ?? null;
  return { view, last };
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
    minIterations: kept && !asked.has('minIterations') ? kept.minIterations : options.minIterations,
    maxIterations: kept && !asked.has('maxIterations') ? (kept.maxIterations ?? Infinity) : options.maxIterations,
    failFast: options.failFast,
    retryDelayMs: options.retryDelay,
    firstIteration: (previous?.last?.iteration ?? 0) + 1,
  };
  if (plan.minIterations > plan.maxIterations) throw userError('min-above-max', plan.minIterations, plan.maxIterations);
  return plan;
};

/** Sorts by time: `20261115-070312-9f3a01c2`. */
const newRunId = () => {
  const [day, time] = new Date().toISOString().replaceAll(/[-:]/g, '').split('T') as [string, string];
  return `${day}-${time.slice(0, 6)}-${randomBytes(4).toString('hex')}`;
};

/** `opencode:anthropic/claude-sonnet, claude`: an agent without a model of its own gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });

const keptAgents = (agents: readonly AgentChoice[], { model }: Options, asked: ReadonlySet<FlagName>) =>
  asked.has('model') ? agents.map(({ harness }) => ({ harness, model })) : agents;

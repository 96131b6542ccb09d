import type { FileSettings } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { FlagName, Options } from '../config/flags.ts';
import { noTime } from '../config/values.ts';
import type { Project } from '../store/project.ts';
import { lastRecords } from '../store/history.ts';
import { changeOf } from '../changes/sources.ts';
import { withSecrets, asRecorded, recordFolder } from '../store/record.ts';
import { readRun } from '../store/state.ts';
import type { AgentChoice, GatePlan, IterationRecord, Limits, RunPlan, SettingsAtStart } from '../ralph/events.ts';
import { mapLimits } from '../ralph/limits.ts';
import { type RunView } from '../ralph/view.ts';
import { catchUp } from '../ralph/fold.ts';
import { changedSince, describeChanged } from './settings.ts';

export interface PlanRequest {
  readonly project: Project;
  readonly change: string;
  readonly options: Options;
  readonly explicit: ReadonlySet<FlagName>;
  /** What the config file says for a change, by key, as it is written there. */
  readonly fileFor: (change: string) => FileSettings;
  /** The id of a new run, when it is to be the same each time that the run is planned. */
  readonly newRun?: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface Planned {
  readonly plan: RunPlan;
  /** The run that this one goes on with; null for a new one. */
  readonly previous: Previous | null;
  /** When agents that were held up in the last run are free, by their keys. */
  readonly cooldowns: Readonly<Record<string, number>>;
  /** A run that was cut off, resumed or not: something of it may still be running. */
  readonly crashedRun: string | null;
  /** Where the settings of this run come from, for whoever resumes it. */
  readonly settings: SettingsAtStart;
  /** What the user should know of how it was planned. */
  readonly notices: readonly string[];
  /** state.json is damaged; null when it is not. */
  readonly damage: Damage | null;
}

interface Damage {
  /** What is said of it, in one line. */
  readonly text: string;
  /** What takes its place; null when the run cannot be resumed. */
  readonly rebuilt: RunView | null;
}

interface Previous {
  readonly view: RunView;
  /** As it was read, without the secrets in it. */
  readonly saved: RunView;
  readonly last: IterationRecord | null;
}

/** A new run, or the last one again if it was cut off. What it says is sure only for who holds the lock. */
export const planRun = async (request: PlanRequest): Promise<Planned> => {
  const { project, change, options, fileFor } = request;
  const { view: saved, damage, isWhole } = await readRun(project, change);
  const folder = recordFolder(project, change, request.env);
  const written = saved && asRecorded(folder, saved);
  const view = written && withSecrets(folder, written);
  const last = view && (await lastCutOff(request, view, written));
  const previous = options.fresh || !isWhole ? null : last;
  const then = previous?.view.settings ?? null;
  const file = fileFor(change);
  const changed = then ? changedSince(then, file, request.explicit) : [];
  const explicit = new Set([...request.explicit, ...changed]);
  const plan = makePlan({ ...request, explicit }, previous);
  // A run stays in its sandbox, whatever the file says by now.
  const told = changed.filter((name) => name !== 'sandbox' || plan.sandbox !== previous?.view.sandbox);
  const resumable = previous && withPromiseOf(plan, previous);
  return {
    plan,
    previous: resumable,
    crashedRun: last?.view.run ?? null,
    cooldowns: view?.cooldowns ?? {},
    settings: { explicit: [...new Set([...(then?.explicit ?? []), ...request.explicit])], file },
    notices: [
      ...(resumable ? [resumed(resumable.view, resumable !== previous)] : []),
      ...(told.length === 0 ? [] : [describeChanged(told, then!.file, file)]),
    ],
    damage: damage === null ? null : { text: damage, rebuilt: isWhole ? written : null },
  };
};

const lastCutOff = async (
  { project, change }: PlanRequest,
  view: RunView,
  saved: RunView,
): Promise<Previous | null> => {
  // Whoever holds the lock knows that the process of a run that says "running" is gone.
  if (view.status !== 'running' && view.status !== 'interrupted') return null;
  // The process may have been killed between saving a record and saving the state.
  const records = (await lastRecords(project, change, 2)).filter((record) => record.run === view.run);
  return { view: catchUp(view, records), saved, last: records.at(-1) ?? null };
};

/** What the agent promised counts for the promise that it was asked for, and for no other. */
const withPromiseOf = ({ completionPromise }: RunPlan, previous: Previous): Previous => {
  const { view } = previous;
  if (!view.pending?.completionFound || view.completionPromise === completionPromise) return previous;
  const rejected = `the completion promise was "${view.completionPromise}" then, and is "${completionPromise}" now`;
  const pending = { ...view.pending, completionFound: false, evidence: null, rejected };
  return { ...previous, view: { ...view, pending } };
};

const resumed = ({ finishedIterations, pending }: RunView, refused: boolean): string => {
  const next = finishedIterations + 1;
  if (pending === null) return `The last run was interrupted. Resuming at iteration ${next} (--fresh starts over).`;
  if (refused)
    return `The last run was interrupted. The promise of iteration ${next} does not count: ${pending.rejected} (--fresh starts over).`;
  return `The last run was interrupted. Running the gate of iteration ${next} again (--fresh starts over).`;
};

/** A resumed run keeps its agents, promise and limits, unless this call asks for others. Permissions are asked for anew. */
const makePlan = (
  { project, change, options, explicit, newRun = newRunId() }: PlanRequest,
  previous: Previous | null,
): RunPlan => {
  const kept = previous?.view;
  const plan = {
    run: kept?.run ?? newRun,
    change,
    module: changeOf(project, change).module,
    agents: kept ? agentsNow(kept, options, explicit) : agentsOf(options),
    allowAll: options.allowAll,
    // Never lost by saying nothing, and never left: --fresh starts a run without it.
    sandbox: options.sandbox || (kept?.sandbox ?? false),
    completionPromise: kept && !explicit.has('completionPromise') ? kept.completionPromise : options.completionPromise,
    blockedPromise: kept && !explicit.has('blockedPromise') ? kept.blockedPromise : options.blockedPromise,
    minIterations: kept && !explicit.has('minIterations') ? kept.minIterations : options.minIterations,
    maxIterations: kept && !explicit.has('maxIterations') ? (kept.maxIterations ?? Infinity) : options.maxIterations,
    limits: limitsOf(options, explicit, kept),
    gate: gateOf(options, explicit, kept),
    failFast: kept && !explicit.has('failFast') ? kept.failFast : options.failFast,
    commit: kept && !explicit.has('commit') ? kept.commit : options.commit,
    retryDelayMs: options.retryDelay,
    firstIteration: (kept?.pending?.iteration ?? kept?.finishedIterations ?? 0) + 1,
  };
  if (plan.completionPromise === plan.blockedPromise) throw userError('same-promise', plan.blockedPromise);
  if (plan.minIterations > plan.maxIterations) throw userError('min-above-max', plan.minIterations, plan.maxIterations);
  return plan;
};

const limitsOf = (options: Options, asked: ReadonlySet<FlagName>, kept: RunView | undefined): Limits => {
  const wanted: Readonly<Record<keyof Limits, readonly [FlagName, number]>> = {
    maxDurationMs: ['maxDuration', options.maxDuration],
    untilMs: [
      'until',
      options.until === null || options.until === noTime ? Infinity : nextTime(options.until, new Date()),
    ],
    maxCostUsd: ['maxCost', options.maxCost],
    maxTokens: ['maxTokens', options.maxTokens],
    iterationTimeoutMs: ['iterationTimeout', options.iterationTimeout],
    idleTimeoutMs: ['idleTimeout', options.idleTimeout],
    maxFailures: ['maxFailures', options.maxFailures],
    maxStalled: ['maxStalled', options.maxStalled],
    maxWaitMs: ['maxWait', options.maxWait],
  };
  return mapLimits((name) => {
    const [flag, value] = wanted[name];
    return kept && !asked.has(flag) ? (kept.limits[name] ?? Infinity) : value;
  });
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
export const newRunId = () => {
  const [day, time] = new Date().toISOString().replaceAll(/[-:]/g, '').split('T') as [string, string];
  return `${day}-${time.slice(0, 6)}-${crypto.randomUUID().slice(0, 8)}`;
};

/** `opencode:anthropic/claude-sonnet, claude`: an agent without a model of its own gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });

/** A model that was asked for when the run began stays, also with agents that the config file has named since. */
const agentsNow = (
  kept: RunView,
  { harness, model }: Options,
  asked: ReadonlySet<FlagName>,
): readonly AgentChoice[] => {
  const askedModel = kept.settings?.explicit.includes('model') ? (kept.agents[0]?.model ?? null) : model;
  if (asked.has('harness')) return agentsOf({ harness, model: asked.has('model') ? model : askedModel });
  return asked.has('model') ? kept.agents.map((agent) => ({ harness: agent.harness, model })) : kept.agents;
};

import { userError } from '../errors.ts';
import type { FlagName, Options, FileSettings } from '../config/flags.ts';
import { noTime } from '../config/values.ts';
import type { Project } from '../store/project.ts';
import { cutHistory, historySize, lastRecords } from '../store/history.ts';
import { changeOf } from '../changes/sources.ts';
import { asRecorded, userRecordFolder, withSecrets } from '../store/user-record.ts';
import { loopOwner, readRun, type SavedRun, stateStamp } from '../store/state.ts';
import type { AgentChoice, GatePlan, Limits, RunPlan, SettingsAtStart } from '../ralph/plan.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { mapLimits } from '../ralph/limits.ts';
import { type RunView } from '../ralph/view.ts';
import { catchUp } from '../ralph/reduce-view.ts';
import { changedSince, describeChanged } from './changed-settings.ts';
import { newRunId } from '../store/run-id.ts';

export interface PlanRequest {
  readonly project: Project;
  readonly change: string;
  readonly options: Options;
  readonly explicit: ReadonlySet<FlagName>;
  /** The values in the config file for this change, by key. */
  readonly fileSettings: FileSettings;
  readonly env: NodeJS.ProcessEnv;
}

export interface Planned {
  readonly plan: RunPlan;
  /** The run that is resumed; null for a new run. */
  readonly previous: Previous | null;
  /** When agents that hit a usage limit in the last run can be used again, by agent key. */
  readonly cooldowns: Readonly<Record<string, number>>;
  /** The last run if it crashed, resumed or not: its processes may still be running. */
  readonly crashedRun: string | null;
  /** Where the settings of this run come from, for a later resume. */
  readonly settings: SettingsAtStart;
  /** Lines for the user about the plan. */
  readonly notices: readonly string[];
  /** null if state.json is intact. */
  readonly damage: Damage | null;
  /** Identifies the version of the files that the plan is based on. */
  readonly basis: string;
}

interface Damage {
  /** One line for the user. */
  readonly text: string;
  /** The state that replaces it; null if the run cannot be resumed. */
  readonly rebuilt: RunView | null;
}

interface Previous {
  readonly view: RunView;
  /** The view that was read from state.json, with secrets redacted. */
  readonly saved: RunView;
  readonly last: IterationRecord | null;
  /** Records before its last one may be missing. */
  readonly isCut: boolean;
}

/** The last run of a change, read once by everything that a start checks. */
export interface LastRun extends SavedRun {
  /** Its process lives, so what was read may change. */
  readonly isRunning: boolean;
  /** Identifies the version of the files that were read, or an older one. */
  readonly basis: string;
}

/** The files are identified before they are read: what is written in between is noticed later. */
export const readLastRun = async (of: Pick<PlanRequest, 'project' | 'change'>): Promise<LastRun> => {
  const isRunning = loopOwner(of.project, of.change) !== null;
  const basis = basisOf(of);
  return { ...(await readRun(of.project, of.change)), isRunning, basis };
};

/** Plans a new run, or resumes the last one if it was interrupted. Only the owner of the lock can rely on the plan. */
export const planRun = async (request: PlanRequest, lastRun: LastRun): Promise<Planned> => {
  const { project, change, options, fileSettings: file } = request;
  const { view: saved, damage, isWhole, basis } = lastRun;
  const folder = userRecordFolder(project, change, request.env);
  const written = saved && asRecorded(folder, saved);
  const view = written && withSecrets(folder, written);
  const last = view && lastInterrupted(request, view, written);
  const previous = options.fresh || !isWhole ? null : last;
  const then = previous?.view.settings ?? null;
  const changed = then ? changedSince(then, file, request.explicit) : [];
  const plan = createPlan({ ...request, explicit: new Set([...request.explicit, ...changed]) }, previous);
  // A run stays in its sandbox, regardless of the config file.
  const announced = changed.filter((name) => name !== 'sandbox' || plan.sandbox !== previous?.view.sandbox);
  const resumable = previous && withoutOtherPromise(plan, previous);
  return {
    plan,
    previous: resumable,
    crashedRun: last?.view.run ?? null,
    cooldowns: view?.cooldowns ?? {},
    settings: { explicit: [...new Set([...(then?.explicit ?? []), ...request.explicit])], file },
    notices: [
      ...(resumable ? [resumeNotice(resumable.view, resumable !== previous)] : []),
      ...(resumable?.isCut && damage === null ? [cutHistory(project, change)] : []),
      ...(announced.length === 0 ? [] : [describeChanged(announced, then!.file, file)]),
    ],
    damage: damage === null ? null : { text: damage, rebuilt: isWhole ? written : null },
    basis,
  };
};

/** Plans again if another process has written to the state of the change since. */
export const planAgain = async (planned: Planned, request: PlanRequest): Promise<Planned> => {
  if (planned.basis === basisOf(request)) return planned;
  const again = await planRun(request, await readLastRun(request));
  // A new run keeps the id under which its sandbox was opened.
  return again.previous === null ? { ...again, plan: { ...again.plan, run: planned.plan.run } } : again;
};

const basisOf = ({ project, change }: Pick<PlanRequest, 'project' | 'change'>): string =>
  `${stateStamp(project, change)} ${historySize(project, change)}`;

const lastInterrupted = ({ project, change }: PlanRequest, view: RunView, saved: RunView): Previous | null => {
  // The owner of the lock knows that the process of a run that says "running" is gone.
  if (view.status !== 'running' && view.status !== 'interrupted') return null;
  // The process may have been killed between saving a record and saving the state.
  const { records: all, isCut } = lastRecords(project, change, 2);
  const records = all.filter((record) => record.run === view.run);
  return { view: catchUp(view, records), saved, last: records.at(-1) ?? null, isCut };
};

/** Rejects a pending promise if the completion promise has changed since. */
const withoutOtherPromise = ({ completionPromise }: RunPlan, previous: Previous): Previous => {
  const { view } = previous;
  if (!view.pending?.completionFound || view.completionPromise === completionPromise) return previous;
  const rejected = `the completion promise was "${view.completionPromise}" then, and is "${completionPromise}" now`;
  const pending = { ...view.pending, completionFound: false, evidence: null, rejected };
  return { ...previous, view: { ...view, pending } };
};

const resumeNotice = ({ finishedIterations, pending }: RunView, refused: boolean): string => {
  const next = finishedIterations + 1;
  if (pending === null) return `The last run was interrupted. Resuming at iteration ${next} (--fresh starts over).`;
  if (refused)
    return `The last run was interrupted. The promise of iteration ${next} does not count: ${pending.rejected} (--fresh starts over).`;
  return `The last run was interrupted. Running the gate of iteration ${next} again (--fresh starts over).`;
};

/** Returns the value of the interrupted run, unless the caller set the flag explicitly. */
type Choose = <Value>(flag: FlagName, previous: Value | undefined, given: Value) => Value;

/**
 * A resumed run keeps its agents, promise, gate and limits, unless the caller sets others. It does not keep
 * permissions.
 */
const createPlan = ({ project, change, options, explicit }: PlanRequest, previous: Previous | null): RunPlan => {
  const view = previous?.view;
  const choose: Choose = (flag, before, given) => (before !== undefined && !explicit.has(flag) ? before : given);
  const plan: RunPlan = {
    run: view?.run ?? newRunId(),
    change,
    module: changeOf(project, change).module,
    agents: view ? agentsOnResume(view, options, explicit) : agentsOf(options),
    allowAll: options.allowAll,
    // A run never leaves its sandbox: --fresh starts one without it.
    sandbox: options.sandbox || (view?.sandbox ?? false),
    completionPromise: choose('completionPromise', view?.completionPromise, options.completionPromise),
    blockedPromise: choose('blockedPromise', view?.blockedPromise, options.blockedPromise),
    minIterations: choose('minIterations', view?.minIterations, options.minIterations),
    maxIterations: choose('maxIterations', view && (view.maxIterations ?? Infinity), options.maxIterations),
    limits: limitsOf(options, view, choose),
    gate: gateOf(options, view, choose),
    failFast: choose('failFast', view?.failFast, options.failFast),
    commit: choose('commit', view?.commit, options.commit),
    retryDelayMs: options.retryDelay,
    firstIteration: (view?.pending?.iteration ?? view?.finishedIterations ?? 0) + 1,
  };
  if (plan.completionPromise === plan.blockedPromise) throw userError('same-promise', plan.blockedPromise);
  if (plan.minIterations > plan.maxIterations) throw userError('min-above-max', plan.minIterations, plan.maxIterations);
  return plan;
};

const limitsOf = (options: Options, view: RunView | undefined, choose: Choose): Limits => {
  const given: Readonly<Record<keyof Limits, readonly [FlagName, number]>> = {
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
    const [flag, value] = given[name];
    return choose(flag, view && (view.limits[name] ?? Infinity), value);
  });
};

const gateOf = (options: Options, view: RunView | undefined, choose: Choose): GatePlan => ({
  verify: choose('verify', view?.gate.verify, options.verify),
  verifyEach: choose('verifyEach', view?.gate.verifyEach, options.verifyEach),
  requireTasks: choose('requireTasks', view?.gate.requireTasks, options.requireTasks),
  allowTampering: options.allowTampering,
});

/** Returns the next occurrence of a local clock time, in milliseconds since 1970. */
const nextTime = (clock: string, now: Date): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) return at.getTime();
  // A day is not always 24 hours long.
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, hours, minutes).getTime();
};

/** Parses `opencode:anthropic/claude-sonnet, claude`. An agent without a model gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });

/** A model that was set when the run began is kept, even for agents that were added to the config file since. */
const agentsOnResume = (
  previous: RunView,
  { harness, model }: Options,
  explicit: ReadonlySet<FlagName>,
): readonly AgentChoice[] => {
  const firstModel = previous.settings?.explicit.includes('model') ? (previous.agents[0]?.model ?? null) : model;
  if (explicit.has('harness')) return agentsOf({ harness, model: explicit.has('model') ? model : firstModel });
  return explicit.has('model') ? previous.agents.map((agent) => ({ harness: agent.harness, model })) : previous.agents;
};

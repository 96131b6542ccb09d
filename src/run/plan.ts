import { userError } from '../errors.ts';
import type { FlagName, Options, FileSettings } from '../config/flags.ts';
import { noTime } from '../config/values.ts';
import type { Project } from '../store/project.ts';
import { cutHistory, historySize, lastRecords } from '../store/history.ts';
import type { Change } from '../changes/source.ts';
import { userRecordFolder } from '../store/user-record/folder.ts';
import { withSecrets } from '../store/user-record/identity.ts';
import { asRecorded } from '../store/user-record/steps.ts';
import { loopOwner, readRun, type SavedRun, stateStamp } from '../store/state.ts';
import type { AgentChoice, GatePlan, Limits, RunPlan, SettingsAtStart } from '../ralph/plan.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { mapLimits } from '../ralph/limits.ts';
import { isOpen, type RunView } from '../ralph/view.ts';
import { catchUp } from '../ralph/reduce-view.ts';
import { changedSince, describeChanged } from './changed-settings.ts';
import { newRunId } from '../store/run-id.ts';
import { keptValues } from './kept-settings.ts';

export interface PlanRequest {
  readonly project: Project;
  readonly change: string;
  readonly target: Change;
  readonly options: Options;
  readonly explicit: ReadonlySet<FlagName>;
  /** The values in the config file for this change, by key. */
  readonly fileSettings: FileSettings;
  readonly env: NodeJS.ProcessEnv;
}

export interface Planned {
  readonly plan: RunPlan;
  /** The run that is resumed; null for a new run. */
  readonly previous: Interrupted | null;
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

interface Interrupted {
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
export const planRun = (request: PlanRequest, lastRun: LastRun): Planned => {
  const { options, explicit, fileSettings: file } = request;
  const { damage, isWhole, basis } = lastRun;
  const recorded = recordedRun(request, lastRun);
  const interrupted = recorded && isOpen(recorded) ? loadInterrupted(request, recorded) : null;
  const resumed = options.fresh || !isWhole ? null : interrupted;
  const then = resumed?.view.settings ?? null;
  const changed = then ? changedSince(then, file, explicit) : [];
  const plan = createPlan({ ...request, explicit: new Set([...explicit, ...changed]) }, resumed);
  const previous = resumed && withoutOtherPromise(plan, resumed);
  const given = { ...then?.given, ...keptValues(options, explicit) };
  return {
    plan,
    previous,
    crashedRun: interrupted?.view.run ?? null,
    cooldowns: recorded?.cooldowns ?? {},
    settings: {
      explicit: [...new Set([...(then?.explicit ?? []), ...explicit])],
      file,
      ...(Object.keys(given).length === 0 ? {} : { given }),
    },
    notices: previous ? noticesOf(request, { plan, previous, changed, damage, isRefused: previous !== resumed }) : [],
    damage: damage === null ? null : { text: damage, rebuilt: isWhole ? recorded : null },
    basis,
  };
};

/** Plans again if another process has written to the state of the change since. */
export const planAgain = async (planned: Planned, request: PlanRequest): Promise<Planned> => {
  if (planned.basis === basisOf(request)) return planned;
  const again = planRun(request, await readLastRun(request));
  // A new run keeps the id under which its sandbox was opened.
  return again.previous === null ? { ...again, plan: { ...again.plan, run: planned.plan.run } } : again;
};

/** A plan and the files that it was made from. */
export interface EarlierPlan {
  readonly lastRun: LastRun;
  readonly planned: Planned;
}

/** Whether the files are still the same. A process that was running may have been killed since without a trace. */
export const isCurrent = ({ lastRun }: EarlierPlan, of: Pick<PlanRequest, 'project' | 'change'>): boolean =>
  !lastRun.isRunning && lastRun.basis === basisOf(of);

/** Reuses a plan for a run that starts now. Returns null if the next occurrence of --until is another one by now. */
export const startNow = (planned: Planned): Planned | null => {
  const { plan, previous } = planned;
  if (plan.limits.untilMs <= Date.now()) return null;
  return previous === null ? { ...planned, plan: { ...plan, run: newRunId() } } : planned;
};

const basisOf = ({ project, change }: Pick<PlanRequest, 'project' | 'change'>): string =>
  `${stateStamp(project, change)} ${historySize(project, change)}`;

/** Returns the last run with the status that the user's record confirms. */
export const recordedRun = (
  { project, change, env }: Pick<PlanRequest, 'project' | 'change' | 'env'>,
  { view }: LastRun,
): RunView | null => view && asRecorded(userRecordFolder(project, change, env), view);

/** Loads what a resume needs of a run that has not ended. The owner of the lock knows that its process is gone, even if it is "running". */
const loadInterrupted = ({ project, change, env }: PlanRequest, saved: RunView): Interrupted => {
  const view = withSecrets(userRecordFolder(project, change, env), saved);
  // The process may have been killed between saving a record and saving the state.
  const { records: all, isCut } = lastRecords(project, change, 2);
  const records = all.filter((record) => record.run === view.run);
  return { view: catchUp(view, records), saved, last: records.at(-1) ?? null, isCut };
};

/** Rejects a pending promise if the completion promise has changed since. */
const withoutOtherPromise = ({ completionPromise }: RunPlan, previous: Interrupted): Interrupted => {
  const { view } = previous;
  if (!view.pending?.completionFound || view.completionPromise === completionPromise) return previous;
  const rejected = `the completion promise was "${view.completionPromise}" then, and is "${completionPromise}" now`;
  const pending = { ...view.pending, completionFound: false, evidence: null, rejected };
  return { ...previous, view: { ...view, pending } };
};

interface Resuming {
  readonly plan: RunPlan;
  readonly previous: Interrupted;
  /** The settings that have changed in the config file since the run began. */
  readonly changed: readonly FlagName[];
  readonly damage: LastRun['damage'];
  /** Its pending promise does not count. */
  readonly isRefused: boolean;
}

const noticesOf = ({ project, change, fileSettings }: PlanRequest, resuming: Resuming): string[] => {
  const { plan, previous, changed, damage, isRefused } = resuming;
  const { view, isCut } = previous;
  // A run stays in its sandbox, regardless of the config file.
  const announced = changed.filter((name) => name !== 'sandbox' || plan.sandbox !== view.sandbox);
  return [
    resumeNotice(view, isRefused),
    ...(isCut && damage === null ? [cutHistory(project, change)] : []),
    ...(announced.length === 0 ? [] : [describeChanged(announced, view.settings!.file, fileSettings)]),
  ];
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
const createPlan = ({ change, target, options, explicit }: PlanRequest, previous: Interrupted | null): RunPlan => {
  const view = previous?.view;
  const choose: Choose = (flag, before, given) => (before !== undefined && !explicit.has(flag) ? before : given);
  const plan: RunPlan = {
    run: view?.run ?? newRunId(),
    change,
    source: target.source,
    module: target.module,
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

import type { FlagName, Options, FileSettings } from '../../config/flags.ts';
import type { Project } from '../../store/project.ts';
import { cutHistory, lastRecords } from '../../store/history.ts';
import type { Change } from '../../changes/source.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { withSecrets } from '../../store/user-state/identity.ts';
import type { RunPlan, ScenarioCommands, SettingsAtStart } from '../../ralph/plan.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import { isResumable, type RunView } from '../../ralph/view.ts';
import { catchUp } from '../../ralph/reduce-view.ts';
import { createPlan } from './create-plan.ts';
import { withScenarioCommands } from './scenario-commands.ts';
import { changedSince, describeChanged } from '../resume/changed-settings.ts';
import { type LastRun, lastRunVersion, readLastRun, recordedRun } from '../resume/last-run.ts';
import { valuesToRecord } from '../resume/recorded-settings.ts';
import { newRunId } from '../../store/run-id.ts';

export interface PlanRequest {
  readonly project: Project;
  readonly target: Change;
  readonly options: Options;
  readonly explicit: ReadonlySet<FlagName>;
  /** The values in the config file for this change, by key. */
  readonly fileSettings: FileSettings;
  readonly env: NodeJS.ProcessEnv;
  /** The commands of scenarios that must be proven; missing if there are none. */
  readonly scenarioCommands?: ScenarioCommands;
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
  /** It continues no earlier run: the last one is complete, or the user asked for a fresh start. */
  readonly startsOver: boolean;
  /** null if state.json is intact. */
  readonly damage: Damage | null;
  /** What the plan is based on. */
  readonly lastRun: LastRun;
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
  /** The iteration before the last. */
  readonly earlier: IterationRecord | null;
  /** Records before its last one may be missing. */
  readonly isCut: boolean;
}

/**
 * Plans a new run, or resumes the last one if it was interrupted. Only the owner of the lock can rely on the plan.
 * `known` is the last run, if it was read before.
 */
export const makePlan = async (request: PlanRequest, known?: LastRun): Promise<Planned> => {
  const lastRun = known ?? (await readLastRun(request));
  return planRun(await withScenarioCommands(request, lastRun), lastRun);
};

export const planRun = (request: PlanRequest, lastRun: LastRun): Planned => {
  const recorded = recordedRun(request, lastRun);
  const interrupted = recorded && isResumable(recorded) ? loadInterrupted(request, recorded) : null;
  const resumed = request.options.fresh || !lastRun.hasSettings ? null : interrupted;
  const changed = changedSettings(request, resumed);
  const created = createPlan({ ...request, explicit: new Set([...request.explicit, ...changed]) }, resumed?.view);
  const plan = withCommandsOf(created, request);
  const previous = resumed && rejectChangedPromise(plan, resumed);
  return {
    plan,
    previous,
    crashedRun: interrupted?.view.run ?? null,
    cooldowns: recorded?.cooldowns ?? {},
    settings: settingsAtStart(request, resumed),
    notices: previous ? noticesOf(request, { plan, previous, changed, isRejected: previous !== resumed }, lastRun) : [],
    startsOver: previous === null && (request.options.fresh || recorded === null || recorded.status === 'complete'),
    damage: damageOf(lastRun, recorded),
    lastRun,
  };
};

/** A resumed run uses the commands that the scenarios have now: the user is asked to trust them. */
const withCommandsOf = (plan: RunPlan, { scenarioCommands }: PlanRequest): RunPlan =>
  plan.gate.requireScenarios && scenarioCommands ? { ...plan, gate: { ...plan.gate, scenarioCommands } } : plan;

/** Plans again only if another process has written to the state of the change since. */
export const replanIfChanged = async (planned: Planned, request: PlanRequest): Promise<Planned> => {
  if (isCurrent(planned, request)) return planned;
  const again = await makePlan(request);
  // A new run keeps the id under which its sandbox was opened.
  return again.previous === null ? { ...again, plan: { ...again.plan, run: planned.plan.run } } : again;
};

/**
 * Whether the files that a plan is based on are still the same. A process that was running may have been killed since
 * without a trace.
 */
export const isCurrent = ({ lastRun }: Planned, of: Pick<PlanRequest, 'project' | 'target'>): boolean =>
  !lastRun.isRunning && lastRun.version === lastRunVersion(of);

/** Reuses a plan for a run that starts now. Returns null if the next occurrence of --until is another one by now. */
export const reusePlan = (planned: Planned): Planned | null => {
  const { plan, previous } = planned;
  if (plan.limits.untilMs <= Date.now()) return null;
  return previous === null ? { ...planned, plan: { ...plan, run: newRunId() } } : planned;
};

/** Loads what a resume needs. The status may be "running": the owner of the lock knows that the process is gone. */
const loadInterrupted = ({ project, target, env }: PlanRequest, saved: RunView): Interrupted => {
  const view = withSecrets(userStateFolder(project, target.id, env), saved);
  // The process may have been killed between saving a record and saving the state.
  const { records: all, isCut } = lastRecords(project, target.id, 2);
  const records = all.filter((record) => record.run === view.run);
  return { view: catchUp(view, records), saved, last: records.at(-1) ?? null, earlier: records.at(-2) ?? null, isCut };
};

/** Rejects a pending promise if the completion promise has changed since. */
const rejectChangedPromise = ({ completionPromise }: RunPlan, previous: Interrupted): Interrupted => {
  const { view } = previous;
  if (!view.pending?.completionFound || view.completionPromise === completionPromise) return previous;
  const rejected = `the completion promise was "${view.completionPromise}" then, and is "${completionPromise}" now`;
  const pending = { ...view.pending, completionFound: false, evidence: null, rejected };
  return { ...previous, view: { ...view, pending } };
};

/** Returns the settings that have changed in the config file since the resumed run began. */
const changedSettings = ({ fileSettings, explicit }: PlanRequest, resumed: Interrupted | null): FlagName[] => {
  const then = resumed?.view.settings;
  return then ? changedSince(then, fileSettings, explicit) : [];
};

const settingsAtStart = (
  { options, explicit, fileSettings }: PlanRequest,
  resumed: Interrupted | null,
): SettingsAtStart => {
  const then = resumed?.view.settings;
  const given = { ...then?.given, ...valuesToRecord(options, explicit) };
  return {
    explicit: [...new Set([...(then?.explicit ?? []), ...explicit])],
    file: fileSettings,
    ...(Object.keys(given).length === 0 ? {} : { given }),
  };
};

const damageOf = ({ damage, hasSettings }: LastRun, recorded: RunView | null): Damage | null =>
  damage === null ? null : { text: damage, rebuilt: hasSettings ? recorded : null };

interface Resuming {
  readonly plan: RunPlan;
  readonly previous: Interrupted;
  readonly changed: readonly FlagName[];
  /** Its pending promise does not count. */
  readonly isRejected: boolean;
}

const noticesOf = (
  { project, target, fileSettings }: PlanRequest,
  { plan, previous, changed, isRejected }: Resuming,
  { damage }: LastRun,
): string[] => {
  const { view, isCut } = previous;
  // A run stays in its sandbox, regardless of the config file.
  const announced = changed.filter((name) => name !== 'sandbox' || plan.sandbox !== view.sandbox);
  return [
    resumeNotice(view, isRejected),
    ...(isCut && damage === null ? [cutHistory(project, target.id)] : []),
    ...(announced.length === 0 ? [] : [describeChanged(announced, view.settings!.file, fileSettings)]),
  ];
};

const resumeNotice = ({ finishedIterations, pending }: RunView, isRejected: boolean): string => {
  const next = finishedIterations + 1;
  if (pending === null) return `The last run was interrupted. Resuming at iteration ${next} (--fresh starts over).`;
  if (isRejected)
    return `The last run was interrupted. The promise of iteration ${next} does not count: ${pending.rejected} (--fresh starts over).`;
  return `The last run was interrupted. Running the gate of iteration ${next} again (--fresh starts over).`;
};

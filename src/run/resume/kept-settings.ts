import type { Options } from '../../config/flags.ts';
import type { FlagsKept } from '../../config/kept.ts';
import { noTime } from '../../config/values.ts';
import { limitsOf } from '../../ralph/limits.ts';
import { agentKey } from '../../ralph/plan.ts';
import type { RunView } from '../../ralph/view.ts';
import { clockTime } from '../../text/format.ts';
import { recordedSettings } from './recorded-settings.ts';

export type KeptSettings = Partial<Pick<Options, FlagsKept<'plan' | 'workspace' | 'recorded'>>>;

/** The settings of a run as they could be set by flags. Permissions are left out. */
export const keptSettings = (view: RunView): KeptSettings => {
  const settings = { ...settingsInPlan(view), ...settingsOfWorkspace(view), ...settingsInView(view) };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
};

/** undefined for settings of a review that the run does not have. */
const settingsInPlan = (view: RunView) => {
  const { agents, gate } = view;
  const { maxIterations, limits } = limitsOf(view);
  const names = agents.map(agentKey).join(',');
  return {
    harness: names,
    model: agents[0]?.model ?? null,
    escalate: view.ladder ? names : null,
    handover: view.handover !== false,
    completionPromise: view.completionPromise,
    blockedPromise: view.blockedPromise,
    minIterations: view.minIterations,
    maxIterations,
    maxDuration: limits.maxDurationMs,
    until: limits.untilMs === Infinity ? noTime : clockTime(new Date(limits.untilMs)),
    maxCost: limits.maxCostUsd,
    maxTokens: limits.maxTokens,
    iterationTimeout: limits.iterationTimeoutMs,
    idleTimeout: limits.idleTimeoutMs,
    maxFailures: limits.maxFailures,
    maxStalled: limits.maxStalled,
    maxWait: limits.maxWaitMs,
    verify: gate.verify,
    verifyEach: gate.verifyEach,
    requireTasks: gate.requireTasks,
    requireScenarios: gate.requireScenarios ?? false,
    redFirst: gate.redFirst ?? false,
    report: gate.reports ?? [],
    review: gate.review && agentKey(gate.review),
    maxReviews: gate.review?.max,
    reviewPrompt: gate.review?.prompt,
    failFast: view.failFast,
    commit: view.commit,
  } satisfies { readonly [Name in FlagsKept<'plan'>]: Options[Name] | undefined };
};

const settingsOfWorkspace = ({ workspace }: RunView) =>
  ({
    worktree: Boolean(workspace?.worktree),
    branch: workspace?.branch ?? null,
  }) satisfies Pick<Options, FlagsKept<'workspace'>>;

const settingsInView = ({ settings }: RunView): Readonly<Record<string, unknown>> =>
  Object.fromEntries(recordedSettings.map((name) => [name, settings?.given?.[name]]));

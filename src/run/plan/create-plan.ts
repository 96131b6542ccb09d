import { agentsOf, reviewOf } from '../../config/agents.ts';
import type { FlagName, Options } from '../../config/flags.ts';
import { noTime } from '../../config/values.ts';
import { userError } from '../../errors.ts';
import type { Change } from '../../changes/source.ts';
import { limitsOf, mapLimits } from '../../ralph/limits.ts';
import type { GatePlan, Limits, ReviewPlan, RunPlan } from '../../ralph/plan.ts';
import type { RunView } from '../../ralph/view.ts';
import { agentSettings, type AgentSettings, keptAgents } from '../resume/kept-agents.ts';
import { newRunId } from '../../store/run-id.ts';

interface CreatePlanRequest {
  readonly target: Change;
  readonly options: Options;
  /** The settings that a resumed run does not keep. */
  readonly explicit: ReadonlySet<FlagName>;
}

/**
 * `view` is the run to resume, which keeps its agents, promise, gate and limits, unless the caller sets others. It does
 * not keep permissions.
 */
export const createPlan = ({ target, options, explicit }: CreatePlanRequest, view: RunView | undefined): RunPlan => {
  const choose: Choose = (flag, before, given) => (before !== undefined && !explicit.has(flag) ? before : given);
  const plan: RunPlan = {
    run: view?.run ?? newRunId(),
    change: target.id,
    source: target.source,
    module: target.module,
    ...chooseAgents(options, view, explicit),
    allowAll: options.allowAll,
    // A run never leaves its sandbox: --fresh starts one without it.
    sandbox: options.sandbox || (view?.sandbox ?? false),
    completionPromise: choose('completionPromise', view?.completionPromise, options.completionPromise),
    blockedPromise: choose('blockedPromise', view?.blockedPromise, options.blockedPromise),
    minIterations: choose('minIterations', view?.minIterations, options.minIterations),
    maxIterations: choose('maxIterations', view && limitsOf(view).maxIterations, options.maxIterations),
    limits: chooseLimits(options, view, choose),
    gate: chooseGate(options, view, choose),
    failFast: choose('failFast', view?.failFast, options.failFast),
    commit: choose('commit', view?.commit, options.commit),
    handover: choose('handover', view && view.handover !== false, options.handover),
    retryDelayMs: options.retryDelay,
    firstIteration: (view?.pending?.iteration ?? view?.finishedIterations ?? 0) + 1,
  };
  if (plan.completionPromise === plan.blockedPromise) throw userError('same-promise', plan.blockedPromise);
  if (plan.minIterations > plan.maxIterations) throw userError('min-above-max', plan.minIterations, plan.maxIterations);
  return plan;
};

/** Returns the value of the interrupted run, unless the caller set the flag explicitly. */
type Choose = <Value>(flag: FlagName, previous: Value | undefined, given: Value) => Value;

const chooseLimits = (options: Options, view: RunView | undefined, choose: Choose): Limits => {
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
  const before = view && limitsOf(view).limits;
  return mapLimits((name) => {
    const [flag, value] = given[name];
    return choose(flag, before?.[name], value);
  });
};

const chooseGate = (options: Options, view: RunView | undefined, choose: Choose): GatePlan => {
  const review = chooseReview(options, view, choose);
  return { ...chooseChecks(options, view, choose), ...(review && { review }) };
};

/** Like the permissions of the agent, those of the reviewer are not kept. */
const chooseReview = (options: Options, view: RunView | undefined, choose: Choose): ReviewPlan | null => {
  const before = view?.gate.review;
  const given = reviewOf(options);
  const agent = choose('review', view && (before ?? null), given);
  return (
    agent && {
      harness: agent.harness,
      model: agent.model,
      max: choose('maxReviews', before?.max, options.maxReviews),
      prompt: choose('reviewPrompt', before?.prompt, options.reviewPrompt),
      allowAll: options.reviewAllowAll,
    }
  );
};

const chooseChecks = (options: Options, view: RunView | undefined, choose: Choose): Omit<GatePlan, 'review'> => ({
  verify: choose('verify', view?.gate.verify, options.verify),
  verifyEach: choose('verifyEach', view?.gate.verifyEach, options.verifyEach),
  requireTasks: choose('requireTasks', view?.gate.requireTasks, options.requireTasks),
  allowTampering: options.allowTampering,
  ...chooseProof(options, view, choose),
});

/** --red-first implies --require-scenarios. */
const chooseProof = (options: Options, view: RunView | undefined, choose: Choose): Partial<GatePlan> => {
  const before = view?.gate;
  const redFirst = choose('redFirst', before && Boolean(before.redFirst), options.redFirst);
  const isRequired = choose('requireScenarios', before && Boolean(before.requireScenarios), options.requireScenarios);
  const reports = choose('report', before && (before.reports ?? []), options.report);
  return {
    ...((isRequired || redFirst) && { requireScenarios: true as const }),
    ...(redFirst && { redFirst: true as const }),
    ...(reports.length > 0 && { reports }),
  };
};

/** Returns the next occurrence of a local clock time, in milliseconds since 1970. */
const nextTime = (clock: string, now: Date): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) return at.getTime();
  // A day is not always 24 hours long.
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, hours, minutes).getTime();
};

type Agents = Pick<RunPlan, 'agents' | 'ladder'>;

const chooseAgents = (options: Options, view: RunView | undefined, explicit: ReadonlySet<FlagName>): Agents => {
  if (!view) return agentsFrom(options);
  const isKept = (name: keyof AgentSettings) => !explicit.has(name);
  // As they are: the name of a model may contain a comma, which separates agents in a setting.
  if (agentSettings.every(isKept)) return { agents: view.agents, ladder: view.ladder ?? false };
  return agentsFrom(keptAgents(view, options, isKept));
};

const agentsFrom = (settings: AgentSettings): Agents => ({
  agents: agentsOf(settings),
  ladder: settings.escalate !== null,
});

import type { AbortReason, Usage } from './agent-events.ts';
import type { Limits, RunPlan } from './plan.ts';
import type { Stop } from './events.ts';
import { tokensOf } from './usage.ts';
import type { RunView } from './view.ts';

/** What a run has used so far. */
export interface Spent {
  readonly elapsedMs: number;
  readonly nowMs: number;
  readonly usage: Usage | null;
}

/** Builds limits from a function that returns the value of each. */
export const mapLimits = (valueOf: (name: keyof Limits) => number): Limits => ({
  maxDurationMs: valueOf('maxDurationMs'),
  untilMs: valueOf('untilMs'),
  maxCostUsd: valueOf('maxCostUsd'),
  maxTokens: valueOf('maxTokens'),
  iterationTimeoutMs: valueOf('iterationTimeoutMs'),
  idleTimeoutMs: valueOf('idleTimeoutMs'),
  maxFailures: valueOf('maxFailures'),
  maxStalled: valueOf('maxStalled'),
  maxWaitMs: valueOf('maxWaitMs'),
});

/** The limits of a run, for which null means unlimited in its view. */
export const limitsOf = ({
  maxIterations,
  limits,
}: Pick<RunView, 'maxIterations' | 'limits'>): Pick<RunPlan, 'maxIterations' | 'limits'> => ({
  maxIterations: maxIterations ?? Infinity,
  limits: mapLimits((name) => limits[name] ?? Infinity),
});

/** Returns the first limit that is reached; null if there is none. */
export const limitReached = (limits: Limits, { elapsedMs, nowMs, usage }: Spent): Stop | null => {
  if (elapsedMs >= limits.maxDurationMs) return { cause: 'max-duration', detail: '--max-duration reached' };
  if (nowMs >= limits.untilMs) return { cause: 'until', detail: '--until reached' };
  return usage && overspent(limits, usage);
};

/** Returns how many milliseconds --max-duration and --until leave; 0 or less if one of them is reached. */
export const timeLeft = (
  { maxDurationMs, untilMs }: Pick<Limits, 'maxDurationMs' | 'untilMs'>,
  { elapsedMs, nowMs }: Pick<Spent, 'elapsedMs' | 'nowMs'>,
): number => Math.min(maxDurationMs - elapsedMs, untilMs - nowMs);

/** The time that an agent may still take. */
export interface Deadlines {
  readonly iterationMs: number;
  readonly idleMs: number;
  /** What is left of --max-duration. */
  readonly leftMs: number;
  readonly untilMs: number;
}

export const deadlinesOf = (limits: Limits, elapsedMs: number): Deadlines => ({
  iterationMs: limits.iterationTimeoutMs,
  idleMs: limits.idleTimeoutMs,
  leftMs: limits.maxDurationMs - elapsedMs,
  untilMs: limits.untilMs,
});

/** Returns why an agent must be stopped now because its run is over budget; null if it is not. */
export const budgetAbort = (limits: Limits, usage: Usage | null): AbortReason | null => {
  const stop = usage && overspent(limits, usage);
  return stop && { end: 'out-of-budget', why: stop.detail };
};

const overspent = (limits: Limits, usage: Usage): Stop | null => {
  const cost = usage.costUsd ?? 0;
  if (cost >= limits.maxCostUsd)
    return { cause: 'max-cost', detail: `--max-cost ${limits.maxCostUsd} reached: $${cost.toFixed(2)} spent` };
  const tokens = tokensOf(usage) ?? 0;
  if (tokens >= limits.maxTokens)
    return { cause: 'max-tokens', detail: `--max-tokens ${limits.maxTokens} reached: ${tokens} used` };
  return null;
};

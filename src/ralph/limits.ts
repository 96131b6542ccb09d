import type { AbortReason, Limits, Stop, Usage } from './events.ts';

/** What a run has used up so far. */
export interface Spent {
  readonly elapsedMs: number;
  readonly nowMs: number;
  readonly usage: Usage | null;
}

/** A value for each limit. */
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

/** The first limit that is reached; null when all of them leave room. */
export const limitReached = (limits: Limits, { elapsedMs, nowMs, usage }: Spent): Stop | null => {
  if (elapsedMs >= limits.maxDurationMs) return { cause: 'max-duration', detail: 'the time of --max-duration is over' };
  if (nowMs >= limits.untilMs) return { cause: 'until', detail: 'the time of --until has come' };
  return usage && overspent(limits, usage);
};

/** What an agent may still take, and why it is ended when it takes more. */
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

/** Why an agent must be ended now, as its run has used too much; null while it may go on. */
export const budgetAbort = (limits: Limits, usage: Usage | null): AbortReason | null => {
  const stop = usage && overspent(limits, usage);
  return stop && { end: 'out-of-budget', why: stop.detail };
};

const overspent = (limits: Limits, usage: Usage): Stop | null => {
  const cost = usage.costUsd ?? 0;
  if (cost >= limits.maxCostUsd)
    return { cause: 'max-cost', detail: `--max-cost ${limits.maxCostUsd} reached: $${cost.toFixed(2)} spent` };
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  if (tokens >= limits.maxTokens)
    return { cause: 'max-tokens', detail: `--max-tokens ${limits.maxTokens} reached: ${tokens} used` };
  return null;
};

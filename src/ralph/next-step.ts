import { failed, type IterationRecord } from './record.ts';
import { type RunPlan } from './plan.ts';
import { type Stop } from './events.ts';
import { rejectionOf } from './gate-result.ts';
import { limitReached, type Spent } from './limits.ts';
import type { RunTotals } from './totals.ts';
import { unreadContext, wasUnread } from './unread-context.ts';

export type NextStep =
  { readonly next: 'continue'; readonly waitMs: number } | { readonly next: 'stop'; readonly stop: Stop };

/** What the loop knows after an iteration. */
export interface Progress {
  readonly plan: Pick<RunPlan, 'minIterations' | 'maxIterations' | 'limits' | 'failFast' | 'retryDelayMs' | 'gate'>;
  readonly record: IterationRecord;
  /** Includes `record`. */
  readonly totals: Pick<RunTotals, 'failures' | 'sameErrorCount' | 'stalled' | 'denied' | 'usage' | 'reviews'>;
  readonly spent: Pick<Spent, 'elapsedMs' | 'nowMs'>;
  /** The signal that asked the run to stop. */
  readonly stopSignal: string | null;
}

/**
 * Decides whether the loop continues. The first reason to stop wins: the agent's verdict, then interruption, failure,
 * and the limits.
 */
export const nextStep = ({ plan, record, totals, spent, stopSignal }: Progress): NextStep => {
  const { limits } = plan;
  const { iteration } = record;
  const verdict = stopByPromise(plan, record);
  if (verdict) return { next: 'stop', stop: verdict };
  if (stopSignal !== null) return stop('signal', `stopped by ${stopSignal}`);
  if (record.end === 'not-started') return stop('not-started', record.error?.message ?? '');
  if (plan.failFast && failed(record) && record.error?.kind !== 'budget')
    return stop('fail-fast', `iteration ${iteration} failed (--fail-fast): ${record.error?.message}`);
  if (totals.denied >= maxDenied && record.denied) {
    const { message, allowAllHelps } = record.denied;
    return { next: 'stop', stop: { cause: 'denied', detail: message, ...(allowAllHelps && { allowAllHelps }) } };
  }
  if (totals.failures >= limits.maxFailures)
    return stop('max-failures', `${inARow(totals.failures)} failed (--max-failures): ${record.error?.message}`);
  if (totals.sameErrorCount >= limits.maxStalled)
    return stop(
      'max-stalled',
      `the same error ${totals.sameErrorCount} times in a row (--max-stalled): ${record.error?.message}`,
    );
  if (totals.stalled >= limits.maxStalled)
    return stop('max-stalled', `${inARow(totals.stalled)} changed nothing (--max-stalled)`);
  const failedReviews = outOfReviews(plan, record, totals);
  if (failedReviews) return { next: 'stop', stop: failedReviews };
  if (iteration >= plan.maxIterations) return { next: 'stop', stop: outOfIterations(plan.maxIterations, record) };
  const reached = limitReached(limits, { ...spent, usage: totals.usage });
  if (reached) return { next: 'stop', stop: reached };
  return { next: 'continue', waitMs: failed(record) ? backOff(plan.retryDelayMs, totals.failures) : 0 };
};

/** The agent's own statement that the work is done or blocked, which takes precedence over any other reason to stop. */
export const stopByPromise = (
  { minIterations }: Pick<RunPlan, 'minIterations'>,
  record: IterationRecord,
): Stop | null => {
  const { iteration, completionFound, gate, blocked } = record;
  if (completionFound && iteration >= minIterations)
    return {
      cause: 'promise',
      detail: `done${verifiedText(gate)} in iteration ${iteration}`,
    };
  return blocked === null ? null : { cause: 'blocked-promise', detail: `the agent gave up: ${blocked}` };
};

const verifiedText = (gate: IterationRecord['gate']): string => {
  const how = [...(gate?.runs.length ? ['verified'] : []), ...(gate?.review ? ['reviewed'] : [])];
  return how.length === 2 ? `, ${how.join(' and ')}` : how.map((word) => ` and ${word}`).join('');
};

/** Only after a review: one that an earlier check made unnecessary does not end the run. */
const outOfReviews = (
  { gate: { review: plan } }: Progress['plan'],
  { gate }: IterationRecord,
  totals: Progress['totals'],
) => {
  const { failed: count = 0 } = totals.reviews ?? {};
  if (!plan || !gate?.review || gate.review.verdict === 'pass' || count < plan.max) return null;
  const reviews = count === 1 ? '1 review' : `${count} reviews`;
  const detail = `${reviews} did not pass (--max-reviews ${plan.max}): ${rejectionOf(gate)}`;
  return { cause: 'max-reviews', detail } satisfies Stop;
};

/** In a row: a tool that is denied twice will be denied again, and each attempt costs as much as an iteration. */
const maxDenied = 2;

export const outOfIterations = (maxIterations: number, last: IterationRecord | null): Stop => ({
  cause: 'max-iterations',
  detail: `stopped at --max-iterations ${maxIterations} before it was done${last && wasUnread(last) ? `: ${unreadContext}` : ''}`,
});

const inARow = (iterations: number) => (iterations === 1 ? '1 iteration' : `${iterations} iterations in a row`);

const stop = (cause: Stop['cause'], detail: string): NextStep => ({ next: 'stop', stop: { cause, detail } });

/** Doubles with each failure, up to a minute or `firstMs` if that is longer. */
const backOff = (firstMs: number, failures: number) =>
  Math.max(firstMs, Math.min(60_000, firstMs * 2 ** Math.min(30, failures - 1)));

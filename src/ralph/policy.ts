import { failed, type IterationRecord, type RunPlan, type Stop } from './events.ts';
import { limitReached, type Spent } from './limits.ts';
import type { RunTotals } from './totals.ts';

export type Decision =
  { readonly next: 'continue'; readonly waitMs: number } | { readonly next: 'stop'; readonly stop: Stop };

/** What the loop knows when an iteration has ended. */
export interface Progress {
  readonly plan: Pick<RunPlan, 'minIterations' | 'maxIterations' | 'limits' | 'failFast' | 'retryDelayMs'>;
  readonly record: IterationRecord;
  /** With this record in it. */
  readonly totals: Pick<RunTotals, 'failures' | 'sameErrorCount' | 'stalled' | 'denied' | 'usage'>;
  readonly spent: Pick<Spent, 'elapsedMs' | 'nowMs'>;
  /** The signal that asked the run to stop. */
  readonly stopSignal: string | null;
}

/**
 * Go on or stop, and why. The first reason that holds wins: what the agent says of the work, then interruption,
 * failure, and the limits.
 */
export const decide = ({ plan, record, totals, spent, stopSignal }: Progress): Decision => {
  const { limits } = plan;
  const { iteration } = record;
  const settled = agentVerdict(plan, record);
  if (settled) return { next: 'stop', stop: settled };
  if (stopSignal !== null) return stop('signal', `stopped by ${stopSignal}`);
  if (record.end === 'not-started') return stop('not-started', record.error?.message ?? '');
  if (plan.failFast && failed(record) && record.error?.kind !== 'budget')
    return stop('fail-fast', `iteration ${iteration} failed and --fail-fast is given: ${record.error?.message}`);
  if (totals.denied >= mostDenied && record.denied) return stop('denied', record.denied.message);
  if (totals.failures >= limits.maxFailures)
    return stop('max-failures', `${inARow(totals.failures)} failed (--max-failures): ${record.error?.message}`);
  if (totals.sameErrorCount >= limits.maxStalled)
    return stop(
      'max-stalled',
      `the same error ${totals.sameErrorCount} times in a row (--max-stalled): ${record.error?.message}`,
    );
  if (totals.stalled >= limits.maxStalled)
    return stop('max-stalled', `${inARow(totals.stalled)} changed nothing (--max-stalled)`);
  if (iteration >= plan.maxIterations) return { next: 'stop', stop: outOfIterations(plan.maxIterations) };
  const reached = limitReached(limits, { ...spent, usage: totals.usage });
  if (reached) return { next: 'stop', stop: reached };
  return { next: 'continue', waitMs: failed(record) ? backOff(plan.retryDelayMs, totals.failures) : 0 };
};

/** What the agent itself says of the work, which ends the run whatever else holds; also one that was cut off right then. */
export const agentVerdict = (
  { minIterations }: Pick<RunPlan, 'minIterations'>,
  record: IterationRecord,
): Stop | null => {
  const { iteration, completionFound, gate, blocked } = record;
  if (completionFound && iteration >= minIterations)
    return {
      cause: 'promise',
      detail: `promised${gate?.runs.length ? ' and verified' : ''} in iteration ${iteration}`,
    };
  return blocked === null ? null : { cause: 'blocked-promise', detail: `the agent gave up: ${blocked}` };
};

/** In a row: what is denied twice is denied again, and each time costs as much as an iteration that works. */
const mostDenied = 2;

export const outOfIterations = (maxIterations: number): Stop => ({
  cause: 'max-iterations',
  detail: `--max-iterations ${maxIterations} reached without a promise that counts`,
});

const inARow = (iterations: number) => (iterations === 1 ? '1 iteration' : `${iterations} iterations in a row`);

const stop = (cause: Stop['cause'], detail: string): Decision => ({ next: 'stop', stop: { cause, detail } });

/** Doubles with every failure up to a minute; a first wait that is longer stays as it is. */
const backOff = (firstMs: number, failures: number) =>
  Math.max(firstMs, Math.min(60_000, firstMs * 2 ** Math.min(30, failures - 1)));

import { failed, type IterationRecord, type RunPlan, type StopReason } from './events.ts';

export type Decision =
  | { readonly next: 'continue'; readonly waitMs: number }
  | { readonly next: 'stop'; readonly reason: StopReason; readonly detail: string };

/** What the loop knows when an iteration has ended. */
export interface Progress {
  readonly plan: Pick<RunPlan, 'minIterations' | 'maxIterations' | 'failFast' | 'retryDelayMs'>;
  readonly record: IterationRecord;
  /** How many iterations have failed one after the other, this one included. */
  readonly failures: number;
  /** The signal that asked the run to stop. */
  readonly stopSignal: string | null;
  /** The agent cannot work now, and another one can. */
  readonly handsOver: boolean;
}

/** Go on or stop, and why. The first reason that holds wins: completion before interruption, failure and limits. */
export const decide = ({ plan, record, failures, stopSignal, handsOver }: Progress): Decision => {
  const { iteration } = record;
  if (record.completionFound && iteration >= plan.minIterations)
    return stop('complete', `promised in iteration ${iteration}`);
  if (stopSignal !== null) return stop('interrupted', `stopped by ${stopSignal}`);
  if (record.end === 'not-started' && !handsOver)
    return stop('failed', record.error?.message ?? 'the agent could not be started');
  if (plan.failFast && failed(record) && !handsOver)
    return stop('failed', `iteration ${iteration} failed and --fail-fast is given: ${record.error?.message}`);
  if (iteration >= plan.maxIterations)
    return stop('limit', `--max-iterations ${plan.maxIterations} reached without a promise that counts`);
  return { next: 'continue', waitMs: failed(record) && !handsOver ? backOff(plan.retryDelayMs, failures) : 0 };
};

const stop = (reason: StopReason, detail: string): Decision => ({ next: 'stop', reason, detail });

/** Doubles with every failure up to a minute; a first wait that is longer stays as it is. */
const backOff = (firstMs: number, failures: number) =>
  Math.max(firstMs, Math.min(60_000, firstMs * 2 ** Math.min(30, failures - 1)));

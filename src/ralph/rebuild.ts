import { defaultBlockedPromise, defaultCompletionPromise } from './defaults.ts';
import { type IterationRecord } from './record.ts';
import { type Stop, stopCauses } from './events.ts';
import { limitsOf } from './limits.ts';
import { nextStep } from './next-step.ts';
import { addRecord, emptyTotals, type RunTotals } from './totals.ts';
import type { RunView } from './view.ts';

/**
 * Rebuilds the view from its start and its records. Unless they show that the run has ended, it counts as interrupted.
 */
export const rebuildView = (start: RunView, records: readonly IterationRecord[]): RunView => {
  const newer = records.filter((record) => record.iteration > start.finishedIterations);
  const totals = newer.reduce<RunTotals>(addRecord, start);
  const elapsedMs = newer.reduce((sum, { durationMs }) => sum + durationMs, start.elapsedMs);
  const last = records.at(-1) ?? null;
  const stop = last && endOf({ ...start, ...totals, elapsedMs }, last);
  return {
    ...start,
    ...totals,
    elapsedMs,
    iteration: Math.max(start.iteration, totals.finishedIterations),
    harness: last?.harness ?? start.harness,
    model: last ? last.model : start.model,
    status: stop ? stopCauses[stop.cause] : 'running',
    cause: stop?.cause ?? null,
    detail: stop?.detail ?? null,
    pending: null,
  };
};

/** Rebuilds the view if the start is unknown. The totals are right, but the run is never complete. */
export const viewOfRecords = (change: string, records: readonly [IterationRecord, ...IterationRecord[]]): RunView => {
  const [{ run, startedAt, harness, model }] = records;
  const totals = records.reduce<RunTotals>(addRecord, emptyTotals);
  return {
    ...totals,
    v: 2,
    run,
    change,
    source: 'spool',
    module: null,
    status: 'interrupted',
    cause: null,
    detail: null,
    iteration: totals.finishedIterations,
    harness,
    model,
    agents: [{ harness, model }],
    allowAll: false,
    sandbox: false,
    completionPromise: defaultCompletionPromise,
    minIterations: 1,
    maxIterations: null,
    blockedPromise: defaultBlockedPromise,
    limits: noLimits,
    gate: { verify: [], verifyEach: false, requireTasks: false, allowTampering: false },
    workspace: null,
    failFast: false,
    commit: true,
    tasks: null,
    elapsedMs: records.reduce((sum, { durationMs }) => sum + durationMs, 0),
    currentUsage: null,
    waiting: null,
    cooldowns: {},
    pending: null,
    settings: null,
    pid: 0,
    startedAt,
    updatedAt: startedAt,
    endedAt: null,
  };
};

/** Returns how the run ended after that record; null if it did not, as far as it does not depend on the clock. */
const endOf = (view: RunView, record: IterationRecord): Stop | null => {
  const step = nextStep({
    plan: { ...view, ...limitsOf(view), retryDelayMs: 0 },
    record,
    totals: view,
    spent: { elapsedMs: view.elapsedMs, nowMs: 0 },
    // After an interrupted iteration the run can be resumed.
    stopSignal: record.end === 'interrupted' ? 'a signal' : null,
  });
  return step.next === 'stop' ? step.stop : null;
};

const noLimits: RunView['limits'] = {
  maxDurationMs: null,
  untilMs: null,
  maxCostUsd: null,
  maxTokens: null,
  iterationTimeoutMs: null,
  idleTimeoutMs: null,
  maxFailures: null,
  maxStalled: null,
  maxWaitMs: null,
};

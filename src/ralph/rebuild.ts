import type { IterationRecord, Stop } from './events.ts';
import { stopCauses } from './events.ts';
import { mapLimits } from './limits.ts';
import { decide } from './policy.ts';
import { addRecord, emptyTotals, type RunTotals } from './totals.ts';
import type { RunView } from './view.ts';

/** The run as its start and its records tell it. Where they do not say that it has ended, it counts as cut off. */
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

/** The same where nobody knows how the run was started: its numbers are right, and it is never complete. */
export const viewOfRecords = (change: string, records: readonly [IterationRecord, ...IterationRecord[]]): RunView => {
  const [{ run, startedAt, harness, model }] = records;
  const totals = records.reduce<RunTotals>(addRecord, emptyTotals);
  return {
    ...totals,
    v: 2,
    run,
    change,
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
    completionPromise: 'COMPLETE',
    minIterations: 1,
    maxIterations: null,
    blockedPromise: 'BLOCKED',
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

/** What the policy said after that record, as far as it does not depend on the clock. */
const endOf = (view: RunView, record: IterationRecord): Stop | null => {
  const limits = mapLimits((name) => view.limits[name] ?? Infinity);
  const decision = decide({
    plan: { ...view, limits, maxIterations: view.maxIterations ?? Infinity, retryDelayMs: 0 },
    record,
    totals: view,
    spent: { elapsedMs: view.elapsedMs, nowMs: 0 },
    // An iteration that was interrupted ended a run that can be resumed.
    stopSignal: record.end === 'interrupted' ? 'a signal' : null,
  });
  return decision.next === 'stop' ? decision.stop : null;
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

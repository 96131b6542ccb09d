import { failed, type DeferredAttempt, type IterationRecord } from './record.ts';
import { type Usage } from './agent-events.ts';
import type { ProofCount } from './proof.ts';
import { addUsage, iterationUsage, usageOf } from './usage.ts';

/** The numbers of a run that its limits and its summary use. */
export interface RunTotals {
  /** The number of the last iteration in the history. */
  readonly finishedIterations: number;
  /** Iterations in a row that failed. */
  readonly failures: number;
  /** Iterations in a row that failed with the same error. */
  readonly sameErrorCount: number;
  /** Iterations in a row that changed nothing. */
  readonly stalled: number;
  /** Iterations in a row in which a tool was denied, nothing changed and no promise counted. */
  readonly denied: number;
  /** Total usage of the iterations in the history; null if none of them reported any. */
  readonly usage: Usage | null;
  /** The last deferred attempts at the next iteration; at most `maxDeferred`. */
  readonly deferred: readonly DeferredAttempt[];
  /** The usage of the oldest attempts, which are no longer in `deferred`; missing or null if all are there. */
  readonly usageLeftOut?: Usage | null;
  /** When the first of them was deferred. */
  readonly deferredSinceMs: number | null;
  /** The changed files, each once; at most `maxFiles`. */
  readonly files: readonly string[];
  /** Upper bound of the number of changed files that are missing from `files`. */
  readonly filesLeftOut: number;
  readonly gateRuns: { readonly passed: number; readonly flaky: number; readonly failed: number };
  /** Missing if there was no review, and in older runs. */
  readonly reviews?: ReviewTotals;
  readonly lastError: string | null;
  /** Completed tasks after the last iteration. */
  readonly tasksDone: number | null;
  /** How many scenarios the last gate found to be proven; missing if no gate has looked. */
  readonly proof?: ProofCount;
  /** Commits of the run, including those of the agent; missing in older runs. */
  readonly commits?: CommitRange;
}

export interface ReviewTotals {
  readonly passed: number;
  /** Those without a verdict as well. */
  readonly failed: number;
  /** The last one that did not pass; null if all have. */
  readonly last: FailedReview | null;
}

export interface FailedReview {
  readonly iteration: number;
  /** The commit with the work that was reviewed. */
  readonly checkpoint: string | null;
  readonly findings: readonly string[];
}

export interface CommitRange {
  readonly count: number;
  readonly first: string | null;
  readonly last: string | null;
}

export const emptyTotals: RunTotals = {
  finishedIterations: 0,
  failures: 0,
  sameErrorCount: 0,
  stalled: 0,
  denied: 0,
  usage: null,
  deferred: [],
  deferredSinceMs: null,
  files: [],
  filesLeftOut: 0,
  gateRuns: { passed: 0, flaky: 0, failed: 0 },
  lastError: null,
  tasksDone: null,
  commits: { count: 0, first: null, last: null },
};

const maxFiles = 1000;

/** Adds a record. Its deferred attempts are part of it, so they are reset. */
export const addRecord = (totals: RunTotals, record: IterationRecord): RunTotals => {
  const error = record.error?.message ?? null;
  const stuck = changedNothing(totals, record);
  return {
    finishedIterations: record.iteration,
    failures: failuresAfter(totals, record),
    sameErrorCount: error === null ? 0 : error === totals.lastError ? totals.sameErrorCount + 1 : 1,
    stalled: stuck ? totals.stalled + 1 : 0,
    denied: stuck && record.denied && !record.completionFound ? totals.denied + 1 : 0,
    tasksDone: record.tasks?.done ?? null,
    usage: addUsage(totals.usage, iterationUsage(record)),
    deferred: [],
    ...(totals.usageLeftOut && { usageLeftOut: null }),
    deferredSinceMs: null,
    ...addFiles(totals, record.git),
    gateRuns: addRuns(totals.gateRuns, record.gate),
    ...addReview(totals, record),
    lastError: error,
    ...proofAfter(totals, record),
    ...(totals.commits && { commits: addCommits(totals.commits, record) }),
  };
};

const proofAfter = ({ proof }: RunTotals, { gate }: IterationRecord): Pick<RunTotals, 'proof'> => {
  const count = gate?.proof?.count ?? proof;
  return count === undefined ? {} : { proof: count };
};

const addReview = (
  { reviews = { passed: 0, failed: 0, last: null } }: RunTotals,
  { iteration, gate }: IterationRecord,
): Pick<RunTotals, 'reviews'> => {
  const review = gate?.review;
  if (review === undefined) return {};
  if (review.verdict === 'pass') return { reviews: { ...reviews, passed: reviews.passed + 1 } };
  const { checkpoint, findings } = review;
  // One without findings says nothing about the earlier ones.
  const last = findings.length === 0 && reviews.last ? reviews.last : { iteration, checkpoint, findings };
  return { reviews: { ...reviews, failed: reviews.failed + 1, last } };
};

/** The agent commits first, Spool commits the rest. */
const addCommits = (commits: CommitRange, { git, commit }: IterationRecord): CommitRange => {
  const added = [...(git?.commits ?? []), ...(commit === null ? [] : [commit])];
  return {
    count: commits.count + added.length + (git?.commitsLeftOut ?? 0),
    first: commits.first ?? added[0] ?? null,
    last: added.at(-1) ?? commits.last,
  };
};

/** An iteration that Spool stopped is not a failure of the agent. */
const failuresAfter = (totals: RunTotals, record: IterationRecord): number => {
  if (record.end === 'interrupted' || record.error?.kind === 'budget') return totals.failures;
  return failed(record) ? totals.failures + 1 : 0;
};

/** Unknown without git. Ticked tasks count as a change, since tasks.md may be ignored by git. */
const changedNothing = (totals: RunTotals, { git, deferred, tasks }: IterationRecord): boolean => {
  const unchanged = [{ git }, ...deferred].every((attempt) => attempt.git?.filesChanged === 0);
  return unchanged && (tasks?.done ?? null) === (totals.tasksDone ?? tasks?.done ?? null);
};

export const addDeferred = (totals: RunTotals, attempt: DeferredAttempt, nowMs: number): RunTotals => {
  const deferred = [...totals.deferred, attempt];
  const leftOut = deferred.slice(0, Math.max(0, deferred.length - maxDeferred));
  const usageLeftOut = addUsage(totals.usageLeftOut ?? null, usageOf(leftOut));
  return {
    ...totals,
    ...addFiles(totals, attempt.git),
    ...(usageLeftOut && { usageLeftOut }),
    deferred: deferred.slice(-maxDeferred),
    deferredSinceMs: totals.deferredSinceMs ?? nowMs,
  };
};

const maxDeferred = 20;

const addFiles = (
  { files, filesLeftOut }: Pick<RunTotals, 'files' | 'filesLeftOut'>,
  git: IterationRecord['git'],
): Pick<RunTotals, 'files' | 'filesLeftOut'> => {
  if (git === null || git.files.length === 0) return { files, filesLeftOut };
  const all = [...new Set([...files, ...git.files])];
  const dropped = Math.max(0, all.length - maxFiles);
  return { files: all.slice(0, maxFiles), filesLeftOut: filesLeftOut + dropped + (git.filesLeftOut ?? 0) };
};

const addRuns = (runs: RunTotals['gateRuns'], gate: IterationRecord['gate']): RunTotals['gateRuns'] => {
  const count = (...outcomes: string[]) => gate?.runs.filter(({ outcome }) => outcomes.includes(outcome)).length ?? 0;
  return {
    passed: runs.passed + count('passed'),
    flaky: runs.flaky + count('flaky'),
    failed: runs.failed + count('failed', 'timed-out', 'interrupted'),
  };
};

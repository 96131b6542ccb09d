import { failed, type HeldAttempt, type IterationRecord, type Usage } from './events.ts';
import { addUsage, usageOf } from './usage.ts';

/** What a run has come to: the numbers that its limits and its summary are about. */
export interface Tally {
  /** The number of the last iteration in the history. */
  readonly finished: number;
  /** Iterations in a row that failed. */
  readonly failures: number;
  /** Iterations in a row that failed with the same error. */
  readonly sameError: number;
  /** Iterations in a row that changed nothing. */
  readonly stalled: number;
  /** Iterations in a row in which a tool was denied, nothing changed and no promise counted. */
  readonly denied: number;
  /** What the iterations in the history used together; null when none of them said. */
  readonly usage: Usage | null;
  /** The last attempts at the next iteration that were held up; no more than `mostHeld`. */
  readonly held: readonly HeldAttempt[];
  /** When the first of them was held up. */
  readonly heldSinceMs: number | null;
  /** The files that were changed, each once; no more than `mostFiles`. */
  readonly files: readonly string[];
  /** How many more there may be: those that records, or this list, left out. */
  readonly filesLeftOut: number;
  readonly gateRuns: { readonly passed: number; readonly flaky: number; readonly failed: number };
  readonly lastError: string | null;
  /** How many tasks were done after the last iteration. */
  readonly tasksDone: number | null;
}

export const emptyTally: Tally = {
  finished: 0,
  failures: 0,
  sameError: 0,
  stalled: 0,
  denied: 0,
  usage: null,
  held: [],
  heldSinceMs: null,
  files: [],
  filesLeftOut: 0,
  gateRuns: { passed: 0, flaky: 0, failed: 0 },
  lastError: null,
  tasksDone: null,
};

const mostFiles = 1000;

/** What an iteration did is counted, and what held it up is its own from here on. */
export const addRecord = (tally: Tally, record: IterationRecord): Tally => {
  const error = record.error?.message ?? null;
  const stuck = changedNothing(tally, record);
  return {
    finished: record.iteration,
    failures: failuresAfter(tally, record),
    sameError: error === null ? 0 : error === tally.lastError ? tally.sameError + 1 : 1,
    stalled: stuck ? tally.stalled + 1 : 0,
    denied: stuck && record.denied && !record.completionFound ? tally.denied + 1 : 0,
    tasksDone: record.tasks?.done ?? null,
    usage: addUsage(tally.usage, usageOf([record, ...record.held])),
    held: [],
    heldSinceMs: null,
    ...addFiles(tally, record.git),
    gateRuns: addRuns(tally.gateRuns, record.gate),
    lastError: error,
  };
};

/** What we ended ourselves was no failure of the agent's. */
const failuresAfter = (tally: Tally, record: IterationRecord): number => {
  if (record.end === 'interrupted' || record.error?.kind === 'budget') return tally.failures;
  return failed(record) ? tally.failures + 1 : 0;
};

/** Without git nobody knows. Tasks may be ticked where git does not look. */
const changedNothing = (tally: Tally, { git, held, tasks }: IterationRecord): boolean => {
  const unchanged = [{ git }, ...held].every((attempt) => attempt.git?.filesChanged === 0);
  return unchanged && (tasks?.done ?? null) === (tally.tasksDone ?? tasks?.done ?? null);
};

export const addHeld = (tally: Tally, attempt: HeldAttempt, nowMs: number): Tally => {
  const held = [...tally.held, attempt];
  const dropped = held.slice(0, Math.max(0, held.length - mostHeld));
  return {
    ...tally,
    usage: addUsage(tally.usage, usageOf(dropped)),
    ...addFiles(tally, attempt.git),
    held: held.slice(-mostHeld),
    heldSinceMs: tally.heldSinceMs ?? nowMs,
  };
};

const mostHeld = 20;

const addFiles = (
  { files, filesLeftOut }: Pick<Tally, 'files' | 'filesLeftOut'>,
  git: IterationRecord['git'],
): Pick<Tally, 'files' | 'filesLeftOut'> => {
  if (git === null || git.files.length === 0) return { files, filesLeftOut };
  const all = [...new Set([...files, ...git.files])];
  const dropped = Math.max(0, all.length - mostFiles);
  return { files: all.slice(0, mostFiles), filesLeftOut: filesLeftOut + dropped + (git.filesLeftOut ?? 0) };
};

const addRuns = (runs: Tally['gateRuns'], gate: IterationRecord['gate']): Tally['gateRuns'] => {
  const count = (...outcomes: string[]) => gate?.runs.filter(({ outcome }) => outcomes.includes(outcome)).length ?? 0;
  return {
    passed: runs.passed + count('passed'),
    flaky: runs.flaky + count('flaky'),
    failed: runs.failed + count('failed', 'timed-out', 'interrupted'),
  };
};

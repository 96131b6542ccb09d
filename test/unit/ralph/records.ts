import type { GatePlan, Limits, RunPlan } from '../../../src/ralph/plan.ts';
import type { IterationRecord } from '../../../src/ralph/record.ts';

/** A record of a successful iteration without a promise, with these changes. */
export const recordWith = (facts: Partial<IterationRecord> = {}): IterationRecord => ({
  v: 2,
  run: '20260102-030405-9f3a',
  iteration: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMs: 4200,
  harness: 'opencode',
  model: null,
  exitCode: 0,
  signal: null,
  end: 'exited',
  completionFound: false,
  evidence: null,
  rejected: null,
  mentions: [],
  git: {
    filesChanged: 1,
    files: ['a.txt'],
    insertions: 2,
    deletions: 1,
    changes: [{ status: 'modified', path: 'a.txt' }],
    commits: [],
  },
  commit: null,
  commitProblem: null,
  checkpoint: null,
  usage: null,
  tools: null,
  error: null,
  denied: null,
  blocked: null,
  gate: null,
  tasks: null,
  repeated: null,
  deferred: [],
  ...facts,
});

export const crash = { kind: 'crash', message: 'the agent exited with code 1' } as const;

export const noLimits: Limits = {
  maxDurationMs: Infinity,
  untilMs: Infinity,
  maxCostUsd: Infinity,
  maxTokens: Infinity,
  iterationTimeoutMs: Infinity,
  idleTimeoutMs: Infinity,
  maxFailures: Infinity,
  maxStalled: Infinity,
  maxWaitMs: Infinity,
};

export const noGate: GatePlan = { verify: [], verifyEach: false, requireTasks: false, allowTampering: false };

/** The plan of a first run with the default settings, with these changes. */
export const planWith = (facts: Partial<RunPlan> = {}): RunPlan => ({
  run: '20260102-030405-9f3a',
  change: '002-01_add-ralph-loop',
  source: 'spool',
  module: '002',
  agents: [{ harness: 'opencode', model: null }],
  allowAll: false,
  sandbox: false,
  completionPromise: 'COMPLETE',
  blockedPromise: 'BLOCKED',
  minIterations: 1,
  maxIterations: 50,
  limits: noLimits,
  failFast: false,
  commit: true,
  handover: true,
  ladder: false,
  retryDelayMs: 1000,
  firstIteration: 1,
  gate: noGate,
  ...facts,
});

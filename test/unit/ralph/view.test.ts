import { describe, expect, test } from 'vitest';
import { unknownUsage } from '../../../src/ralph/agent-events.ts';
import { type RunEvent, type Stop, stopCauses } from '../../../src/ralph/events.ts';
import { type RunPlan } from '../../../src/ralph/plan.ts';
import { type RunView } from '../../../src/ralph/view.ts';
import { catchUp, initialView, reduceView } from '../../../src/ralph/reduce-view.ts';
import { spentUsage } from '../../../src/ralph/usage.ts';
import { emptyTotals } from '../../../src/ralph/totals.ts';
import { noGate, noLimits, planWith, recordWith } from './records.ts';

const plan = planWith({
  agents: [{ harness: 'opencode', model: 'anthropic/claude-sonnet' }],
  allowAll: true,
  minIterations: 2,
  failFast: true,
  limits: { ...noLimits, maxCostUsd: 5 },
});

const startedAt = '2026-01-02T03:04:05.000Z';
const at = '2026-01-02T04:00:00.000Z';
const view = initialView(plan, { pid: 4711, startedAt, at: startedAt });

describe('before the first event, the view', () => {
  test('equals the plan', () => {
    expect(view).toEqual({
      v: 2,
      run: '20260102-030405-9f3a',
      change: '002-01_add-ralph-loop',
      source: 'spool',
      module: '002',
      status: 'running',
      cause: null,
      detail: null,
      allowAllHelps: false,
      error: null,
      iteration: 1,
      ...emptyTotals,
      harness: 'opencode',
      model: 'anthropic/claude-sonnet',
      agents: [{ harness: 'opencode', model: 'anthropic/claude-sonnet' }],
      allowAll: true,
      sandbox: false,
      completionPromise: 'COMPLETE',
      minIterations: 2,
      maxIterations: 50,
      blockedPromise: 'BLOCKED',
      limits: { ...Object.fromEntries(Object.keys(noLimits).map((name) => [name, null])), maxCostUsd: 5 },
      gate: noGate,
      workspace: null,
      failFast: true,
      commit: true,
      tasks: null,
      uncommitted: [],
      elapsedMs: 0,
      currentUsage: null,
      waiting: null,
      requested: null,
      pausedAt: null,
      cooldowns: {},
      pending: null,
      settings: null,
      pid: 4711,
      startedAt,
      updatedAt: startedAt,
      endedAt: null,
    });
  });

  test.each<[string, Partial<RunPlan>, Partial<RunView>]>([
    ['has the next number for a resumed run', { firstIteration: 4 }, { iteration: 4 }],
    ['has null for no limit, because of JSON', { maxIterations: Infinity }, { maxIterations: null }],
    ['has the last number for a run without iterations left', { firstIteration: 51 }, { iteration: 50 }],
    ['has null for a change without a module', { module: null }, { module: null }],
  ])('%s', (_, facts, expected) => {
    expect(initialView({ ...plan, ...facts }, { pid: 1, startedAt, at })).toMatchObject({
      ...expected,
      startedAt,
      updatedAt: at,
    });
  });
});

const workspace = { root: '/p', branch: null, worktree: null };

const { deferred: _, ...attempt } = recordWith({
  harness: 'claude',
  error: { kind: 'rate-limit', message: 'enough' },
  usage: { ...unknownUsage, costUsd: 1 },
  git: null,
});

describe('events that change the view', () => {
  test.each<[RunEvent, Partial<RunView>]>([
    [
      { type: 'run-started', plan, workspace, at },
      { workspace, updatedAt: at },
    ],
    [
      { type: 'iteration-started', iteration: 7, agent: { harness: 'claude', model: null }, at },
      { iteration: 7, harness: 'claude', model: null, updatedAt: at },
    ],
    [
      { type: 'iteration-finished', record: recordWith({ iteration: 7 }), at },
      { finishedIterations: 7, files: ['a.txt'], updatedAt: at },
    ],
    [
      { type: 'iteration-pending', record: recordWith({ iteration: 7 }), at },
      { pending: recordWith({ iteration: 7 }), updatedAt: at },
    ],
    [
      { type: 'waiting', untilMs: 5, why: 'a limit', at },
      { waiting: { untilMs: 5, why: 'a limit' }, updatedAt: at },
    ],
    [
      { type: 'requested', command: 'pause', at },
      { requested: 'pause', updatedAt: at },
    ],
    [
      { type: 'paused', at },
      { pausedAt: at, updatedAt: at },
    ],
    [
      { type: 'attempt-deferred', attempt, untilMs: 9, atMs: 4, at },
      { deferred: [attempt], deferredSinceMs: 4, cooldowns: { claude: 9 }, updatedAt: at },
    ],
    ...Object.entries(stopCauses).map(([cause, reason]): [RunEvent, Partial<RunView>] => [
      { type: 'run-ended', reason, cause: cause as Stop['cause'], detail: 'so', tasks: { done: 1, total: 2 }, at },
      {
        status: reason,
        cause: cause as Stop['cause'],
        detail: 'so',
        tasks: { done: 1, total: 2 },
        updatedAt: at,
        endedAt: at,
      },
    ]),
  ])('$type $cause', (event, changes) => {
    const before = structuredClone(view);
    expect(reduceView(view, event)).toEqual({ ...view, ...changes });
    expect(view).toEqual(before);
  });
});

test('a pause does not count as waiting for an agent', () => {
  const paused = { ...view, deferredSinceMs: 1000, requested: 'pause', pausedAt: at } as const;

  expect(reduceView(paused, { type: 'resumed', pausedMs: 500, at })).toMatchObject({
    deferredSinceMs: 1500,
    requested: null,
    pausedAt: null,
  });
});

describe('events that do not change the view', () => {
  test.each<RunEvent>([
    { type: 'agent', event: { type: 'text', text: 'Hi.', plain: true } },
    { type: 'notice', text: 'Careful.' },
    { type: 'gate-started', commands: ['npm test'] },
  ])('$type', (event) => {
    expect(reduceView(view, event)).toBe(view);
  });
});

test('records saved after the view are added, and records in it are not counted twice', () => {
  const usage = { ...unknownUsage, costUsd: 2 };
  const records = [1, 2, 3].map((iteration) => recordWith({ iteration, usage, run: view.run }));
  const foreign = recordWith({ iteration: 9, usage, run: 'another' });
  const behind = { ...view, finishedIterations: 1, usage };
  expect(catchUp(behind, [...records, foreign])).toMatchObject({ finishedIterations: 3, usage: { costUsd: 6 } });
  expect(catchUp(catchUp(behind, records), records)).toEqual(catchUp(behind, records));
});

test('an iteration whose gate was interrupted stays pending until it is recorded, and its cost is counted once', () => {
  const usage = { ...unknownUsage, costUsd: 2 };
  const record = recordWith({ iteration: 1, usage, run: view.run });
  const interrupted = { ...reduceView(view, { type: 'iteration-pending', record, at }), currentUsage: usage };

  expect(catchUp(interrupted, [])).toMatchObject({
    pending: record,
    usage: null,
    currentUsage: null,
    finishedIterations: 0,
  });
  const resumed = initialView(plan, { pid: 1, startedAt, at, previous: catchUp(interrupted, []) });
  expect([interrupted, resumed].map((each) => spentUsage(each)?.costUsd)).toEqual([2, 2]);
  expect(catchUp(interrupted, [record])).toMatchObject({ pending: null, usage: { costUsd: 2 }, finishedIterations: 1 });
  expect(reduceView(interrupted, { type: 'iteration-finished', record, at })).toMatchObject({
    pending: null,
    usage: { costUsd: 2 },
    finishedIterations: 1,
  });
});

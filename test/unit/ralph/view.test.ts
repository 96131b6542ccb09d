import { describe, expect, test } from 'vitest';
import type { RunEvent, RunPlan } from '../../../src/ralph/events.ts';
import { initialView, reduceView, type RunView } from '../../../src/ralph/view.ts';
import { recordWith } from './records.ts';

const plan: RunPlan = {
  run: '20260102-030405-9f3a',
  change: '002-01_add-ralph-loop',
  module: '002',
  agents: [{ harness: 'opencode', model: 'anthropic/claude-sonnet' }],
  allowAll: true,
  completionPromise: 'COMPLETE',
  minIterations: 2,
  maxIterations: 50,
  failFast: true,
  retryDelayMs: 1000,
  firstIteration: 1,
};

const startedAt = '2026-01-02T03:04:05.000Z';
const at = '2026-01-02T04:00:00.000Z';
const view = initialView(plan, { pid: 4711, startedAt, at: startedAt });

describe('before the first event', () => {
  test('the view is the plan', () => {
    expect(view).toEqual({
      v: 1,
      run: '20260102-030405-9f3a',
      change: '002-01_add-ralph-loop',
      module: '002',
      status: 'running',
      detail: null,
      iteration: 1,
      finished: 0,
      harness: 'opencode',
      model: 'anthropic/claude-sonnet',
      agents: [{ harness: 'opencode', model: 'anthropic/claude-sonnet' }],
      allowAll: true,
      completionPromise: 'COMPLETE',
      minIterations: 2,
      maxIterations: 50,
      usage: null,
      pid: 4711,
      startedAt,
      updatedAt: startedAt,
      endedAt: null,
    });
  });

  test.each<[string, Partial<RunPlan>, Partial<RunView>]>([
    ['a run that is resumed has its iterations behind it', { firstIteration: 4 }, { iteration: 4, finished: 3 }],
    ['no limit is null, which JSON can hold', { maxIterations: Infinity }, { maxIterations: null }],
    ['a change may have no module', { module: null }, { module: null }],
  ])('%s', (_, facts, expected) => {
    expect(initialView({ ...plan, ...facts }, { pid: 1, startedAt, at })).toMatchObject({
      ...expected,
      startedAt,
      updatedAt: at,
    });
  });
});

describe('events that change the view', () => {
  test.each<[RunEvent, Partial<RunView>]>([
    [{ type: 'run-started', plan, at }, { updatedAt: at }],
    [
      { type: 'iteration-started', iteration: 7, agent: { harness: 'claude', model: null }, at },
      { iteration: 7, harness: 'claude', model: null, updatedAt: at },
    ],
    [
      { type: 'iteration-finished', record: recordWith({ iteration: 7 }), at },
      { finished: 7, updatedAt: at },
    ],
    ...(['complete', 'limit', 'failed', 'interrupted'] as const).map((reason): [RunEvent, Partial<RunView>] => [
      { type: 'run-ended', reason, detail: 'for a reason', at },
      { status: reason, detail: 'for a reason', updatedAt: at, endedAt: at },
    ]),
  ])('$type $reason', (event, changes) => {
    const before = structuredClone(view);
    expect(reduceView(view, event)).toEqual({ ...view, ...changes });
    expect(view).toEqual(before);
  });
});

describe('events that leave the view as it is', () => {
  test.each<RunEvent>([
    { type: 'agent', event: { type: 'text', text: 'Hi.', plain: true } },
    { type: 'notice', text: 'Careful.' },
    { type: 'waiting', ms: 1000, why: 'the iteration failed' },
  ])('$type', (event) => {
    expect(reduceView(view, event)).toBe(view);
  });
});

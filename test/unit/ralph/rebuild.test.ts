import { describe, expect, test } from 'vitest';
import { type IterationRecord } from '../../../src/ralph/record.ts';
import { unknownUsage } from '../../../src/ralph/agent-events.ts';
import { rebuildView, viewOfRecords } from '../../../src/ralph/rebuild.ts';
import { currentStatus } from '../../../src/ralph/view.ts';
import { initialView } from '../../../src/ralph/reduce-view.ts';
import { crash, noGate, noLimits, planWith, recordWith } from './records.ts';

const plan = planWith({
  agents: [{ harness: 'claude', model: 'opus' }],
  allowAll: true,
  completionPromise: 'DONE',
  blockedPromise: 'STUCK',
  minIterations: 2,
  maxIterations: 4,
  limits: { ...noLimits, maxFailures: 2, maxStalled: 9, maxCostUsd: 50 },
  gate: { ...noGate, verify: ['npm test'] },
  commit: false,
});
const start = initialView(plan, { pid: 1, startedAt: '2026-01-02T03:04:05.000Z', at: '2026-01-02T03:04:05.000Z' });
const usage = { ...unknownUsage, costUsd: 2 };
const records = (...facts: Partial<IterationRecord>[]) =>
  facts.map((each, index) => recordWith({ iteration: index + 1, usage, durationMs: 1000, ...each }));

describe('a run rebuilt from its start and its records', () => {
  test('has its settings, numbers, files and duration', () => {
    expect(rebuildView(start, records({}, { harness: 'opencode' }))).toMatchObject({
      run: plan.run,
      finishedIterations: 2,
      iteration: 2,
      usage: { costUsd: 4 },
      files: ['a.txt'],
      elapsedMs: 2000,
      harness: 'opencode',
      gate: { verify: ['npm test'] },
      limits: { maxCostUsd: 50 },
      completionPromise: 'DONE',
      commit: false,
    });
  });

  test.each<[string, Partial<IterationRecord>[], string]>([
    ['an iteration without a reason to stop', [{}], 'interrupted'],
    ['an accepted promise', [{}, { completionFound: true }], 'complete'],
    ['a promise before --min-iterations', [{ completionFound: true }], 'interrupted'],
    ['a rejected promise', [{}, { rejected: 'no' }], 'interrupted'],
    ['an agent that gave up', [{ blocked: 'no access' }], 'blocked'],
    ['too many failures', [{ error: crash }, { error: crash }], 'failed'],
    ['the last iteration', [{}, {}, {}, {}], 'limit'],
    ['an interrupted iteration', [{}, {}, {}, { end: 'interrupted' }], 'interrupted'],
  ])('has the right status after %s', (_, facts, status) => {
    expect(currentStatus(rebuildView(start, records(...facts)), false)).toBe(status);
  });

  test('does not count records twice that were counted when it was resumed', () => {
    const all = records({}, {}, {});
    const resumed = rebuildView(start, all.slice(0, 2));
    expect(rebuildView(resumed, all)).toEqual(rebuildView(start, all));
  });
});

test('a run rebuilt without its start has its numbers, and is never complete', () => {
  const [first, second] = records({}, { completionFound: true }) as [IterationRecord, IterationRecord];
  expect(viewOfRecords(plan.change, [first, second])).toMatchObject({
    run: plan.run,
    status: 'interrupted',
    finishedIterations: 2,
    usage: { costUsd: 4 },
    files: ['a.txt'],
  });
});

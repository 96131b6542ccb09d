import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IterationRecord } from '../../../src/ralph/events.ts';
import { decide, type Progress } from '../../../src/ralph/policy.ts';
import { crash, recordWith } from './records.ts';

interface Row {
  readonly record?: Partial<IterationRecord>;
  readonly plan?: Partial<Progress['plan']>;
  readonly failures?: number;
  readonly stopSignal?: string | null;
  readonly handsOver?: boolean;
}

const decideOn = ({ record, plan, failures = 0, stopSignal = null, handsOver = false }: Row) =>
  decide({
    plan: { minIterations: 1, maxIterations: 50, failFast: false, retryDelayMs: 1000, ...plan },
    record: recordWith(record),
    failures,
    stopSignal,
    handsOver,
  });

const promised = { completionFound: true };
const crashed = { error: crash };
const notStarted = {
  end: 'not-started',
  exitCode: null,
  error: { kind: 'start', message: 'the agent could not be started: permission denied' },
} as const;

describe('when it stops, and why', () => {
  test.each<[string, Row, string, string]>([
    ['a promise', { record: promised }, 'complete', 'promised in iteration 1'],
    [
      'a promise at the minimum',
      { record: { ...promised, iteration: 3 }, plan: { minIterations: 3 } },
      'complete',
      'promised in iteration 3',
    ],
    [
      'a promise at the limit',
      { record: { ...promised, iteration: 5 }, plan: { maxIterations: 5 } },
      'complete',
      'promised in iteration 5',
    ],
    [
      'a promise before an interruption',
      { record: promised, stopSignal: 'SIGINT' },
      'complete',
      'promised in iteration 1',
    ],
    ['an interruption', { stopSignal: 'SIGTERM' }, 'interrupted', 'stopped by SIGTERM'],
    [
      'an interruption before a promise that comes too early',
      { record: promised, plan: { minIterations: 2 }, stopSignal: 'SIGINT' },
      'interrupted',
      'stopped by SIGINT',
    ],
    [
      'an interruption before a failure',
      { record: crashed, plan: { failFast: true }, failures: 1, stopSignal: 'SIGINT' },
      'interrupted',
      'stopped by SIGINT',
    ],
    [
      'an interruption before an agent that does not start',
      { record: notStarted, failures: 1, stopSignal: 'SIGINT' },
      'interrupted',
      'stopped by SIGINT',
    ],
    [
      'an interruption before the limit',
      { plan: { maxIterations: 1 }, stopSignal: 'SIGINT' },
      'interrupted',
      'stopped by SIGINT',
    ],
    [
      'an agent that does not start',
      { record: notStarted, failures: 1 },
      'failed',
      'the agent could not be started: permission denied',
    ],
    [
      'a failure with --fail-fast',
      { record: { ...crashed, iteration: 2 }, plan: { failFast: true }, failures: 1 },
      'failed',
      'iteration 2 failed and --fail-fast is given: the agent exited with code 1',
    ],
    [
      'a failure with --fail-fast before the limit',
      { record: crashed, plan: { failFast: true, maxIterations: 1 }, failures: 1 },
      'failed',
      'iteration 1 failed and --fail-fast is given: the agent exited with code 1',
    ],
    ['the limit', { record: { iteration: 50 } }, 'limit', '--max-iterations 50 reached without a promise that counts'],
    [
      'the limit, when the last iteration fails',
      { record: { ...crashed, iteration: 50 }, failures: 1 },
      'limit',
      '--max-iterations 50 reached without a promise that counts',
    ],
    [
      'a limit that is lower than where a run is resumed',
      { record: { iteration: 9 }, plan: { maxIterations: 5 } },
      'limit',
      '--max-iterations 5 reached without a promise that counts',
    ],
  ])('%s', (_, row, reason, detail) => {
    expect(decideOn(row)).toEqual({ next: 'stop', reason, detail });
  });
});

describe('when it goes on', () => {
  test.each<[string, Row, number]>([
    ['no promise', {}, 0],
    ['the iteration before the limit', { record: { iteration: 49 } }, 0],
    ['no limit', { record: { iteration: 1_000_000 }, plan: { maxIterations: Infinity } }, 0],
    ['a promise before the minimum', { record: promised, plan: { minIterations: 2 } }, 0],
    ['--fail-fast without a failure', { plan: { failFast: true } }, 0],
    ['a failure', { record: crashed, failures: 1 }, 1000],
    ['a promise that was rejected', { record: { ...crashed, rejected: crash.message }, failures: 1 }, 1000],
  ])('%s', (_, row, waitMs) => {
    expect(decideOn(row)).toEqual({ next: 'continue', waitMs });
  });
});

describe('how long it waits', () => {
  test.each([
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [4, 8000],
    [5, 16_000],
    [6, 32_000],
    [7, 60_000],
    [8, 60_000],
    [5000, 60_000],
  ])('after %i failures: %i ms', (failures, waitMs) => {
    expect(decideOn({ record: crashed, failures })).toEqual({ next: 'continue', waitMs });
  });

  test('never less than before, and never beyond a minute', () => {
    const wait = (retryDelayMs: number, failures: number) => {
      const decision = decideOn({ record: crashed, plan: { retryDelayMs }, failures });
      return decision.next === 'continue' ? decision.waitMs : null;
    };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 1, max: 3000 }), (delay, failures) => {
        expect(wait(delay, failures)).toBeGreaterThanOrEqual(delay);
        expect(wait(delay, failures + 1)).toBeGreaterThanOrEqual(wait(delay, failures)!);
        expect(wait(delay, failures)).toBeLessThanOrEqual(60_000);
      }),
    );
  });

  test('no delay stays no delay', () => {
    expect(decideOn({ record: crashed, plan: { retryDelayMs: 0 }, failures: 2000 })).toEqual({
      next: 'continue',
      waitMs: 0,
    });
  });
});

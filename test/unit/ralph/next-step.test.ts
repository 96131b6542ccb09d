import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IterationRecord } from '../../../src/ralph/record.ts';
import { type Limits } from '../../../src/ralph/plan.ts';
import { unknownUsage, type Usage } from '../../../src/ralph/agent-events.ts';
import { type Stop } from '../../../src/ralph/events.ts';
import { nextStep, type Progress } from '../../../src/ralph/next-step.ts';
import { crash, noGate, noLimits, recordWith } from './records.ts';

interface Row {
  readonly record?: Partial<IterationRecord>;
  readonly plan?: Partial<Omit<Progress['plan'], 'limits'>>;
  readonly limits?: Partial<Limits>;
  readonly failures?: number;
  readonly stalled?: number;
  readonly sameErrorCount?: number;
  readonly denied?: number;
  readonly usage?: Usage;
  readonly elapsedMs?: number;
  readonly nowMs?: number;
  readonly stopSignal?: string | null;
}

const decideOn = ({ record, plan, limits, failures = 0, stalled = 0, usage, elapsedMs = 0, nowMs = 0, ...row }: Row) =>
  nextStep({
    plan: {
      minIterations: 1,
      maxIterations: 50,
      failFast: false,
      retryDelayMs: 1000,
      gate: noGate,
      ...plan,
      limits: { ...noLimits, ...limits },
    },
    record: recordWith(record),
    totals: {
      failures,
      sameErrorCount: row.sameErrorCount ?? 0,
      stalled,
      denied: row.denied ?? 0,
      usage: usage ?? null,
    },
    spent: { elapsedMs, nowMs },
    stopSignal: row.stopSignal ?? null,
  });

const used = (facts: Partial<Usage>): Usage => ({ ...unknownUsage, ...facts });

const promised = { completionFound: true };
const green = { command: 'npm test', outcome: 'passed', exitCode: 0, durationMs: 1, tail: '' } as const;
const crashed = { error: crash };
const denied = { tools: ['Bash'], message: "Claude Code isn't allowed to use Bash; run with --allow-all" };
const notStarted = {
  end: 'not-started',
  exitCode: null,
  error: { kind: 'start', message: 'the agent could not be started: permission denied' },
} as const;

describe('when the loop stops, and why', () => {
  test.each<[string, Row, Stop['cause'], string]>([
    ['a promise', { record: promised }, 'promise', 'done in iteration 1'],
    [
      'a promise at the minimum',
      { record: { ...promised, iteration: 3 }, plan: { minIterations: 3 } },
      'promise',
      'done in iteration 3',
    ],
    [
      'a promise at the limit',
      { record: { ...promised, iteration: 5 }, plan: { maxIterations: 5 } },
      'promise',
      'done in iteration 5',
    ],
    ['a promise and an interruption', { record: promised, stopSignal: 'SIGINT' }, 'promise', 'done in iteration 1'],
    ['an interruption', { stopSignal: 'SIGTERM' }, 'signal', 'stopped by SIGTERM'],
    [
      'an interruption after a promise that came too early',
      { record: promised, plan: { minIterations: 2 }, stopSignal: 'SIGINT' },
      'signal',
      'stopped by SIGINT',
    ],
    [
      'an interruption and a failure',
      { record: crashed, plan: { failFast: true }, failures: 1, stopSignal: 'SIGINT' },
      'signal',
      'stopped by SIGINT',
    ],
    [
      'an interruption and an agent that does not start',
      { record: notStarted, failures: 1, stopSignal: 'SIGINT' },
      'signal',
      'stopped by SIGINT',
    ],
    [
      'an interruption and the limit',
      { plan: { maxIterations: 1 }, stopSignal: 'SIGINT' },
      'signal',
      'stopped by SIGINT',
    ],
    [
      'an agent that does not start',
      { record: notStarted, failures: 1 },
      'not-started',
      'the agent could not be started: permission denied',
    ],
    [
      'a failure with --fail-fast',
      { record: { ...crashed, iteration: 2 }, plan: { failFast: true }, failures: 1 },
      'fail-fast',
      'iteration 2 failed (--fail-fast): the agent exited with code 1',
    ],
    [
      'a failure with --fail-fast at the limit',
      { record: crashed, plan: { failFast: true, maxIterations: 1 }, failures: 1 },
      'fail-fast',
      'iteration 1 failed (--fail-fast): the agent exited with code 1',
    ],
    ['the limit', { record: { iteration: 50 } }, 'max-iterations', 'stopped at --max-iterations 50 before it was done'],
    [
      'the limit, with a failed last iteration',
      { record: { ...crashed, iteration: 50 }, failures: 1 },
      'max-iterations',
      'stopped at --max-iterations 50 before it was done',
    ],
    [
      'a limit below the first iteration of a resumed run',
      { record: { iteration: 9 }, plan: { maxIterations: 5 } },
      'max-iterations',
      'stopped at --max-iterations 5 before it was done',
    ],
    [
      'a promise and giving up, which the iteration resolves',
      { record: { ...promised, blocked: 'no key' } },
      'promise',
      'done in iteration 1',
    ],
    ['giving up', { record: { blocked: 'no key' } }, 'blocked-promise', 'the agent gave up: no key'],
    [
      'giving up and an interruption',
      { record: { blocked: 'no key' }, stopSignal: 'SIGINT' },
      'blocked-promise',
      'the agent gave up: no key',
    ],
    [
      'a verified promise',
      { record: { ...promised, gate: { passed: true, tampering: [], openTasks: [], runs: [green] } } },
      'promise',
      'done and verified in iteration 1',
    ],
    [
      'too many failures',
      { record: crashed, failures: 3, limits: { maxFailures: 3 } },
      'max-failures',
      '3 iterations in a row failed (--max-failures): the agent exited with code 1',
    ],
    [
      'a tool denied twice in a row, without progress',
      { record: { denied }, denied: 2 },
      'denied',
      "Claude Code isn't allowed to use Bash; run with --allow-all",
    ],
    [
      'a tool denied twice, with too many failures',
      { record: { ...crashed, denied }, denied: 2, failures: 2, limits: { maxFailures: 2 } },
      'denied',
      "Claude Code isn't allowed to use Bash; run with --allow-all",
    ],
    [
      'too many iterations without changes',
      { stalled: 4, limits: { maxStalled: 4 } },
      'max-stalled',
      '4 iterations in a row changed nothing (--max-stalled)',
    ],
    [
      'too many failures and too many iterations without changes',
      { record: crashed, failures: 4, stalled: 4, limits: { maxFailures: 4, maxStalled: 4 } },
      'max-failures',
      '4 iterations in a row failed (--max-failures): the agent exited with code 1',
    ],
    ['the duration', { elapsedMs: 10, limits: { maxDurationMs: 10 } }, 'max-duration', '--max-duration reached'],
    ['the time of day', { nowMs: 10, limits: { untilMs: 10 } }, 'until', '--until reached'],
    [
      'the cost',
      { usage: used({ costUsd: 5.129 }), limits: { maxCostUsd: 5 } },
      'max-cost',
      '--max-cost 5 reached: $5.13 spent',
    ],
    [
      'the tokens',
      { usage: used({ inputTokens: 70, outputTokens: 30 }), limits: { maxTokens: 100 } },
      'max-tokens',
      '--max-tokens 100 reached: 100 used',
    ],
    [
      'the cost during an iteration, which is not a failure for --fail-fast',
      {
        record: { end: 'out-of-budget', error: { kind: 'budget', message: 'ended' } },
        plan: { failFast: true },
        usage: used({ costUsd: 5 }),
        limits: { maxCostUsd: 5 },
      },
      'max-cost',
      '--max-cost 5 reached: $5.00 spent',
    ],
    [
      'a promise and every limit',
      {
        record: promised,
        failures: 9,
        stalled: 9,
        elapsedMs: 9,
        nowMs: 9,
        usage: used({ costUsd: 9, inputTokens: 9 }),
        limits: { maxFailures: 1, maxStalled: 1, maxDurationMs: 1, untilMs: 1, maxCostUsd: 1, maxTokens: 1 },
      },
      'promise',
      'done in iteration 1',
    ],
  ])('%s', (_, row, cause, detail) => {
    expect(decideOn(row)).toEqual({ next: 'stop', stop: { cause, detail } });
  });
});

describe('when the loop continues', () => {
  test.each<[string, Row, number]>([
    ['no promise', {}, 0],
    ['the iteration before the limit', { record: { iteration: 49 } }, 0],
    ['no limit', { record: { iteration: 1_000_000 }, plan: { maxIterations: Infinity } }, 0],
    ['a promise before the minimum', { record: promised, plan: { minIterations: 2 } }, 0],
    ['--fail-fast without a failure', { plan: { failFast: true } }, 0],
    ['a failure', { record: crashed, failures: 1 }, 1000],
    ['a tool denied once', { record: { denied }, denied: 1 }, 0],
    ['an unknown cost', { usage: used({ inputTokens: 1 }), limits: { maxCostUsd: 1 } }, 0],
    [
      'just below each limit',
      {
        failures: 1,
        stalled: 1,
        elapsedMs: 1,
        nowMs: 1,
        usage: used({ costUsd: 1, inputTokens: 1 }),
        limits: { maxFailures: 2, maxStalled: 2, maxDurationMs: 2, untilMs: 2, maxCostUsd: 2, maxTokens: 2 },
      },
      0,
    ],
    ['a rejected promise', { record: { ...crashed, rejected: crash.message }, failures: 1 }, 1000],
  ])('%s', (_, row, waitMs) => {
    expect(decideOn(row)).toEqual({ next: 'continue', waitMs });
  });
});

describe('the delay', () => {
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
  ])('after %i failures is %i ms', (failures, waitMs) => {
    expect(decideOn({ record: crashed, failures })).toEqual({ next: 'continue', waitMs });
  });

  test('never decreases, and never exceeds a minute', () => {
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

  test('stays zero', () => {
    expect(decideOn({ record: crashed, plan: { retryDelayMs: 0 }, failures: 2000 })).toEqual({
      next: 'continue',
      waitMs: 0,
    });
  });
});

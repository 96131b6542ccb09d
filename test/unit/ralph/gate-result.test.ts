import { expect, test } from 'vitest';
import { hasFailed, hasPassed, resultOf } from '../../../src/ralph/gate-result.ts';
import type { GateRun } from '../../../src/ralph/record.ts';

const attempt = (outcome: GateRun['outcome'], exitCode: number | null, tail: string) => ({ outcome, exitCode, tail });
const passed = attempt('passed', 0, 'ok');
const failed = attempt('failed', 1, 'wrong');
const timedOut = attempt('timed-out', null, 'slow');
const interrupted = attempt('interrupted', null, 'half');

test.each([
  ['passes', passed, null, { ...passed, tail: '' }],
  ['fails and is not retried', failed, null, failed],
  ['fails and passes when retried', failed, passed, attempt('flaky', 0, 'wrong')],
  ['times out and passes when retried', timedOut, passed, attempt('flaky', 0, 'slow')],
  ['fails twice', failed, timedOut, timedOut],
  ['is interrupted', interrupted, null, interrupted],
  ['is interrupted when retried', failed, interrupted, interrupted],
])('the result of a command that %s', (_, first, retry, expected) => {
  expect(resultOf(first, retry)).toEqual(expected);
});

test('a flaky command has passed, and an interrupted one has neither passed nor failed', () => {
  const outcomes = ['passed', 'flaky', 'failed', 'timed-out', 'interrupted'] as const;
  expect(outcomes.filter((outcome) => hasPassed({ outcome }))).toEqual(['passed', 'flaky']);
  expect(outcomes.filter((outcome) => hasFailed({ outcome }))).toEqual(['failed', 'timed-out']);
});

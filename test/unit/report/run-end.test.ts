import { expect, test } from 'vitest';
import { endOf, endText } from '../../../src/report/run-end.ts';

test.each([
  ['limit', 'stopped at a limit', 'stopped at a limit'],
  ['failed', 'failed', 'failed'],
  ['blocked', 'was blocked', 'blocked'],
  ['interrupted', 'was interrupted', 'interrupted'],
  ['complete', 'is complete', 'complete'],
  ['queued', 'is queued', 'queued'],
])('the end of a run with the status %s', (status, withSubject, alone) => {
  expect(endOf(status)).toBe(withSubject);
  expect(endText(status)).toBe(alone);
});

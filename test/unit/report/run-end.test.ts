import { expect, test } from 'vitest';
import { endPredicate, endWithReason, endWord } from '../../../src/report/run-end.ts';

test.each([
  ['limit', 'stopped at a limit', 'stopped at a limit'],
  ['failed', 'failed', 'failed'],
  ['blocked', 'was blocked', 'blocked'],
  ['interrupted', 'was interrupted', 'interrupted'],
  ['complete', 'is complete', 'complete'],
  ['queued', 'is queued', 'queued'],
])('the end of a run with the status %s', (status, withSubject, alone) => {
  expect(endPredicate(status)).toBe(withSubject);
  expect(endWord(status)).toBe(alone);
});

test.each([
  ['failed', 'the agent exited with code 1', 'failed, the agent exited with code 1'],
  ['limit', '--until reached', '--until reached'],
  ['limit', null, 'stopped at a limit'],
])('the end of a run with its reason: %s, %s', (status, detail, text) => {
  expect(endWithReason(status, detail)).toBe(text);
});

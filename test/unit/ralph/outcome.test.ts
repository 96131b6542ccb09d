import { expect, test } from 'vitest';
import { type IterationOutcome, iterationOutcome } from '../../../src/ralph/outcome.ts';
import type { IterationRecord } from '../../../src/ralph/record.ts';
import { recordWith } from './records.ts';

const error = { kind: 'crash', message: 'exited with code 3' } as IterationRecord['error'];
const gate = { passed: false, runs: [] } as unknown as IterationRecord['gate'];
const unchanged = { filesChanged: 0, insertions: 0, deletions: 0 } as unknown as IterationRecord['git'];

test.each<[string, Partial<IterationRecord>, IterationOutcome]>([
  ['an accepted promise', { completionFound: true, git: unchanged }, 'complete'],
  ['a promise that was rejected', { rejected: 'tests fail', gate }, 'rejected'],
  ['a promise of an agent that crashed', { rejected: 'it failed', error }, 'rejected'],
  ['an agent that gave up', { blocked: 'no access', error }, 'blocked'],
  ['an interrupted agent', { end: 'interrupted', error }, 'interrupted'],
  ['a crash', { error, gate }, 'failed'],
  ['failed checks without a promise', { gate }, 'checks-failed'],
  ['no changed files', { git: unchanged }, 'no-changes'],
  ['a task that was ticked in an ignored file', { git: unchanged, ticked: ['one'] }, 'progress'],
  ['a folder without git', { git: null }, 'progress'],
])('%s', (_, fields, outcome) => {
  expect(iterationOutcome(recordWith(fields))).toBe(outcome);
});

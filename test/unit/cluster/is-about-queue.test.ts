import { expect, test } from 'vitest';
import type { ChangeState } from '../../../src/cluster/change-row.ts';
import { isAboutQueue } from '../../../src/cluster/queue.ts';

const [older, newer] = ['20261115-070312-9f3a01c2', '20261116-070312-9f3a01c2'];

test.each<[ChangeState, string | null, { isRunning: boolean; run: string | null }, boolean]>([
  ['queued', null, { isRunning: false, run: null }, true],
  ['queued', older, { isRunning: false, run: newer }, true],
  ['running', older, { isRunning: true, run: newer }, false],
  ['waiting', older, { isRunning: false, run: newer }, true],
  ['paused', older, { isRunning: false, run: newer }, true],
  ['complete', older, { isRunning: false, run: null }, true],
  ['complete', newer, { isRunning: false, run: older }, true],
  // Landed here, or run here again since.
  ['complete', older, { isRunning: false, run: older }, false],
  ['stopped', older, { isRunning: false, run: newer }, false],
  ['stopped', null, { isRunning: false, run: older }, false],
])('%s with run %s and here %j: about the queue is %s', (state, run, here, expected) => {
  expect(isAboutQueue({ state, run }, here)).toBe(expected);
});

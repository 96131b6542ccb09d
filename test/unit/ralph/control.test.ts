import { expect, test } from 'vitest';
import { afterRequest, type ControlCommand, type Requested } from '../../../src/ralph/control.ts';

test.each<[Requested, ControlCommand, Requested]>([
  [null, 'stop', 'stop'],
  [null, 'stop-after-iteration', 'stop-after-iteration'],
  [null, 'pause', 'pause'],
  [null, 'resume', null],
  ['pause', 'pause', 'pause'],
  ['pause', 'resume', null],
  ['pause', 'stop', 'stop'],
  ['pause', 'stop-after-iteration', 'stop-after-iteration'],
  ['stop-after-iteration', 'stop', 'stop'],
  ['stop-after-iteration', 'pause', 'stop-after-iteration'],
  ['stop-after-iteration', 'resume', 'stop-after-iteration'],
  ['stop', 'stop-after-iteration', 'stop'],
  ['stop', 'pause', 'stop'],
  ['stop', 'resume', 'stop'],
])('a run that is asked for %s and then for %s is left with %s', (before, command, expected) => {
  expect(afterRequest(before, { command, mayResume: true })).toBe(expected);
});

test('a pause stays if the request to resume may come from an agent', () => {
  expect(afterRequest('pause', { command: 'resume', mayResume: false })).toBe('pause');
});

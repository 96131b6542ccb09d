import { expect, test } from 'vitest';
import type { RunEvent } from '../../../src/ralph/events.ts';
import type { RunView } from '../../../src/ralph/view.ts';
import { replay } from '../../../src/report/replay.ts';

const started = (iteration: number) => ({ type: 'iteration-started', iteration });
const finished = { type: 'iteration-finished', record: {} };
const notice = { type: 'notice', text: 'It is restarted.' };
const waiting = { type: 'waiting' };
const paused = { type: 'paused' };
const deferred = { type: 'attempt-deferred' };
const begun = { type: 'run-started' };

/** Shows the first iteration of a run with these events, and returns the types of what is shown of it. */
const shownOf = async (events: readonly object[]) => {
  const shown: string[] = [];
  const followed = async function* () {
    for (const event of events) yield { event: event as RunEvent, view: {} as RunView };
  };
  await replay({
    events: followed(),
    iteration: 1,
    follow: false,
    display: { onEvent: ({ type }) => shown.push(type), warn: () => {}, dispose: () => {} },
    signal: new AbortController().signal,
    drained: () => Promise.resolve(),
  });
  return shown.join(' ');
};

const whole = 'iteration-started iteration-finished';

test.each([
  ['nothing', [], whole],
  ['a wait', [waiting], `${whole} waiting`],
  ['a notice', [notice], whole],
  ['a wait after a notice', [notice, waiting], whole],
  ['a pause after a notice', [notice, paused], whole],
  ['a new start of the run', [begun, notice], whole],
  ['more of it after a notice and a wait', [notice, waiting, finished], `${whole} notice waiting iteration-finished`],
  ['more of it after a new start', [begun, waiting, finished], `${whole} run-started waiting iteration-finished`],
])('an iteration with %s after its result', async (_, after, expected) => {
  expect(await shownOf([started(1), finished, ...after, started(2), finished])).toBe(expected);
});

test('a wait between the attempts at an iteration belongs to it', async () => {
  expect(await shownOf([started(1), deferred, notice, waiting, started(1), finished, started(2)])).toBe(
    'iteration-started attempt-deferred notice waiting iteration-started iteration-finished',
  );
});

import { describe, expect, test } from 'vitest';
import type { IterationSummary, JournalEntry, RunDetail, RunMessage, RunView } from '../../../src/web/api.ts';
import { type RunState, withDetail, withMessage } from '../../../src/web/page/state/run-state.ts';
import { unfinishedOf } from '../../../src/web/page/run/unfinished.ts';

const view = (iteration: number) => ({ iteration, status: 'running' }) as RunView;
const detail = (more: Partial<RunDetail> = {}): RunDetail =>
  ({
    run: 'a',
    status: 'running',
    view: view(1),
    lastIteration: 1,
    now: '2026-01-01T00:00:05.000Z',
    ...more,
  }) as RunDetail;
const started = (seq: number, iteration: number): JournalEntry =>
  ({ seq, at: '', event: { type: 'iteration-started', iteration } }) as unknown as JournalEntry;
const said = (seq: number): JournalEntry =>
  ({ seq, at: '', event: { type: 'notice', text: String(seq) } }) as JournalEntry;
const after = (first: RunState, ...messages: RunMessage[]): RunState =>
  messages.reduce<RunState>((state, message) => withMessage(state, message)!, first);
const seqs = ({ entries }: RunState) => entries.map(({ seq }) => seq);

describe('the state of a run', () => {
  const start = withDetail(null, detail());

  test('entries that come twice are left out', () => {
    const state = after(
      start,
      { type: 'entries', entries: [started(1, 1), said(2)] },
      { type: 'entries', entries: [said(2), said(3)] },
    );
    expect(seqs(state)).toEqual([1, 2, 3]);
  });

  test('entries are kept for the current iteration and the one before', () => {
    const state = after(
      start,
      { type: 'entries', entries: [started(1, 1), said(2), started(3, 2), said(4)] },
      { type: 'entries', entries: [started(5, 3)] },
    );
    expect(seqs(state)).toEqual([3, 4, 5]);
  });

  test('a snapshot of the same run loses nothing, one of another run starts over', () => {
    const known = after(start, { type: 'entries', entries: [started(1, 1)] });
    const again = after(known, { type: 'snapshot', detail: detail(), seq: 1 });
    expect([seqs(again), again.snapshots]).toEqual([[1], 1]);
    const other = after(again, { type: 'snapshot', detail: detail({ run: 'b' }), seq: 0 });
    expect([seqs(other), other.snapshots, other.isLoading]).toEqual([[], 2, true]);
  });

  test('an answer that is older than the stream does not set the view back', () => {
    const now = '2026-01-01T00:00:09.000Z';
    const newer = after(start, { type: 'view', view: view(2), status: 'running', now });
    const state = withDetail(newer, detail({ context: 'added' }));
    expect([state.detail.view, state.detail.now, state.detail.context]).toEqual([view(2), now, 'added']);
  });

  test('nothing but a snapshot is taken before the run was read', () => {
    expect(withMessage(null, { type: 'superseded', run: 'b' })).toBeNull();
  });
});

test.each<[string, Partial<RunState>, Partial<RunDetail>, ReturnType<typeof unfinishedOf>]>([
  ['the history is not loaded', { isLoading: true, iterations: [] }, {}, null],
  ['it is running', {}, { view: view(3), lastIteration: 3 }, { number: 3, isRunning: true }],
  ['it is paused after one that has finished', {}, { view: view(2), lastIteration: 2 }, null],
  ['its run was killed', {}, { status: 'interrupted', lastIteration: 3 }, { number: 3, isRunning: false }],
  ['its run is over', {}, { status: 'complete', lastIteration: 2 }, null],
])('the unfinished iteration when %s', (_, more, about, expected) => {
  const iterations = [{ iteration: 2 } as IterationSummary];
  const state = { ...withDetail(null, detail(about)), isLoading: false, iterations, ...more };
  expect(unfinishedOf(state)).toEqual(expected);
});

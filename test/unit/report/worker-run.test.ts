import { expect, test } from 'vitest';
import { lastRunText, workerRow, silentText } from '../../../src/report/worker-rows.ts';
import { type QueuedChange, renderQueued } from '../../../src/report/worker-run.ts';
import { symbolsFor } from '../../../src/report/symbols.ts';

const at = (time: string): Date => new Date(`2026-11-17T${time}:00`);

const row: QueuedChange = {
  project: 'github.com/acme/app',
  id: 'add-login',
  state: 'queued',
  detail: null,
  priority: 0,
  labels: [],
  host: null,
  owner: null,
  claimed_at: null,
  available_at: at('09:00'),
  queued_at: at('09:00'),
  queued_by: 'ann@laptop',
  worker_seen: null,
  iteration: null,
  epoch: 0,
  cost_usd: 0,
  is_silent: false,
  blocked_by: null,
  now: at('12:00'),
};

const running = {
  state: 'running',
  host: 'build-1',
  owner: 'one',
  claimed_at: at('11:00'),
  worker_seen: at('11:50'),
  epoch: 2,
};

const canvas = { columns: 200, style: (_: unknown, text: string) => text, symbols: symbolsFor({ LANG: 'C.UTF-8' }) };

test.each<[Partial<QueuedChange>, string, string]>([
  [{}, 'Queued: the next free worker takes it.', 'queued'],
  [{ blocked_by: 'add-logout' }, 'Queued: waits for add-logout, which changes the same requirement.', 'queued'],
  [running, 'Running: starting on build-1, since 11:00.', 'running on build-1'],
  [
    { ...running, is_silent: true },
    'Silent: no sign of worker one on build-1 since 11:50 (10m ago); another worker takes over.',
    'silent on build-1',
  ],
  [
    { state: 'waiting', detail: 'usage limit', available_at: at('15:00') },
    'Waiting: until 15:00: usage limit; then any worker continues.',
    'waiting until 15:00',
  ],
  [{ state: 'paused', detail: 'by ann@laptop' }, 'Paused: not started, by ann@laptop.', 'paused'],
  [{ state: 'failed', detail: 'the remote is full' }, 'Failed: the remote is full.', 'failed'],
  [{ state: 'complete', detail: 'done in iteration 3' }, 'Complete: done in iteration 3.', 'complete, not landed'],
  [{ state: 'complete', detail: 'landed on main by ann@laptop' }, 'Complete: landed on main by ann@laptop.', 'landed'],
])('a change that is %j', (state, title, short) => {
  const change = { ...row, ...state };
  const [first] = renderQueued(change, { view: null, records: [], activity: null }, canvas);
  expect(first).toMatch(/ add-login {2}/);
  expect(first).toContain(`  ${title}`);
  expect(lastRunText(change)).toBe(short);
});

test('the total cost of several attempts, and the next commands', () => {
  const change = { ...row, ...running, cost_usd: 1.5, labels: ['agent=claude'], priority: 2 };
  expect(renderQueued(change, { view: null, records: [], activity: null }, canvas).slice(1)).toEqual([
    '  Worker      one on build-1, seen 10m ago, attempt 2',
    '  Queued      09:00 by ann@laptop, priority 2, for agent=claude',
    '  Total       $1.50 in 2 attempts, including lost ones',
    '',
    '  Follow      spool logs add-login --follow',
    '  Stop        spool stop add-login',
  ]);
});

test('a row of spool status says where a change runs', () => {
  expect(workerRow({ ...row, ...running }, null)).toMatchObject({
    status: 'running',
    run: null,
    activity: 'on build-1 (one) since 11:00',
    remote: { state: 'running', worker: 'one', attempts: 2 },
  });
  expect(silentText({ name: 'one', host: 'build-1', seenAt: at('11:50'), running: 1, now: at('12:00') })).toBe(
    'No sign of worker one on build-1 since 11:50 (10m ago), which had 1 change.',
  );
});

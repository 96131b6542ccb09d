import { expect, test } from 'vitest';
import { openDatabase } from '../../src/cluster/database.ts';
import { pollDelayMs, wakeDelayMs } from '../../src/cluster/pace.ts';
import { eventually } from '../support/eventually.ts';
import { query, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

const connections = async (url: string): Promise<number[]> =>
  (
    await query<{ pid: number }>(
      url,
      `select pid from pg_stat_activity where datname = current_database() and application_name like 'spool %'`,
    )
  ).map(({ pid }) => pid);

test('a process that listens needs one connection, and gets another one if it is cut off', async () => {
  const url = await postgres.createDatabase();
  const database = await openDatabase(url);
  const heard: string[] = [];
  database.listen({ spool_queue: (payload) => heard.push(payload) });
  await eventually(async () => (await connections(url)).length === 1, 'the connection');
  const hears = (text: string) =>
    eventually(async () => {
      await query(url, `select pg_notify('spool_queue', $1)`, [text]);
      return heard.includes(text);
    }, text);
  await hears('first');
  const pid = async () => (await database.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]!.pid;
  const before = [await pid(), await pid()];
  expect(await connections(url)).toEqual([before[0]]);
  expect(before[1]).toBe(before[0]);
  // A mistake in a query costs nothing, and two queries at once do not wait for each other.
  await expect(database.query('select 1 / 0')).rejects.toThrow('division by zero');
  const both = await Promise.all([pid(), pid()]);
  expect(both[0]).toBe(before[0]);
  expect(both[1]).not.toBe(before[0]);

  await query(url, 'select pg_terminate_backend($1)', [before[0]]);
  await hears('second');
  await eventually(async () => (await pid()) !== before[0], 'another connection');
  await database.close();
  await eventually(async () => (await connections(url)).length === 0, 'no connections');
});

test('many idle workers look less often, and not at the same time', () => {
  const mean = (sample: () => number) => Array.from({ length: 2000 }, sample).reduce((sum, ms) => sum + ms, 0) / 2000;
  const meanPoll = (workers: number, leaseMs: number) =>
    Math.round(mean(() => pollDelayMs({ workers, leaseMs })) / 500);
  expect([1, 100, 300, 500, 1000].map((workers) => meanPoll(workers, 30_000))).toEqual([4, 4, 12, 20, 20]);
  // A short lease is for a quick takeover.
  expect(meanPoll(1000, 3000)).toBe(4);
  expect(wakeDelayMs(1)).toBe(0);
  expect(Math.round(mean(() => wakeDelayMs(1000)) / 100)).toBe(5);
});

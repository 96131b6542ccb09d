import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { schemaVersion } from '../../src/cluster/migrations.ts';
import { grants } from '../../src/cluster/roles.ts';
import { createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { query, usePostgres } from '../support/postgres.ts';
import { change, root } from '../support/project.ts';
import { parseMetrics } from '../support/prometheus.ts';

const postgres = usePostgres();

const refused = (url: string, sql: string) =>
  query(url, sql).then(
    () => `allowed: ${sql}`,
    (error: Error) => (/permission denied|must be owner/.test(error.message) ? null : `${sql}: ${error.message}`),
  );

test('roles with few rights do everything, while a newer version of the tables is created', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(2, 'go') + worksFor(3)] });
  const asOwner = (...args: string[]) => cluster.start(args, { env: { SPOOL_QUEUE: cluster.url } }).result;
  // Both grant the rights, and both create nothing.
  const migrated = await Promise.all([asOwner('queue', 'migrate'), asOwner('queue', 'migrate')]);
  expect(migrated.map(({ stdout }) => stdout)).toEqual(
    Array(2).fill(`The tables are up to date (version ${schemaVersion}).\n`),
  );
  const { workerUrl: worker, userUrl: user } = cluster;
  const start = (url: string, ...args: string[]) => cluster.start(args, { env: { SPOOL_QUEUE: url } });
  const asUser = (...args: string[]) => start(user, ...args).result;

  const first = start(worker, 'worker', '--name', 'first', '--lease', '5m', '--metrics', '0', '--label', 'agent=it');
  await first.printed('metrics: ');
  const address = /metrics: (\S+)/.exec(first.output())![1]!;
  expect(await asUser('queue', 'add', change, '--max-cost', '5', '--priority', '3')).toMatchObject({ code: 0 });
  await eventually(() => existsSync(`${cluster.home}/go.waits`), 'the second iteration');

  const metrics = parseMetrics(await (await fetch(address)).text());
  expect(metrics.get('spool_queue_changes{state="running"}')).toBe(1);
  expect(metrics.get('spool_queue_changes{state="queued"}')).toBe(0);
  expect(metrics.get('spool_worker_iterations_total{worker="first"}')).toBe(1);
  expect(metrics.get('spool_worker_slots{worker="first"}')).toBe(1);
  expect(metrics.get('spool_worker_slots_used{worker="first"}')).toBe(1);
  expect(metrics.get('spool_worker_lease_losses_total{worker="first"}')).toBe(0);
  expect(metrics.get('spool_queue_workers{state="ready"}')).toBe(1);
  expect(metrics.get('spool_queue_up{worker="first"}')).toBe(1);
  expect(metrics.get('spool_queue_attempts_total{outcome="lost"}')).toBe(0);
  expect(metrics.get('spool_queue_available')).toBe(0);
  expect(metrics.get('spool_queue_oldest_available_seconds')).toBe(0);
  expect(metrics.get('spool_worker_renewal_age_seconds{worker="first"}')).toBeLessThan(600);
  const health = await fetch(new URL('/healthz', address));
  expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
  expect((await fetch(new URL('/other', address))).status).toBe(404);

  // The agent does not learn where the queue is.
  expect(cluster.calls().every(({ env }) => !('SPOOL_QUEUE' in env))).toBe(true);

  await cluster.query('create schema other');
  await cluster.query('create table other.secret as select 1 as value');
  const forBoth = [
    'drop table spool.change',
    'truncate spool.event',
    'delete from spool.change',
    'delete from spool.ledger',
    'alter table spool.change add column more text',
    'create table spool.more (id int)',
    'select * from other.secret',
    'insert into spool.migration (version) values (9)',
    'select pg_read_file($$/etc/passwd$$)',
  ];
  for (const sql of forBoth) expect([await refused(worker, sql), await refused(user, sql)]).toEqual([null, null]);
  for (const column of ['request', 'priority', 'labels', 'budget'])
    expect(await refused(worker, `update spool.change set ${column} = ${column}`)).toBe(null);
  expect(
    await refused(worker, `insert into spool.inbox (project, change, kind, sent_by) values ('', '', 'stop', '')`),
  ).toBe(null);
  expect(await refused(worker, 'update spool.budget set limit_usd = 100')).toBe(null);
  for (const column of ['epoch', 'owner', 'lease_until', 'fence', 'view', 'cost_usd'])
    expect(await refused(user, `update spool.change set ${column} = ${column}`)).toBe(null);
  expect(await refused(user, 'update spool.budget set limit_usd = 100')).toBe(null);
  expect(
    await refused(
      user,
      `insert into spool.change (project, id, state, request, queued_by, epoch) values ('p', 'c', 'queued', '{}', 'me', 9)`,
    ),
  ).toBe(null);
  expect(await asUser('queue', 'migrate')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^spool: The queue at .* rejected this role: permission denied.*\n$/),
  });

  // What a newer Spool does to the tables of this one.
  await cluster.query(`alter table spool.change add column color text not null default 'green'`);
  await cluster.query('create table spool.later (id int)');
  await cluster.query('insert into spool.migration (version) values ($1)', [schemaVersion + 1]);
  const doctor = await asUser('doctor', '--json');
  const checks = (JSON.parse(doctor.stdout) as { about: string; status: string; message: string }[]).map(
    ({ about, status, message }) => `${status} ${about}: ${message}`,
  );
  expect(checks).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^ok queue: postgres:\/\/spool_user@127\.0\.0\.1:\d+\/\w+, PostgreSQL \d/),
      'ok clock: agrees with that of the database',
      'ok notify: notifications arrive',
      `ok tables: version ${schemaVersion + 1}, newer than this Spool`,
      'ok workers: 1 worker running',
      expect.stringMatching(/^ok remote: .* accepts refs\/spool, --atomic and --force-with-lease$/),
    ]),
  );
  expect(cluster.onRemote('for-each-ref', 'refs/spool/doctor')).toBe('');
  writeFileSync(`${cluster.home}/go`, '');
  await cluster.reaches(change, 'complete');
  const again = start(worker, 'worker', '--name', 'second', '--metrics', new URL(address).port);
  expect(await again.result).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Cannot listen on 127\.0\.0\.1:\d+ \(--metrics\): EADDRINUSE\.\n$/),
  });
  first.kill('SIGTERM');
  expect(await first.result).toMatchObject({ code: 0 });
  expect(first.output()).not.toContain('permission denied');

  expect(await asUser('queue', 'add', change, '--label', 'agent=other')).toMatchObject({ code: 0 });
  expect(await asUser('queue', 'list')).toMatchObject({ code: 0, stdout: expect.stringContaining('queued') });
  expect(await asUser('queue', 'cancel', change)).toMatchObject({ code: 0 });

  // And what this Spool says about older ones.
  await cluster.query('delete from spool.migration');
  expect(await asUser('queue', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(` are at version 0, but this version of Spool needs ${schemaVersion}. `),
  });
});

test('two processes may create the tables at the same time', async () => {
  const cluster = await createCluster(postgres);
  const url = await postgres.createDatabase();
  const results = await Promise.all(
    [1, 2].map(() => cluster.start(['queue', 'migrate'], { env: { SPOOL_QUEUE: url } }).result),
  );
  expect(results.map(({ stdout }) => stdout).toSorted()).toEqual([
    `The tables are up to date (version ${schemaVersion}).\n`,
    `The tables now have version ${schemaVersion} (were 0).\n`,
  ]);
});

test('spool doctor says what is wrong with a queue', async () => {
  const cluster = await createCluster(postgres, { agent: ['true'] });
  await cluster.spool('queue', 'add', change, '--label', 'agent=claude');
  writeFileSync(join(cluster.remote, 'hooks', 'pre-receive'), '#!/bin/sh\necho no refs here\nexit 1\n', {
    mode: 0o755,
  });
  const lines = async (...args: string[]) =>
    (await cluster.start(['doctor', ...args], { env: { SPOOL_QUEUE: cluster.url } }).result).stdout;

  const found = await lines();
  expect(found).toMatch(/^warn {2}queue {9}connected as a superuser$/m);
  expect(found).toMatch(/^warn {2}workers {7}none is running for this repository\n {20}Fix: spool worker$/m);
  expect(found).toMatch(/^fail {2}remote {8}.*does not accept refs\/spool with --atomic/m);
  expect(await lines('--queue', await postgres.createDatabase())).toMatch(
    /^fail {2}tables {8}there are none yet\n {20}Fix: spool queue migrate$/m,
  );
  const wrong = await lines('--queue', 'postgres://someone@127.0.0.1:1/none');
  expect(wrong).toMatch(/^fail {2}queue {9}The queue at postgres:\/\/someone@127\.0\.0\.1:1\/none cannot be reached/m);
});

test('docs/cluster.md has the SQL of the roles', () => {
  const page = readFileSync(join(root, 'docs/cluster.md'), 'utf8');
  for (const sql of Object.values(grants)) expect(page).toContain(sql);
});

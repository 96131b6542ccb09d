import { afterEach, expect, test } from 'vitest';
import type { QueueRequest } from '../../src/cluster/change-row.ts';
import { type Claimant, claimNext, renewClaims, settle } from '../../src/cluster/claims.ts';
import { type Database, openDatabase } from '../../src/cluster/database.ts';
import { migrate } from '../../src/cluster/migrations.ts';
import { addToQueue, listQueue, type NewEntry } from '../../src/cluster/queue.ts';
import { query, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const opened: Database[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});

const open = async (url: string): Promise<Database> => {
  const database = await openDatabase(url);
  opened.push(database);
  return database;
};

const openQueue = async (version?: number) => {
  const url = await postgres.createDatabase();
  const database = await open(url);
  await migrate(database, version);
  return { url, database };
};

const request: QueueRequest = {
  v: 1,
  prompt: '',
  source: 'spool',
  base: { branch: 'main', commit: '0'.repeat(40) },
  folder: '',
  settings: {},
  fresh: false,
};

const entry = (id: string, more: Partial<NewEntry> = {}): NewEntry => ({
  project: 'p',
  id,
  request,
  priority: 0,
  labels: [],
  requirements: [],
  ...more,
});

const worker = (name: string, more: Partial<Claimant> = {}): Claimant => ({
  name,
  host: 'host',
  projects: ['p'],
  labels: [],
  leaseMs: 60_000,
  ...more,
});

const add = (database: Database, ...entries: NewEntry[]) =>
  addToQueue(database, entries, { by: 'me', maxCostUsd: null });

const taken = async (database: Database, claimant = worker('w')) => (await claimNext(database, claimant))?.id ?? null;

test('changes that were taken before come first, then the most urgent, then the oldest', async () => {
  const { url, database } = await openQueue();
  await add(database, entry('old'));
  await add(database, entry('urgent', { priority: 5, labels: ['b=2', 'a=1'] }));
  await add(database, entry('young'), entry('other', { project: 'q', priority: 9 }));
  await add(database, entry('special', { priority: 9, labels: ['gpu=yes'] }), entry('lost'), entry('due'));
  await query(
    url,
    `update spool.change set state = 'running', owner = 'dead', epoch = 3, lease_until = now() - interval '1 second' where id = 'lost'`,
  );
  await query(
    url,
    `update spool.change set state = 'waiting', detail = 'usage limit', priority = 7, available_at = now() - interval '1 second'
     where id = 'due'`,
  );
  const labelled = worker('w', { labels: ['a=1', 'b=2', 'c=3'] });
  const order: (string | null)[] = [];
  for (let n = 0; n < 6; n++) order.push(await taken(database, labelled));
  expect(order).toEqual(['lost', 'due', 'urgent', 'old', 'young', null]);
  expect(
    await query(url, `select epoch, owner, detail from spool.change where id in ('lost', 'due') order by id`),
  ).toEqual([
    { epoch: '1', owner: 'w', detail: null },
    { epoch: '4', owner: 'w', detail: null },
  ]);
  expect(await taken(database, worker('w', { projects: ['r', 'q'] }))).toBe('other');
});

test('a change whose wait is not over is not taken', async () => {
  const { url, database } = await openQueue();
  await add(database, entry('one'));
  const held = (await claimNext(database, worker('w')))!;
  await settle(database, held, { state: 'waiting', detail: 'limit', availableAt: new Date(Date.now() + 3_600_000) });
  expect(await taken(database)).toBe(null);
  expect(await query(url, 'select state, detail from spool.change')).toEqual([{ state: 'waiting', detail: 'limit' }]);
});

test('each change gets one owner, however many workers ask at the same time', async () => {
  const { url, database } = await openQueue();
  const entries = Array.from({ length: 120 }, (_, n) => entry(`c-${n}`, { labels: n % 3 === 0 ? ['a=1'] : [] }));
  await add(database, ...entries);
  // Each has three connections.
  const databases = await Promise.all(Array.from({ length: 20 }, () => open(url)));
  const claims = await Promise.all(
    Array.from({ length: 200 }, (_, n) => claimNext(databases[n % 20]!, worker(`w-${n}`, { labels: ['a=1'] }))),
  );
  const ids = claims.flatMap((claim) => (claim === null ? [] : [claim.id]));
  expect(new Set(ids).size).toBe(ids.length);
  // One that finds all candidates locked may return empty-handed, and asks again.
  while (await taken(database, worker('last', { labels: ['a=1'] }))) ids.push('rest');
  expect(ids).toHaveLength(120);
  expect(
    await query(
      url,
      `select count(*)::int as changes, min(c.epoch)::int as least, max(c.epoch)::int as most,
         count(*) filter (where a.owner = c.owner and a.epoch = c.epoch)::int as attempts
       from spool.change c join spool.attempt a on a.project = c.project and a.change = c.id`,
    ),
  ).toEqual([{ changes: 120, least: 1, most: 1, attempts: 120 }]);
});

test('changes that edit the same requirement never run together, whoever takes them', async () => {
  const { url, database } = await openQueue();
  const shared = Array.from({ length: 60 }, (_, n) =>
    entry(`c-${n}`, { requirements: [`cap: r${n % 7}`, `cap: r${(n * 3) % 11}`] }),
  );
  await add(database, ...shared);
  const databases = await Promise.all(Array.from({ length: 15 }, () => open(url)));
  const overlaps = () =>
    query(
      url,
      `select a.id as one, b.id as other from spool.change a join spool.change b
         on a.id < b.id and a.state = 'running' and b.state = 'running' and a.requirements && b.requirements`,
    );
  let finished = 0;
  while (finished < shared.length) {
    const claims = await Promise.all(
      Array.from({ length: 45 }, (_, n) => claimNext(databases[n % 15]!, worker(`w-${n}`))),
    );
    expect(await overlaps()).toEqual([]);
    for (const claim of claims.filter((each) => each !== null)) {
      await settle(database, claim, { state: 'complete', detail: null });
      finished++;
    }
  }
  expect(await query(url, 'select * from spool.holding')).toEqual([]);
});

test('a requirement is free when the lease of its change ends, and not renewed after that', async () => {
  const { url, database } = await openQueue();
  const requirements = ['cap: same'];
  await add(
    database,
    entry('one', { requirements, priority: 1, labels: ['rare=yes'] }),
    entry('two', { requirements }),
  );
  const rare = worker('rare', { labels: ['rare=yes'] });
  const held = (await claimNext(database, rare))!;
  expect(held.id).toBe('one');
  expect(await taken(database)).toBe(null);
  expect((await listQueue(database, ['p'])).map(({ id, blocked_by: by }) => [id, by])).toEqual([
    ['one', null],
    ['two', 'one'],
  ]);
  await query(url, `update spool.change set lease_until = now() - interval '1 second' where id = 'one'`);
  // The worker without the label cannot take over the first one, and may run the second one.
  expect(await taken(database)).toBe('two');
  expect(await renewClaims(database, rare, [held])).toEqual([]);
  expect(await taken(database, rare)).toBe(null);
});

test('tables of version 1 with running changes are updated, and workers of version 1 continue', async () => {
  const { url, database } = await openQueue(1);
  const runs = (id: string) =>
    query(
      url,
      `update spool.change set state = 'running', epoch = epoch + 1, owner = 'old', lease_until = now() + interval '1 hour'
       where id = $1`,
      [id],
    );
  const same = { requirements: ['cap: same'] };
  await add(database, entry('one', same), entry('two', same), entry('three', { requirements: ['cap: other'] }));
  await runs('one');
  expect(await migrate(database)).toEqual({ from: 1, to: 2 });
  expect(await taken(database)).toBe('three');
  expect(await taken(database)).toBe(null);
  await query(url, `update spool.change set state = 'complete' where id = 'one'`);
  await runs('two');
  await query(url, `update spool.change set state = 'queued' where id = 'one'`);
  expect(await taken(database)).toBe(null);
  await query(url, `update spool.change set state = 'complete' where id = 'two'`);
  expect(await taken(database)).toBe('one');
});

test('a migration waits for a lock without stopping workers for long', async () => {
  const { url, database } = await openQueue(1);
  await add(database, entry('one'));
  const other = await open(url);
  let migrated: Promise<unknown> = Promise.resolve();
  await database.transaction(async (sql) => {
    await sql.query('update spool.change set priority = 2');
    migrated = migrate(other);
    const isWaiting = `select 1 from pg_locks where not granted and relation = 'spool.change'::regclass`;
    while ((await query(url, isWaiting)).length === 0);
    // Queued behind the migration, and not for as long as it takes.
    await query(url, `update spool.change set priority = 1 where id = 'other'`);
  });
  expect(await migrated).toEqual({ from: 1, to: 2 });
});

/** The pages that a claim reads: unlike the time, it does not depend on what else the machine does. */
const pagesOf = async (database: Database, claimant: Claimant): Promise<number> => {
  const { projects, labels, name, host, leaseMs } = claimant;
  const undo = new Error('undo');
  let pages = Number.NaN;
  await database
    .transaction(async (sql) => {
      const explain = 'explain (analyze, buffers, format json) select * from spool.claim($1, $2, $3, $4, $5)';
      // The first call also reads the catalog.
      for (let n = 0; n < 2; n++) {
        const [row] = await sql.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(explain, [
          projects,
          labels,
          name,
          host,
          leaseMs,
        ]);
        const { Plan: plan } = row!['QUERY PLAN'][0]!;
        pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
      }
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return pages;
};

interface Filling {
  readonly queued: number;
  readonly running: number;
  /** Of the changes that are queued. */
  readonly labels?: string;
  readonly state?: 'queued' | 'waiting';
}

const fill = (url: string, { queued, running, labels, state = 'queued' }: Filling) =>
  query(
    url,
    `insert into spool.change (project, id, state, request, priority, labels, requirements, queued_by, lease_until, available_at)
     select 'p', 'c-' || n, case when n <= $2 then 'running' else $4::text end, '{}', n % 3,
       case when $3::text <> '' then array[$3::text] when n % 4 = 0 then '{a=1}'::text[] else '{}' end,
       case n % 2 when 0 then array['cap: r' || n, 'cap: s' || n] else '{}' end, 'me', now() + interval '1 hour',
       case $4::text when 'waiting' then now() + interval '1 hour' else now() end
     from generate_series(1, $1::int) n`,
    [queued + running, running, labels ?? '', state],
  );

test.each([
  { name: 'a short queue', queued: 50, running: 5 },
  { name: 'a long queue', queued: 10_000, running: 1000 },
  { name: 'labels that the worker lacks', queued: 10_000, running: 1000, labels: 'gpu=yes' },
  { name: 'changes that wait', queued: 10_000, running: 1000, state: 'waiting' as const },
])('a claim reads few pages of the tables: $name', async (filling) => {
  const { url, database } = await openQueue();
  await fill(url, filling);
  // With and without what Postgres knows about a table once it has analyzed it.
  for (const prepare of ['select 1', 'analyze spool.change']) {
    await query(url, prepare);
    for (const claimant of [worker('w', { labels: ['a=1'] }), worker('w'), worker('w', { projects: ['q'] })])
      expect(await pagesOf(database, claimant)).toBeLessThan(150);
  }
});

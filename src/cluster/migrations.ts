import { userError } from '../errors.ts';
import { claimMigration } from './claim-function.ts';
import type { Database, Sql } from './database.ts';
import { figuresMigration } from './figures-function.ts';
import { grantRights } from './roles.ts';

/*
 * A migration is never changed once it is released, and it keeps older workers running: it adds tables, and columns that
 * have a default. What older workers must not see goes in a new table.
 */
const migrations: readonly string[] = [
  `
  create table spool.budget (
    id          uuid primary key,
    limit_usd   numeric not null check (limit_usd > 0),
    spent_usd   numeric not null default 0,
    created_at  timestamptz not null default now()
  );

  create table spool.change (
    project       text not null,
    id            text not null,
    state         text not null check (state in
      ('queued', 'running', 'waiting', 'paused', 'stopped', 'complete', 'failed', 'limit', 'blocked')),
    detail        text,
    priority      integer not null default 0,
    labels        text[] not null default '{}',
    requirements  text[] not null default '{}',
    request       jsonb not null,
    budget        uuid references spool.budget (id),
    queued_at     timestamptz not null default now(),
    queued_by     text not null,
    available_at  timestamptz not null default now(),
    epoch         bigint not null default 0,
    owner         text,
    host          text,
    claimed_at    timestamptz,
    lease_until   timestamptz,
    run           text,
    iteration     integer,
    view          jsonb,
    cost_usd      numeric not null default 0,
    spending_usd  numeric not null default 0,
    reserved_usd  numeric not null default 0,
    fence         text,
    next_fence    text,
    open_fences   text[] not null default '{}',
    branch        text,
    tip           text,
    next_tip      text,
    updated_at    timestamptz not null default now(),
    primary key (project, id)
  );
  create index change_available on spool.change (priority desc, queued_at) where state in ('queued', 'waiting');
  create index change_running on spool.change (project) where state = 'running';
  create index change_leased on spool.change (lease_until) where state = 'running';
  create index change_budget on spool.change (budget) where state = 'running';

  create table spool.attempt (
    project     text not null,
    change      text not null,
    epoch       bigint not null,
    owner       text not null,
    host        text not null,
    began_at    timestamptz not null default now(),
    ended_at    timestamptz,
    outcome     text,
    detail      text,
    refused     integer not null default 0,
    primary key (project, change, epoch)
  );

  create table spool.inbox (
    seq         bigint generated always as identity primary key,
    project     text not null,
    change      text not null,
    kind        text not null check (kind in ('context', 'clear-context', 'stop', 'stop-after-iteration', 'pause', 'resume')),
    body        text not null default '',
    sent_by     text not null,
    sent_at     timestamptz not null default now(),
    taken_at    timestamptz,
    taken_epoch bigint
  );
  create index inbox_open on spool.inbox (project, change, seq) where taken_at is null;

  create table spool.ledger (
    project     text not null,
    change      text not null,
    run         text not null,
    iteration   integer not null,
    epoch       bigint not null,
    budget      uuid,
    cost_usd    numeric not null,
    booked_at   timestamptz not null default now(),
    primary key (project, change, run, iteration, epoch)
  );

  create table spool.event (
    id          bigint generated always as identity primary key,
    project     text not null,
    change      text not null,
    run         text not null,
    epoch       bigint not null,
    line        text not null,
    at          timestamptz not null default now()
  );
  create index event_of_run on spool.event (project, change, run, id);

  create table spool.worker (
    name        text primary key,
    host        text not null,
    version     text not null,
    slots       integer not null,
    labels      text[] not null default '{}',
    projects    text[] not null default '{}',
    started_at  timestamptz not null default now(),
    seen_at     timestamptz not null default now(),
    lease_ms    integer not null,
    draining    boolean not null default false,
    instance    text not null default '',
    folder      text not null default ''
  );
  `,
  `${claimMigration}${figuresMigration}`,
];

/** The version that this program needs. */
export const schemaVersion = migrations.length;

/** Only one process migrates at a time. */
const migrationLock = 5_370_011;

export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** A lock that is waited for stops workers as well, so it is given up and tried again. */
const lockMs = 1000;
const maxTries = 10;

/** Creates the tables, or brings them up to date, or to an older version. Needs a role that may create them. */
export const migrate = async (database: Database, upTo = schemaVersion): Promise<Migrated> => {
  for (let tries = 1; ; tries++)
    try {
      return await database.transaction((sql) => migrateIn(sql, upTo));
    } catch (error) {
      if (tries === maxTries || (error as { code?: unknown }).code !== lockNotAvailable) throw error;
    }
};

const lockNotAvailable = '55P03';

const migrateIn = async (sql: Sql, upTo: number): Promise<Migrated> => {
  await sql.query('select pg_advisory_xact_lock($1)', [migrationLock]);
  await sql.query(`set local lock_timeout = ${lockMs}`);
  await sql.query('create schema if not exists spool');
  await sql.query(
    `create table if not exists spool.migration (version integer primary key, applied_at timestamptz not null default now())`,
  );
  const from = await versionIn(sql);
  for (const [index, migration] of migrations.slice(0, upTo).entries()) {
    if (index < from) continue;
    await sql.query(migration);
    await sql.query('insert into spool.migration (version) values ($1)', [index + 1]);
  }
  await grantRights(sql);
  return { from, to: Math.max(from, upTo) };
};

const versionIn = async (sql: Sql): Promise<number> => {
  const [row] = await sql.query<{ version: number | null }>('select max(version) as version from spool.migration');
  return row?.version ?? 0;
};

/** The version of the tables; null if there are none. */
export const databaseVersion = async (sql: Sql): Promise<number | null> => {
  const [row] = await sql.query<{ exists: boolean }>(`select to_regclass('spool.migration') is not null as exists`);
  return row?.exists ? versionIn(sql) : null;
};

/** Throws if the tables are missing or older than this program. Newer ones are fine: migrations only add. */
export const requireTables = async (database: Database): Promise<void> => {
  const version = await databaseVersion(database);
  if (version === null) throw userError('no-queue-tables', database.name);
  if (version < schemaVersion) throw userError('old-queue-tables', database.name, version, schemaVersion);
};

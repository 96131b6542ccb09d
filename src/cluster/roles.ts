import type { Sql } from './database.ts';

/** A role with no more rights than it needs. The administrator of the server creates it; migrations grant the rights. */
export type Role = 'spool_worker' | 'spool_user';

/** docs/cluster.md shows the same SQL; a test compares the two. */
export const grants: Readonly<Record<Role, string>> = {
  // A worker writes what happens to a change, and nothing of what a person has asked for.
  spool_worker: `revoke all on all tables in schema spool from spool_worker;
grant usage on schema spool to spool_worker;
grant select on all tables in schema spool to spool_worker;
grant insert, update on spool.attempt to spool_worker;
grant insert, update, delete on spool.worker to spool_worker;
grant insert on spool.event to spool_worker;
grant insert, update (cost_usd) on spool.ledger to spool_worker;
grant update (spent_usd) on spool.budget to spool_worker;
grant update (taken_at, taken_epoch) on spool.inbox to spool_worker;
do $$ begin
  execute format('grant update (%s) on spool.change to spool_worker', (
    select string_agg(quote_ident(column_name), ', ') from information_schema.columns
    where table_schema = 'spool' and table_name = 'change' and column_name not in
      ('project', 'id', 'request', 'priority', 'labels', 'requirements', 'queued_at', 'queued_by', 'budget')));
end $$;`,
  // A person asks, and writes nothing that says who owns a change or what it has cost.
  spool_user: `revoke all on all tables in schema spool from spool_user;
grant usage on schema spool to spool_user;
grant select on all tables in schema spool to spool_user;
grant insert on spool.budget, spool.inbox to spool_user;
grant insert (project, id, state, request, priority, labels, requirements, queued_by, budget),
  update (state, detail, request, priority, labels, requirements, queued_by, queued_at, budget, available_at, run, updated_at)
  on spool.change to spool_user;`,
};

/** Grants the rights to those roles that exist. Needs the owner of the tables. */
export const grantRights = async (sql: Sql): Promise<void> => {
  const found = await sql.query<{ rolname: Role }>('select rolname from pg_roles where rolname = any($1)', [
    Object.keys(grants),
  ]);
  for (const { rolname } of found) await sql.query(grants[rolname]);
};

import type { ControlCommand } from '../ralph/control.ts';
import type { ChangeState } from './change-row.ts';
import type { Database, Sql } from './database.ts';

/** A change to which a request for all changes of a repository applies. */
export interface SteeredChange {
  readonly id: string;
  /** As it was before. */
  readonly state: ChangeState;
  /** Where its worker is; null if it has none, or one that has gone silent. */
  readonly host: string | null;
}

/** The states that a request applies to, and what becomes of a change that no worker has. */
const effects: Readonly<Record<ControlCommand, { readonly from: readonly ChangeState[]; readonly to: ChangeState }>> = {
  stop: { from: ['queued', 'waiting', 'paused', 'running'], to: 'stopped' },
  'stop-after-iteration': { from: ['queued', 'waiting', 'paused', 'running'], to: 'stopped' },
  pause: { from: ['queued', 'waiting', 'running'], to: 'paused' },
  resume: { from: ['paused'], to: 'queued' },
};

/** The running ones that were asked to pause and have not done it yet. */
const willPause = `c.state = 'running' and 'pause' = (
  select i.kind from spool.inbox i where i.project = c.project and i.change = c.id and i.taken_at is null
    and i.kind not in ('context', 'clear-context') order by i.seq desc limit 1)`;

const isHeld = `(c.state = 'running' and c.lease_until >= now())`;

/** The changes to which a request would apply now. */
export const changesToSteer = (sql: Sql, project: string, command: ControlCommand): Promise<SteeredChange[]> =>
  sql.query<{ id: string; state: ChangeState; host: string | null }>(
    `select c.id, c.state, case when ${isHeld} then coalesce(c.host, '') end as host from spool.change c
     where c.project = $1 and (c.state = any($2)${command === 'resume' ? ` or ${willPause}` : ''})
     order by c.id`,
    [project, effects[command].from],
  );

/**
 * Sends a request to the workers of all changes of a repository, and updates those that no worker has, in one
 * transaction. Returns the changes to which it applies.
 */
export const steerAll = (
  database: Database,
  { project, command, by }: { readonly project: string; readonly command: ControlCommand; readonly by: string },
): Promise<SteeredChange[]> =>
  database.transaction(async (sql) => {
    // No worker takes or ends one of them in the meantime.
    await sql.query('select 1 from spool.change where project = $1 and state = any($2) order by id for update', [
      project,
      [...effects[command].from, 'running'],
    ]);
    const changes = await changesToSteer(sql, project, command);
    const held = changes.filter(({ host }) => host !== null).map(({ id }) => id);
    const idle = changes.filter(({ host }) => host === null).map(({ id }) => id);
    await sql.query(
      `insert into spool.inbox (project, change, kind, sent_by) select $1, id, $3, $4 from unnest($2::text[]) as id`,
      [project, held, command, by],
    );
    const { to } = effects[command];
    await sql.query(
      `update spool.change set state = $3, detail = $4, available_at = now(), updated_at = now()
       where project = $1 and id = any($2)`,
      [project, idle, to, to === 'queued' ? null : `by ${by}`],
    );
    await sql.query(`select pg_notify('spool_inbox', ''), pg_notify('spool_queue', $1)`, [project]);
    return changes;
  });

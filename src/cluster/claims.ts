import type { Database, Sql } from './database.ts';
import type { ChangeKey, ChangeState, Claim } from './change-row.ts';

export interface Claimant {
  readonly name: string;
  readonly host: string;
  /** The repositories that this worker works for. */
  readonly projects: readonly string[];
  readonly labels: readonly string[];
  readonly leaseMs: number;
}

/** Which change an owner holds. A higher epoch belongs to a later owner. */
export interface Held extends ChangeKey {
  readonly epoch: number;
}

/**
 * Takes the next change that this worker may run, the most urgent and oldest first; null if there is none. The new owner
 * gets a new epoch in the same transaction, so that nothing of the previous owner is accepted from then on.
 */
export const claimNext = async (
  sql: Sql,
  { projects, labels, name, host, leaseMs }: Claimant,
): Promise<Claim | null> => {
  const [claim] = await sql.query<Claim>('select * from spool.claim($1, $2, $3, $4, $5)', [
    projects,
    labels,
    name,
    host,
    leaseMs,
  ]);
  return claim ?? null;
};

/**
 * Extends the leases of a worker. Returns those that it still holds. A lease that has ended is not extended, even if
 * no other worker has taken the change: one that edits the same requirement may have started.
 */
export const renewClaims = async (
  sql: Sql,
  { name, leaseMs }: Pick<Claimant, 'name' | 'leaseMs'>,
  held: readonly Held[],
): Promise<ChangeKey[]> =>
  sql.query<{ project: string; id: string }>(
    `update spool.change c set lease_until = now() + $5 * interval '1 millisecond', updated_at = now()
     from unnest($1::text[], $2::text[], $3::bigint[]) as held (project, id, epoch)
     where c.project = held.project and c.id = held.id and c.epoch = held.epoch and c.owner = $4 and c.state = 'running'
       and c.lease_until >= now()
     returning c.project, c.id`,
    [held.map(({ project }) => project), held.map(({ id }) => id), held.map(({ epoch }) => epoch), name, leaseMs],
  );

export interface Settlement {
  readonly state: Exclude<ChangeState, 'running'>;
  readonly detail: string | null;
  /** For a change that waits. */
  readonly availableAt?: Date;
}

/**
 * Ends an attempt: the change is free again, waits, or has ended. One transaction, so a change that waits for a usage
 * limit cannot be forgotten. Returns false if another worker owns the change by now.
 */
export const settle = (database: Database, held: Held, settlement: Settlement): Promise<boolean> =>
  database.transaction(async (sql) => {
    const { state, detail, availableAt = null } = settlement;
    const [row] = await sql.query<{ requirements: readonly string[] }>(
      `update spool.change set state = $4, detail = $5, available_at = coalesce($6, now()), owner = null, host = null,
         lease_until = null, spending_usd = 0, reserved_usd = 0, updated_at = now()
       where project = $1 and id = $2 and epoch = $3 and state = 'running' returning requirements`,
      [held.project, held.id, held.epoch, state, detail, availableAt],
    );
    if (row === undefined) return false;
    await sql.query(
      `update spool.attempt set ended_at = now(), outcome = $4, detail = $5
       where project = $1 and change = $2 and epoch = $3`,
      [held.project, held.id, held.epoch, state, detail],
    );
    // What was asked of this attempt is done, or came too late. Context is kept until it is published.
    await sql.query(
      `update spool.inbox set taken_at = now(), taken_epoch = $3
       where project = $1 and change = $2 and taken_at is null and kind not in ('context', 'clear-context')`,
      [held.project, held.id, held.epoch],
    );
    // Only if there is something to take now: a notification wakes every worker, which costs the server much.
    if (state === 'queued' || row.requirements.length > 0)
      await sql.query(`select pg_notify('spool_queue', $1)`, [held.project]);
    return true;
  });

/** Whether the attempt with this epoch, and all later ones before this one, were lost: none has settled the change. */
export const wasLost = async (sql: Sql, { project, id, epoch }: Held, since: number): Promise<boolean> => {
  const attempts = await sql.query<{ outcome: string | null }>(
    `select outcome from spool.attempt where project = $1 and change = $2 and epoch >= $3 and epoch < $4`,
    [project, id, since, epoch],
  );
  return attempts.length > 0 && attempts.every(({ outcome }) => outcome === 'lost');
};

/** Records that a push of this attempt was rejected, by the database or by the remote. */
export const countRefusal = (sql: Sql, { project, id, epoch }: Held, why: string): Promise<unknown> =>
  sql.query(
    `update spool.attempt set refused = refused + 1, detail = $4 where project = $1 and change = $2 and epoch = $3`,
    [project, id, epoch, why],
  );

/** Raises the epoch of a claim above one that the remote has seen: the database was restored from a backup. */
export const raiseEpoch = async (sql: Sql, claim: Claim, above: number): Promise<Claim | null> => {
  const [row] = await sql.query<Claim>(
    `update spool.change set epoch = greatest(epoch, $4) + 1 where project = $1 and id = $2 and epoch = $3 returning *`,
    [claim.project, claim.id, claim.epoch, above],
  );
  if (row === undefined) return null;
  await sql.query(`update spool.attempt set epoch = $4 where project = $1 and change = $2 and epoch = $3`, [
    claim.project,
    claim.id,
    claim.epoch,
    row.epoch,
  ]);
  return row;
};

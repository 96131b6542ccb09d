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

/** Its owner has not renewed the lease. */
const isAbandoned = `c.state = 'running' and c.lease_until < now()`;
/** It is queued, or its wait is over. */
const isAvailable = `c.state in ('queued', 'waiting') and c.available_at <= now()`;

/** Another change that edits the same requirement is running. */
const isBlocked = `(c.requirements <> '{}' and exists (
  select 1 from spool.change o
  where o.project = c.project and o.id <> c.id and o.state = 'running' and o.lease_until >= now()
    and o.requirements && c.requirements
))`;

/** This worker may run it now. */
const isSuitable = `c.project = any($1) and c.labels <@ $2 and not ${isBlocked}`;

/** How often a claim is tried again if another worker was faster. */
const maxTries = 5;

/**
 * Takes the next change that this worker may run, the most urgent and oldest first; null if there is none. The new owner
 * gets a new epoch in the same transaction, so that nothing of the previous owner is accepted from then on.
 */
export const claimNext = async (database: Database, claimant: Claimant): Promise<Claim | null> => {
  // Most of the time there is nothing to do, and finding that out should cost the server as little as possible.
  const { projects, labels } = claimant;
  const some = await database.query(
    `(select 1 from spool.change c where ${isAbandoned} and ${isSuitable} limit 1)
     union all (select 1 from spool.change c where ${isAvailable} and ${isSuitable} limit 1)`,
    [projects, labels],
  );
  if (some.length === 0) return null;
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const claim = await database.transaction((sql) => tryToClaim(sql, claimant));
    if (claim !== 'blocked') return claim;
  }
  return null;
};

const tryToClaim = async (sql: Sql, claimant: Claimant): Promise<Claim | 'blocked' | null> => {
  const { name, host, leaseMs } = claimant;
  // These were taken before, so they come first.
  const abandoned = await lockNext(sql, claimant, isAbandoned);
  const free = abandoned ?? (await lockNext(sql, claimant, isAvailable));
  if (free === null) return null;
  if (free.requirements.length > 0 && (await isBlockedNow(sql, free))) return 'blocked';
  if (abandoned !== null) await endLostAttempt(sql, abandoned);
  const [claim] = await sql.query<Claim>(
    `update spool.change set state = 'running', epoch = epoch + 1, owner = $3, host = $4, claimed_at = now(),
       lease_until = now() + $5 * interval '1 millisecond', detail = null, spending_usd = 0, reserved_usd = 0,
       updated_at = now()
     where project = $1 and id = $2
     returning *`,
    [free.project, free.id, name, host, leaseMs],
  );
  await sql.query('insert into spool.attempt (project, change, epoch, owner, host) values ($1, $2, $3, $4, $5)', [
    free.project,
    free.id,
    claim!.epoch,
    name,
    host,
  ]);
  return claim!;
};

/** Locks the most urgent and oldest of these changes that no other worker is taking; null if there is none. */
const lockNext = async (
  sql: Sql,
  { projects, labels }: Claimant,
  condition: string,
): Promise<(ChangeKey & { readonly requirements: readonly string[] }) | null> => {
  const [next] = await sql.query<ChangeKey & { requirements: readonly string[] }>(
    `select c.project, c.id, c.requirements from spool.change c
     where ${condition} and ${isSuitable}
     order by c.priority desc, c.queued_at
     for update skip locked limit 1`,
    [projects, labels],
  );
  return next ?? null;
};

/** Two workers may look at the same time, so the second look is taken by one of them at a time. */
const isBlockedNow = async (sql: Sql, { project, id }: ChangeKey): Promise<boolean> => {
  await sql.query('select pg_advisory_xact_lock(hashtext($1))', [`spool ${project}`]);
  const rows = await sql.query(`select 1 from spool.change c where c.project = $1 and c.id = $2 and ${isBlocked}`, [
    project,
    id,
  ]);
  return rows.length > 0;
};

/** What the previous owner has spent in an iteration that it never finished is spent all the same. */
const endLostAttempt = async (sql: Sql, { project, id }: ChangeKey): Promise<void> => {
  const lost = await sql.query(
    `update spool.attempt set ended_at = now(), outcome = 'lost', detail = 'the lease has ended'
     where project = $1 and change = $2 and ended_at is null returning epoch`,
    [project, id],
  );
  if (lost.length === 0) return;
  await sql.query(
    `with spent as (
       insert into spool.ledger (project, change, run, iteration, epoch, budget, cost_usd)
       select project, id, coalesce(run, ''), coalesce(iteration, 0), epoch, budget, spending_usd
       from spool.change where project = $1 and id = $2 and spending_usd > 0
       on conflict do nothing returning project, change, budget, cost_usd
     ), booked as (
       update spool.budget b set spent_usd = b.spent_usd + s.cost_usd from spent s where b.id = s.budget
     )
     update spool.change c set cost_usd = c.cost_usd + s.cost_usd from spent s
     where c.project = s.project and c.id = s.change`,
    [project, id],
  );
};

/**
 * Extends the leases of a worker. Returns those that it still holds. A lease that has ended is not extended, even if
 * nobody has taken the change: one that edits the same requirement may have started.
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
    const rows = await sql.query(
      `update spool.change set state = $4, detail = $5, available_at = coalesce($6, now()), owner = null, host = null,
         lease_until = null, spending_usd = 0, reserved_usd = 0, updated_at = now()
       where project = $1 and id = $2 and epoch = $3 and state = 'running' returning id`,
      [held.project, held.id, held.epoch, state, detail, availableAt],
    );
    if (rows.length === 0) return false;
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

/** Records that a push of this attempt was refused, by the database or by the remote. */
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

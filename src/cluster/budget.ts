import type { Held } from './claims.ts';
import type { Database, Sql } from './database.ts';

/*
 * The table "spool.ledger" contains the spending: a row for each iteration of each attempt, with what its agent has
 * reported so far, but not what is reserved. Locks are taken in the same order as by a worker that takes a change: the
 * change, its spending, the budget.
 */

/** An iteration of an attempt. */
export interface BookedIteration {
  readonly run: string;
  readonly iteration: number;
}

/** What a change may spend together with the others of its budget. */
export interface Reservation {
  readonly granted: boolean;
  readonly limitUsd: number;
  /** By all changes of the budget. */
  readonly spentUsd: number;
  /** For iterations that run now, and for those whose worker was lost before it could say what they have cost. */
  readonly reservedUsd: number;
  /** By the other changes of the budget. */
  readonly othersUsd: number;
}

/**
 * Reserves the expected cost of an iteration. It is granted while less than the limit is spent and reserved, so the limit
 * is exceeded by no more than the iterations that run at the same time. Returns null if the change was lost.
 */
export const reserve = (
  database: Database,
  held: Held,
  { budget, run, iteration }: BookedIteration & { readonly budget: string },
): Promise<Reservation | null> =>
  database.transaction(async (sql) => {
    if (!(await lockChange(sql, held))) return null;
    const [limits] = await sql.query<{ limit_usd: number; spent_usd: number }>(
      'select limit_usd, spent_usd from spool.budget where id = $1 for update',
      [budget],
    );
    const { limit_usd: limitUsd, spent_usd: spentUsd } = limits!;
    const [booked] = await sql.query<{ own: number; expected: number }>(
      `select coalesce(sum(cost_usd) filter (where project = $2 and change = $3), 0) as own,
         coalesce(avg(cost_usd) filter (where cost_usd > 0), 0) as expected
       from spool.ledger where budget = $1`,
      [budget, held.project, held.id],
    );
    const { own, expected } = booked!;
    const [others] = await sql.query<{ reserved: number }>(
      `select coalesce(sum(greatest(reserved_usd, spending_usd)), 0) as reserved
       from spool.change where budget = $1 and state = 'running' and not (project = $2 and id = $3)`,
      [budget, held.project, held.id],
    );
    const reservedUsd = others!.reserved + (await unknownCost(sql, budget, expected));
    const granted = spentUsd + reservedUsd < limitUsd;
    await sql.query(`update spool.change set reserved_usd = $3 where project = $1 and id = $2`, [
      held.project,
      held.id,
      granted ? expected : 0,
    ]);
    if (granted) await openRow(sql, held, { run, iteration, budget });
    return { granted, limitUsd, spentUsd, reservedUsd, othersUsd: Math.max(0, spentUsd - own) };
  });

/** Returns false if another worker owns the change. */
const lockChange = async (sql: Sql, { project, id, epoch }: Held): Promise<boolean> => {
  const [row] = await sql.query<{ epoch: number }>(
    'select epoch from spool.change where project = $1 and id = $2 for update',
    [project, id],
  );
  return row?.epoch === epoch;
};

/**
 * What workers that were lost may have spent without telling. Only the last iteration of each is in question. A worker
 * that comes back books what its agent has really cost.
 */
const unknownCost = async (sql: Sql, budget: string, expected: number): Promise<number> => {
  const [row] = await sql.query<{ unknown: number }>(
    `select coalesce(sum(greatest($2 - l.cost_usd, 0)), 0) as unknown
     from spool.ledger l
     join spool.attempt a on a.project = l.project and a.change = l.change and a.epoch = l.epoch
     where l.budget = $1 and a.outcome = 'lost' and not exists (
       select 1 from spool.ledger n
       where n.project = l.project and n.change = l.change and n.epoch = l.epoch and n.iteration > l.iteration
     )`,
    [budget, expected],
  );
  return row!.unknown;
};

const openRow = (
  sql: Sql,
  { project, id, epoch }: Held,
  { run, iteration, budget }: BookedIteration & { readonly budget: string | null },
): Promise<unknown> =>
  sql.query(
    `insert into spool.ledger (project, change, run, iteration, epoch, budget, cost_usd)
     values ($1, $2, $3, $4, $5, $6, 0) on conflict do nothing`,
    [project, id, run, iteration, epoch, budget],
  );

export interface Spending extends BookedIteration {
  /** What the agents of this attempt have reported for the iteration so far. */
  readonly costUsd: number;
  /** No agent works on it any more, so nothing needs to be reserved for it. */
  readonly isOver: boolean;
}

/**
 * Books what an iteration has cost so far. That of a worker that has lost its claim is booked as well: the money is
 * spent. Booking the same twice changes nothing.
 */
export const book = (
  database: Database,
  held: Held,
  { budget, ...spending }: Spending & { readonly budget: string | null },
): Promise<void> =>
  database.transaction(async (sql) => {
    const { project, id, epoch } = held;
    const { run, iteration, costUsd, isOver } = spending;
    await lockChange(sql, held);
    await openRow(sql, held, { run, iteration, budget });
    const key = [project, id, run, iteration, epoch];
    const [known] = await sql.query<{ cost_usd: number; budget: string | null }>(
      `select cost_usd, budget from spool.ledger
       where project = $1 and change = $2 and run = $3 and iteration = $4 and epoch = $5 for update`,
      key,
    );
    const moreUsd = Math.max(0, costUsd - known!.cost_usd);
    if (moreUsd > 0) {
      await sql.query(
        `update spool.ledger set cost_usd = cost_usd + $6
         where project = $1 and change = $2 and run = $3 and iteration = $4 and epoch = $5`,
        [...key, moreUsd],
      );
      await sql.query('update spool.budget set spent_usd = spent_usd + $2 where id = $1', [known!.budget, moreUsd]);
    }
    await sql.query(
      `update spool.change set cost_usd = cost_usd + $3, updated_at = now(),
         reserved_usd = case when epoch <> $4 then reserved_usd when $5 then 0 else greatest(0, reserved_usd - $3) end
       where project = $1 and id = $2`,
      [project, id, moreUsd, epoch, isOver],
    );
  });

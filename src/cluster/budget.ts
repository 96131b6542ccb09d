import type { IterationRecord } from '../ralph/record.ts';
import type { Database } from './database.ts';
import type { Held } from './claims.ts';

/** What a change may spend together with the others of its budget. */
export interface Reservation {
  readonly granted: boolean;
  readonly limitUsd: number;
  /** By all changes of the budget. */
  readonly spentUsd: number;
  /** By the other changes of the budget. */
  readonly othersUsd: number;
}

/**
 * Reserves the expected cost of an iteration. It is granted while less than the limit is spent and reserved, so the limit
 * is exceeded by no more than the iterations that run at the same time. Returns null if the change was lost.
 */
export const reserve = (database: Database, held: Held, budget: string): Promise<Reservation | null> =>
  database.transaction(async (sql) => {
    const [limits] = await sql.query<{ limit_usd: number; spent_usd: number }>(
      'select limit_usd, spent_usd from spool.budget where id = $1 for update',
      [budget],
    );
    const [others] = await sql.query<{ reserved: number; running: number }>(
      `select coalesce(sum(greatest(reserved_usd, spending_usd)), 0) as reserved, count(*) as running
       from spool.change where budget = $1 and state = 'running' and not (project = $2 and id = $3)`,
      [budget, held.project, held.id],
    );
    const [own] = await sql.query<{ own: number; expected: number }>(
      `select coalesce(sum(cost_usd) filter (where project = $2 and change = $3), 0) as own,
         coalesce(avg(cost_usd), 0) as expected
       from spool.ledger where budget = $1`,
      [budget, held.project, held.id],
    );
    const { limit_usd: limitUsd, spent_usd: spentUsd } = limits!;
    const granted = spentUsd + others!.reserved < limitUsd;
    const rows = await sql.query(
      `update spool.change set reserved_usd = $4 where project = $1 and id = $2 and epoch = $3 returning id`,
      [held.project, held.id, held.epoch, granted ? own!.expected : 0],
    );
    if (rows.length === 0) return null;
    return { granted, limitUsd, spentUsd, othersUsd: Math.max(0, spentUsd - own!.own) };
  });

/** Books an iteration. That of a worker that has lost its claim is booked as well: the money is spent. */
export const book = (database: Database, held: Held, record: IterationRecord, budget: string | null): Promise<void> =>
  database.transaction(async (sql) => {
    const key = [held.project, held.id, record.run, record.iteration, held.epoch];
    // What the worker had spent when it lost its claim is booked already.
    const [known] = await sql.query<{ cost_usd: number }>(
      `select cost_usd from spool.ledger
       where project = $1 and change = $2 and run = $3 and iteration = $4 and epoch = $5 for update`,
      key,
    );
    const costUsd = Math.max(0, costOf(record) - (known?.cost_usd ?? 0));
    await sql.query(
      `insert into spool.ledger as l (project, change, run, iteration, epoch, budget, cost_usd)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (project, change, run, iteration, epoch) do update set cost_usd = l.cost_usd + excluded.cost_usd`,
      [...key, budget, costUsd],
    );
    await sql.query('update spool.budget set spent_usd = spent_usd + $2 where id = $1', [budget, costUsd]);
    await sql.query(
      `update spool.change set cost_usd = cost_usd + $3,
         spending_usd = case when epoch = $4 then 0 else spending_usd end,
         reserved_usd = case when epoch = $4 then 0 else reserved_usd end
       where project = $1 and id = $2`,
      [held.project, held.id, costUsd, held.epoch],
    );
  });

/** The cost of an iteration, with the attempts that were deferred. */
export const costOf = ({ usage, deferred }: IterationRecord): number =>
  [usage, ...(deferred ?? []).map((attempt) => attempt.usage)].reduce((sum, each) => sum + (each?.costUsd ?? 0), 0);

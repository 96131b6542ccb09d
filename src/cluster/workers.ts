import type { Sql } from './database.ts';

export interface ListedWorker {
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly slots: number;
  readonly running: number;
  readonly labels: readonly string[];
  readonly projects: readonly string[];
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** It has not been heard of for longer than its lease. */
  readonly silent: boolean;
  readonly draining: boolean;
  readonly now: Date;
}

export const listWorkers = (sql: Sql): Promise<ListedWorker[]> =>
  sql.query<ListedWorker & Record<string, unknown>>(
    `select w.name, w.host, w.version, w.slots, w.labels, w.projects, w.started_at as "startedAt", w.seen_at as "seenAt",
       w.seen_at < now() - w.lease_ms * interval '1 millisecond' as silent, w.draining, now() as now,
       (select count(*) from spool.change c where c.owner = w.name and c.state = 'running') as running
     from spool.worker w order by w.name`,
  );

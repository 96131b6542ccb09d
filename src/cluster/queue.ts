import { userError } from '../errors.ts';
import type { ChangeKey, ChangeRow, ChangeState, QueueRequest } from './change-row.ts';
import type { Database, Sql } from './database.ts';
import type { Message } from './inbox.ts';

export interface NewEntry extends ChangeKey {
  readonly request: QueueRequest;
  readonly priority: number;
  readonly labels: readonly string[];
  readonly requirements: readonly string[];
}

export interface AddOptions {
  readonly by: string;
  /** Shared by all of the entries; null for no limit. */
  readonly maxCostUsd: number | null;
}

export type Added = ChangeKey & {
  /** What the change was before, if it could not be added. */
  readonly refused: Pick<ChangeRow, 'state' | 'host'> | null;
};

/** Queues changes. One that is queued, running, waiting or paused already is left as it is. */
export const addToQueue = (
  database: Database,
  entries: readonly NewEntry[],
  { by, maxCostUsd }: AddOptions,
): Promise<Added[]> =>
  database.transaction(async (sql) => {
    const budget = maxCostUsd === null ? null : crypto.randomUUID();
    if (budget !== null)
      await sql.query('insert into spool.budget (id, limit_usd) values ($1, $2)', [budget, maxCostUsd]);
    const added: Added[] = [];
    for (const entry of entries) added.push(await addOne(sql, entry, { by, budget }));
    await sql.query(`select pg_notify('spool_queue', '')`);
    return added;
  });

const addOne = async (
  sql: Sql,
  { project, id, request, priority, labels, requirements }: NewEntry,
  { by, budget }: { readonly by: string; readonly budget: string | null },
): Promise<Added> => {
  const rows = await sql.query(
    `insert into spool.change as c (project, id, state, request, priority, labels, requirements, queued_by, budget)
     values ($1, $2, 'queued', $3, $4, $5, $6, $7, $8)
     on conflict (project, id) do update set state = 'queued', detail = null, request = $3, priority = $4, labels = $5,
       requirements = $6, queued_by = $7, budget = $8, queued_at = now(), available_at = now(), updated_at = now(),
       run = case when $9 then null else c.run end
     where c.state not in ('queued', 'running', 'waiting', 'paused')
     returning id`,
    [project, id, JSON.stringify(request), priority, labels, requirements, by, budget, request.fresh],
  );
  if (rows.length > 0) return { project, id, refused: null };
  const [there] = await sql.query<Pick<ChangeRow, 'state' | 'host'>>(
    'select state, host from spool.change where project = $1 and id = $2',
    [project, id],
  );
  return { project, id, refused: there! };
};

/** What a lease, the worker and other changes say about a change. */
export const circumstances = `w.seen_at as worker_seen, c.state = 'running' and c.lease_until < now() as is_silent, now() as now,
  case when c.state in ('queued', 'waiting') and c.requirements <> '{}' then (
    select o.id from unnest(c.requirements) as r (name)
    join spool.holding h on h.project = c.project and h.requirement = hashtextextended(r.name, 0)
    join spool.change o on o.project = h.project and o.id = h.change
    where o.id <> c.id and o.state = 'running' and o.lease_until >= now() and o.requirements && c.requirements
    limit 1
  ) end as blocked_by`;

/** The changes of some repositories, or of all, with the state that their lease says. */
export const listQueue = (sql: Sql, projects: readonly string[] | null): Promise<ListedChange[]> =>
  sql.query<ListedChange>(
    `select c.*, ${circumstances}
     from spool.change c left join spool.worker w on w.name = c.owner
     where $1::text[] is null or c.project = any($1)
     order by array_position(array['running', 'waiting', 'paused', 'queued'], c.state) nulls last, c.priority desc,
       c.queued_at, c.id`,
    [projects],
  );

/** One change; null if it is not in the queue. */
export const findQueued = async (sql: Sql, { project, id }: ChangeKey): Promise<ListedChange | null> => {
  const [row] = await sql.query<ListedChange>(
    `select c.*, ${circumstances} from spool.change c left join spool.worker w on w.name = c.owner
     where c.project = $1 and c.id = $2`,
    [project, id],
  );
  return row ?? null;
};

/** The changes of a repository without their runs, which are long. */
export const queueStates = (sql: Sql, project: string): Promise<Omit<ListedChange, 'view' | 'request'>[]> =>
  sql.query<Omit<ListedChange, 'view' | 'request'>>(
    `select c.project, c.id, c.state, c.detail, c.priority, c.labels, c.queued_at, c.queued_by, c.available_at, c.epoch,
       c.owner, c.host, c.claimed_at, c.run, c.iteration, c.cost_usd, ${circumstances}
     from spool.change c left join spool.worker w on w.name = c.owner where c.project = $1`,
    [project],
  );

/** The IDs of the changes of a repository that are in the queue. */
export const queuedIds = async (sql: Sql, project: string): Promise<string[]> =>
  (await sql.query<{ id: string }>('select id from spool.change where project = $1 order by id', [project])).map(
    ({ id }) => id,
  );

/** Whether workers have the change, or will. */
export const isActive = ({ state }: Pick<ChangeRow, 'state'>): boolean =>
  state === 'queued' || state === 'running' || state === 'waiting' || state === 'paused';

/** What this checkout knows about a change. */
export interface LocalRun {
  /** A process on this machine runs it, or is about to. */
  readonly isRunning: boolean;
  /** The last run; null if there was none. Run ids sort by time. */
  readonly run: string | null;
}

/** Whether a command about a change is about the queue. Otherwise it is about this checkout. */
export const isAboutQueue = (row: Pick<ChangeRow, 'state' | 'run'>, { isRunning, run }: LocalRun): boolean => {
  if (isRunning) return false;
  if (isActive(row) || run === null) return true;
  return row.run !== null && row.run > run;
};

export interface ListedChange extends ChangeRow {
  readonly worker_seen: Date | null;
  /** Its worker has not renewed the lease. */
  readonly is_silent: boolean;
  readonly blocked_by: string | null;
  /** The time of the database. */
  readonly now: Date;
}

export type Sent =
  /** The worker will do it within seconds. */
  | { readonly kind: 'sent'; readonly row: ChangeRow }
  /** No worker had it, so it is done. */
  | { readonly kind: 'done'; readonly row: ChangeRow; readonly state: ChangeState }
  /** There is nothing to do in this state. */
  | { readonly kind: 'nothing'; readonly row: ChangeRow };

/** What becomes of a change that no worker has. One that is running has a worker that has gone silent. */
const idleEffect: Readonly<Partial<Record<Message['kind'], Partial<Record<ChangeState, ChangeState>>>>> = {
  stop: { queued: 'stopped', waiting: 'stopped', paused: 'stopped', running: 'stopped' },
  'stop-after-iteration': { queued: 'stopped', waiting: 'stopped', paused: 'stopped', running: 'stopped' },
  pause: { queued: 'paused', waiting: 'paused', running: 'paused' },
  resume: { paused: 'queued', stopped: 'queued' },
};

/** What people have asked of the owner of a change and is not done yet, oldest first. */
export const openRequests = async (sql: Sql, { project, id }: ChangeKey): Promise<Message['kind'][]> =>
  (
    await sql.query<{ kind: Message['kind'] }>(
      `select kind from spool.inbox where project = $1 and change = $2 and taken_at is null
         and kind not in ('context', 'clear-context') order by seq`,
      [project, id],
    )
  ).map(({ kind }) => kind);

export interface NewMessage extends ChangeKey {
  readonly kind: Message['kind'];
  readonly body?: string;
  readonly by: string;
}

/** Sends a message to the owner of a change. If it has none, the change itself is updated. */
export const sendMessage = (database: Database, { project, id, kind, body = '', by }: NewMessage): Promise<Sent> =>
  database.transaction(async (sql) => {
    const [row] = await sql.query<ChangeRow & { is_held: boolean }>(
      `select *, state = 'running' and lease_until >= now() as is_held from spool.change
       where project = $1 and id = $2 for update`,
      [project, id],
    );
    if (row === undefined) throw userError('not-queued', id);
    const isContext = kind === 'context' || kind === 'clear-context';
    if (row.is_held || isContext) {
      await sql.query('insert into spool.inbox (project, change, kind, body, sent_by) values ($1, $2, $3, $4, $5)', [
        project,
        id,
        kind,
        body,
        by,
      ]);
      await sql.query(`select pg_notify('spool_inbox', $1)`, [id]);
      return { kind: 'sent', row };
    }
    const state = idleEffect[kind]?.[row.state];
    if (state === undefined) return { kind: 'nothing', row };
    await sql.query(
      `update spool.change set state = $3, detail = $4, available_at = now(), updated_at = now()
       where project = $1 and id = $2`,
      [project, id, state, state === 'queued' ? null : `by ${by}`],
    );
    await sql.query(`select pg_notify('spool_queue', '')`);
    return { kind: 'done', row, state };
  });

import type { Sql } from './database.ts';
import { circumstances, type ListedChange } from './queue.ts';

/** A transaction that began before may be committed later. */
const overlap = `interval '15 seconds'`;

/**
 * The changes of a repository that may look different from how they did at a time of the database: those that were written
 * since, and those that workers have, because a worker may have gone silent. All of them if `since` is null.
 */
export const changesSince = (sql: Sql, project: string, since: Date | null): Promise<ListedChange[]> =>
  sql.query<ListedChange>(
    `select c.*, ${circumstances} from spool.change c left join spool.worker w on w.name = c.owner
     where c.project = $1 and ($2::timestamptz is null or c.state = 'running' or c.updated_at > $2::timestamptz - ${overlap})`,
    [project, since],
  );

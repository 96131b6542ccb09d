import type { IterationRecord } from '../ralph/record.ts';
import { parseJournalLine } from '../store/event-format.ts';
import type { ChangeKey } from './change-row.ts';
import type { Sql } from './database.ts';

/** The type of an event is at the beginning of its line. */
const head = 'left(line, 300)';

const isOfType = (type: string): string => `${head} like '%"event":{"type":"${type}",%'`;

/** The last iterations of a run that workers have finished, oldest first. One that was repeated counts once. */
export const lastRecords = async (sql: Sql, { project, id }: ChangeKey, of: RecordsOf): Promise<IterationRecord[]> => {
  const rows = await sql.query<{ line: string }>(
    `select line from spool.event where project = $1 and change = $2 and run = $3 and ${isOfType('iteration-finished')}
     order by id desc limit $4`,
    [project, id, of.run, of.limit],
  );
  const records = new Map<number, IterationRecord>();
  for (const { line } of rows) {
    const event = parseJournalLine(line)?.event;
    if (event?.type === 'iteration-finished' && !records.has(event.record.iteration))
      records.set(event.record.iteration, event.record);
  }
  return [...records.values()].toSorted((a, b) => a.iteration - b.iteration);
};

export interface RecordsOf {
  readonly run: string;
  /** null for all. */
  readonly limit: number | null;
}

/** The last lines of a run, the newest first. */
export const lastLines = async (sql: Sql, { project, id }: ChangeKey, of: RecordsOf): Promise<string[]> =>
  (
    await sql.query<{ line: string }>(
      'select line from spool.event where project = $1 and change = $2 and run = $3 order by id desc limit $4',
      [project, id, of.run, of.limit],
    )
  ).map(({ line }) => line);

/** The runs of a change of which the queue has events. */
export const runsIn = async (sql: Sql, { project, id }: ChangeKey): Promise<string[]> =>
  (
    await sql.query<{ run: string }>(
      'select distinct run from spool.event where project = $1 and change = $2 order by run',
      [project, id],
    )
  ).map(({ run }) => run);

/** The most lines that are read at once. */
export const maxLines = 500;

export interface Line {
  readonly id: number;
  readonly line: string;
}

export interface LineReaderOptions {
  readonly run: string;
  readonly fromIteration: number;
}

/**
 * Returns a function that reads the next lines of a run, after an id. What agents did before an iteration is left out,
 * which is most of them.
 */
export const createLineReader = (sql: Sql, key: ChangeKey, { run, fromIteration }: LineReaderOptions) => {
  let first: number | null = null;
  return async (after: number): Promise<Line[]> => {
    first ??= await firstIdOf(sql, key, { run, iteration: fromIteration });
    return sql.query<{ id: number; line: string }>(
      `select id, line from spool.event
       where project = $1 and change = $2 and run = $3 and id > $4 and (id >= $5 or not ${isOfType('agent')})
       order by id limit ${maxLines}`,
      [key.project, key.id, run, after, first ?? 0],
    );
  };
};

export interface LinesOf {
  readonly run: string;
  readonly iteration: number;
  /** The first lines after this id, which may be 0. */
  readonly after?: number;
  /** Instead, the last lines before this id; null for the end of the iteration. */
  readonly before?: number | null;
}

/** Lines of an iteration, in order, at most `maxLines`, and whether there are earlier ones. */
export const linesOfIteration = async (
  sql: Sql,
  key: ChangeKey,
  of: LinesOf,
): Promise<{ readonly lines: readonly Line[]; readonly hasEarlier: boolean }> => {
  const { run, iteration, after = 0, before } = of;
  const [first, end] = [
    await firstIdOf(sql, key, { run, iteration }),
    await firstIdOf(sql, key, { run, iteration: iteration + 1 }),
  ];
  if (first === null) return { lines: [], hasEarlier: false };
  const found = await sql.query<{ id: number; line: string }>(
    `select id, line from spool.event
     where project = $1 and change = $2 and run = $3 and id > $4 and id >= $5
       and ($6::bigint is null or id < $6) and ($7::bigint is null or id < $7)
     order by id ${before === undefined ? 'asc' : 'desc'} limit ${maxLines}`,
    [key.project, key.id, run, after, first, end, before ?? null],
  );
  const lines = found.toSorted((a, b) => a.id - b.id);
  return { lines, hasEarlier: lines.length > 0 && lines[0]!.id > first };
};

/** Where an iteration begins; null if it has not begun. */
const firstIdOf = async (
  sql: Sql,
  { project, id }: ChangeKey,
  { run, iteration }: { readonly run: string; readonly iteration: number },
): Promise<number | null> => {
  const [row] = await sql.query<{ id: number | null }>(
    `select min(id) as id from spool.event where project = $1 and change = $2 and run = $3 and ${head} like $4`,
    [project, id, run, `%"event":{"type":"iteration-started","iteration":${iteration},%`],
  );
  return row?.id ?? null;
};

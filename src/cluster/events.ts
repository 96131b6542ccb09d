import { setTimeout as delay } from 'node:timers/promises';
import { asUserError } from '../errors.ts';
import type { IterationRecord } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import { parseJournalLine } from '../store/event-format.ts';
import { createLineFolder } from '../store/fold-lines.ts';
import type { FollowedEvent } from '../store/follow.ts';
import { dayTime } from '../text/format.ts';
import type { ChangeKey, ChangeRow, ChangeState } from './change-row.ts';
import type { Database, Sql } from './database.ts';
import { type ListedChange, findQueued, isActive } from './queue.ts';

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

export interface FollowQueuedOptions {
  /** The run to follow; null for the one that comes next. */
  readonly run: string | null;
  readonly fromIteration: number;
  /** false: ends with the last event that there is now. */
  readonly wait: boolean;
  readonly signal: AbortSignal;
  /** Called whenever all that there is has been read. */
  readonly onIdle?: () => void;
  /** Called when the queue cannot be reached, once for each time. */
  readonly onTrouble: (problem: string) => void;
}

/** As often as workers copy events. They do not notify: Postgres wakes every listening worker for every notification. */
const pollMs = 500;
const maxLines = 500;

/**
 * Yields the events of a change that workers run, as `followRun` does for one on this machine. It continues with the
 * worker that takes over, and while nobody has the change. Ends when the change has ended in the queue: only that
 * decides, because agents can write to the journal of a worker.
 */
export async function* followQueued(
  database: Database,
  key: ChangeKey,
  { run: wanted, fromIteration, wait, signal, onIdle, onTrouble }: FollowQueuedOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const wake = createWake(signal);
  if (wait) database.listen({ spool_queue: wake.now });
  let run = wanted;
  let before: string | null = null;
  let fold = run === null ? null : createLineFolder({ run, fromIteration });
  let read = createLineReader(database, key, fromIteration);
  /** The queue had this run. Another one then means that its worker was lost before it could push anything of it. */
  let wasCurrent = false;
  let lastId = 0;
  let view: RunView | null = null;
  /** The end of an attempt, which is the end of the run only if the queue says so. */
  let end: FollowedEvent | null = null;
  let said = '';
  let isCutOff = false;
  while (!signal.aborted) {
    try {
      // Before the lines are read: those that it has at its end are then shown.
      const row = await findQueued(database, key);
      if (row === null) return;
      if (run === null) before ??= row.run ?? '';
      if (run === null && row.run !== null && (row.run !== before || row.state === 'running')) run = row.run;
      if (run !== null && fold === null) fold = createLineFolder({ run, fromIteration });
      let lines = run === null ? [] : await read(run, lastId);
      isCutOff = false;
      while (fold !== null && lines.length > 0) {
        for (const { id, line } of lines) {
          lastId = id;
          const folded = fold(line);
          if (folded.kind !== 'event') continue;
          if (folded.view.status !== 'running' && folded.event.type === 'run-ended') {
            end = folded;
            continue;
          }
          end = null;
          said = '';
          view = folded.view;
          yield { event: folded.event, view, line: folded.line };
        }
        if (lines.length < maxLines) break;
        lines = await read(run!, lastId);
      }
      wasCurrent ||= run !== null && row.run === run;
      if (wait && wasCurrent && isActive(row) && row.run !== null && row.run !== run && !hasEnded(end)) {
        run = row.run;
        fold = createLineFolder({ run, fromIteration: 1 });
        read = createLineReader(database, key, 1);
        [end, wasCurrent] = [null, false];
        continue;
      }
      onIdle?.();
      const isOver = !isActive(row) || (run !== null && row.run !== run);
      if (isOver || !wait) {
        if (end !== null && (row.run !== run || agrees(row.state, end.view.status))) yield end;
        else if (view !== null && isOver) yield { event: null, view: endOf(row, view) };
        return;
      }
      const notice = noticeOf(row);
      if (notice !== '' && notice !== said && view !== null) yield { event: { type: 'notice', text: notice }, view };
      said = notice;
    } catch (error) {
      if (!wait || asUserError(error) === null) throw error;
      if (!isCutOff) onTrouble((error as Error).message);
      isCutOff = true;
    }
    await wake.within(pollMs);
  }
}

/** Not if it was interrupted: another worker continues it, or begins again. */
const hasEnded = (end: FollowedEvent | null): boolean => end !== null && end.view.status !== 'interrupted';

interface Line {
  readonly id: number;
  readonly line: string;
}

/** Reads the lines of a run. What agents did before an iteration is left out, which is most of them. */
const createLineReader = (sql: Sql, { project, id }: ChangeKey, fromIteration: number) => {
  let first: number | null = null;
  return async (run: string, after: number): Promise<Line[]> => {
    first ??= await firstIdOf(sql, { project, id }, { run, iteration: fromIteration });
    return sql.query<{ id: number; line: string }>(
      `select id, line from spool.event
       where project = $1 and change = $2 and run = $3 and id > $4 and (id >= $5 or not ${isOfType('agent')})
       order by id limit ${maxLines}`,
      [project, id, run, after, first ?? 0],
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

/** The states in which a change ends, with the status of its run. */
const statusOf: Readonly<Partial<Record<ChangeState, RunView['status']>>> = {
  stopped: 'interrupted',
  complete: 'complete',
  failed: 'failed',
  limit: 'limit',
  blocked: 'blocked',
};

const agrees = (state: ChangeState, status: RunView['status']): boolean =>
  (statusOf[state] ?? 'interrupted') === status;

/** The end of a run about which there is no event. */
const endOf = (row: ChangeRow, view: RunView): RunView => ({
  ...view,
  status: statusOf[row.state] ?? 'interrupted',
  detail: row.detail ?? view.detail,
});

/** What happens while no worker has the change. */
const noticeOf = ({ state, detail, available_at: at, is_silent: isSilent, host }: ListedChange): string => {
  if (isSilent) return `No sign of its worker on ${host ?? 'its machine'}: another worker takes over.`;
  switch (state) {
    case 'waiting':
      return `Waiting until ${dayTime(at)}${detail === null ? '' : `: ${detail}`}. Any worker continues.`;
    case 'queued':
      return 'Queued: the next free worker continues.';
    case 'paused':
      return 'Paused.';
    default:
      return '';
  }
};

/** Wakes a loop that waits. */
const createWake = (signal: AbortSignal) => {
  let waking = new AbortController();
  return {
    now: () => waking.abort(),
    within: async (ms: number): Promise<void> => {
      await delay(ms, undefined, { signal: AbortSignal.any([signal, waking.signal]) }).catch(() => {});
      waking = new AbortController();
    },
  };
};

import type { Clone } from './clone.ts';
import type { Held } from './claims.ts';
import type { Sql } from './database.ts';
import { parseJson } from '../text/shape.ts';
import type { RunView } from '../ralph/view.ts';
import { openJournalTail, type JournalTail } from '../store/journal-tail.ts';
import { journalFile } from '../store/paths.ts';
import { readState } from '../store/state.ts';

/** Copies the view and the events of a run into the database, where every machine can read them. */
export interface RunMirror {
  /** Copies what is new. Returns false if another worker owns the change. Rejects if the database cannot be reached. */
  copy(): Promise<boolean>;
  close(): void;
}

/** Lines that are inserted at once. */
const maxLines = 200;

export const mirrorRun = (sql: Sql, held: Held, { project }: Pick<Clone, 'project'>): RunMirror => {
  let tail: { readonly run: string; readonly journal: JournalTail } | null = null;
  /** Lines that were read and are not in the database yet. */
  let open: string[] = [];
  let shown = '';

  const openTail = async (run: string): Promise<void> => {
    tail?.journal.close();
    tail = { run, journal: openJournalTail(journalFile(project, held.id, run)) };
    // The owner before may have published events that it had no time to insert.
    const known = await lastSeq(sql, held, run);
    open = linesOf(tail.journal).filter((line) => seqOf(line) > known);
  };

  const insert = async (run: string): Promise<void> => {
    while (open.length > 0) {
      const lines = open.slice(0, maxLines);
      await sql.query(
        `insert into spool.event (project, change, run, epoch, line)
         select $1, $2, $3, $4, line from unnest($5::text[]) with ordinality as l (line, n)
         where exists (select 1 from spool.change where project = $1 and id = $2 and epoch = $4) order by n`,
        [held.project, held.id, run, held.epoch, lines],
      );
      open = open.slice(lines.length);
    }
  };

  return {
    copy: async () => {
      const view = await readState(project, held.id);
      if (view === null) return true;
      const isFirst = tail?.run !== view.run;
      if (isFirst) await openTail(view.run);
      else open.push(...linesOf(tail!.journal));
      await insert(view.run);
      const text = JSON.stringify(view);
      if (text !== shown && !(await saveView(sql, held, view, text))) return false;
      shown = text;
      return true;
    },
    close: () => tail?.journal.close(),
  };
};

const linesOf = (journal: JournalTail): string[] => {
  const lines = [...journal.newLines()].flat();
  if (lines.length > 0) journal.accept();
  return lines;
};

const seqOf = (line: string): number => Number((parseJson(line) as { seq?: unknown } | undefined)?.seq ?? 0);

const lastSeq = async (sql: Sql, { project, id }: Held, run: string): Promise<number> => {
  const [row] = await sql.query<{ seq: number | null }>(
    `select max((substring(line from '"seq":([0-9]{1,15})'))::bigint) as seq from spool.event
     where project = $1 and change = $2 and run = $3`,
    [project, id, run],
  );
  return row?.seq ?? 0;
};

const saveView = async (sql: Sql, held: Held, view: RunView, text: string): Promise<boolean> => {
  const rows = await sql.query(
    `update spool.change set run = $4, iteration = $5, view = $6::jsonb, updated_at = now()
     where project = $1 and id = $2 and epoch = $3 and state = 'running' returning id`,
    [held.project, held.id, held.epoch, view.run, view.iteration, text],
  );
  return rows.length > 0;
};

import { followQueued, lastRecords, linesOfIteration } from '../../cluster/events.ts';
import { openDatabase } from '../../cluster/database.ts';
import { readPublished } from '../../cluster/fetch-run.ts';
import { requireTables } from '../../cluster/migrations.ts';
import { isAboutQueue, type ListedChange, listQueue } from '../../cluster/queue.ts';
import { listWorkers } from '../../cluster/workers.ts';
import { queuedRow, silentText } from '../../report/queued-rows.ts';
import { parseJournalLine } from '../../store/event-format.ts';
import { iterationFileName } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import type { RemoteRun, RemoteRuns } from '../../web/remote.ts';
import { repositoryAt } from './queue.ts';
import { keyOf, localRun, type ProjectQueue, queuedChange } from './queued.ts';
import { viewOf } from './queued-status.ts';

interface WebQueue {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
}

/** The runs that workers have, for `spool web`. The connection is shared by all its pages, and closed while nobody looks. */
export const remoteRunsIn = (url: string, { project, env }: WebQueue): RemoteRuns => {
  let opened: Promise<ProjectQueue> | null = null;
  const open = (): Promise<ProjectQueue> => {
    opened ??= connect(url, project).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  return {
    rows: async () => {
      const { database, key } = await open();
      const rows = await listQueue(database, [key]);
      const local = await Promise.all(rows.map(({ id }) => localRun(project, id)));
      const shown = rows.filter((row, index) => isAboutQueue(row, local[index]!));
      const silent = (await listWorkers(database)).filter((worker) => worker.silent && worker.projects.includes(key));
      return { rows: shown.map((row) => queuedRow(row, viewOf(row))), notes: silent.map(silentText) };
    },
    find: async (change) => {
      const queue = await open();
      const row = await queuedChange(queue, project, change);
      return row && runOf(row, { queue, url, env });
    },
    close: async () => {
      await (await opened?.catch(() => null))?.database.close();
    },
  };
};

const connect = async (url: string, project: Project): Promise<ProjectQueue> => {
  const { project: key, url: remote } = await repositoryAt(project.root, { rawFlags: {} });
  const database = await openDatabase(url);
  await requireTables(database);
  return { database, key, remote };
};

interface Connection {
  readonly queue: ProjectQueue;
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
}

const runOf = (row: ListedChange, { queue, url, env }: Connection): RemoteRun => {
  const view = viewOf(row);
  const key = keyOf(queue, row.id);
  const run = view?.run ?? '';
  return {
    row: queuedRow(row, view),
    view,
    records: () => lastRecords(queue.database, key, { run, limit: null }),
    entries: async (iteration, after) => {
      const lines = await linesOfIteration(queue.database, key, { run, iteration, after });
      const entries = lines.flatMap(({ line }) => {
        const parsed = parseJournalLine(line);
        return parsed === undefined ? [] : [{ seq: parsed.seq, at: parsed.at, event: parsed.event }];
      });
      return { entries, last: lines.at(-1)?.id ?? null };
    },
    file: async (iteration, what) => {
      const name = iterationFileName(iteration, what === 'log' ? 'log' : 'prompt.md');
      const found = await readPublished(row, `state/runs/${run}/${name}`, { url: queue.remote, env });
      return found === null || 'why' in found ? null : found;
    },
    follow: async function* ({ fromIteration, signal, onIdle }) {
      // It listens on a connection of its own, until that is closed.
      const database = await openDatabase(url);
      try {
        yield* followQueued(database, key, { run, fromIteration, wait: true, signal, onIdle, onTrouble: () => {} });
      } finally {
        await database.close();
      }
    },
  };
};

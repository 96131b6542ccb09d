import { lastRecords, linesOfIteration } from '../../cluster/events.ts';
import { followQueued } from '../../cluster/follow-queued.ts';
import { openDatabase } from '../../cluster/database.ts';
import { createPublishedReader, type PublishedReader } from '../../cluster/published.ts';
import { requireTables } from '../../cluster/migrations.ts';
import { isAboutQueue, type ListedChange, listQueue } from '../../cluster/queue.ts';
import { listWorkers } from '../../cluster/workers.ts';
import { workerRow, silentText } from '../../report/worker-rows.ts';
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

/** The runs that workers have, for `spool web`. All pages share the connection. */
export const remoteRunsIn = (url: string, { project, env }: WebQueue): RemoteRuns => {
  let opened: Promise<WebConnection> | null = null;
  const open = (): Promise<WebConnection> => {
    opened ??= connect(url, { project, env }).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  let failure: { readonly error: unknown; readonly atMs: number } | null = null;
  /** A server that does not answer is not asked again for a while: each answer of the page would wait for it. */
  const ask = async <Result>(work: (connection: WebConnection) => Promise<Result>): Promise<Result> => {
    if (failure !== null && performance.now() - failure.atMs < retryMs) throw failure.error;
    failure = null;
    try {
      return await work(await open());
    } catch (error) {
      failure = { error, atMs: performance.now() };
      throw error;
    }
  };
  return {
    rows: () =>
      ask(async ({ queue: { database, key } }) => {
        const rows = await listQueue(database, [key]);
        const local = await Promise.all(rows.map(({ id }) => localRun(project, id)));
        const shown = rows.filter((row, index) => isAboutQueue(row, local[index]!));
        const silent = (await listWorkers(database)).filter((worker) => worker.silent && worker.projects.includes(key));
        return { rows: shown.map((row) => workerRow(row, viewOf(row))), warnings: silent.map(silentText) };
      }),
    find: (change) =>
      ask(async (connection) => {
        const row = await queuedChange(connection.queue, project, change);
        return row && runOf(row, connection, url);
      }),
    close: async () => {
      await (await opened?.catch(() => null))?.queue.database.close();
    },
  };
};

const retryMs = 3000;

interface WebConnection {
  readonly queue: ProjectQueue;
  readonly published: PublishedReader;
}

const connect = async (url: string, { project, env }: WebQueue): Promise<WebConnection> => {
  const { project: key, url: remote } = await repositoryAt(project.root, { rawFlags: {} });
  const database = await openDatabase(url);
  await requireTables(database);
  const published = createPublishedReader({ url: remote, root: project.root, env });
  return { queue: { database, key, remote }, published };
};

const runOf = (row: ListedChange, { queue, published }: WebConnection, url: string): RemoteRun => {
  const view = viewOf(row);
  const key = keyOf(queue, row.id);
  const run = view?.run ?? '';
  return {
    row: workerRow(row, view),
    view,
    records: () => lastRecords(queue.database, key, { run, limit: null }),
    entries: async (iteration, window) => {
      const { lines, hasEarlier } = await linesOfIteration(queue.database, key, { run, iteration, ...window });
      const entries = lines.flatMap(({ line }) => {
        const parsed = parseJournalLine(line);
        return parsed === undefined ? [] : [{ seq: parsed.seq, at: parsed.at, event: parsed.event }];
      });
      return { entries, first: hasEarlier ? lines[0]!.id : null, last: lines.at(-1)?.id ?? null };
    },
    file: async (iteration, what) => {
      const name = iterationFileName(iteration, what === 'log' ? 'log' : 'prompt.md');
      const found = await published.file(row, `state/runs/${run}/${name}`);
      return found === null || 'why' in found ? null : found;
    },
    checkpoints: () => published.checkpoints(row),
    ledger: async () => (row.fence === null ? null : published.ledger(row)),
    follow: async function* ({ fromIteration, signal, onIdle }) {
      // It listens on a separate connection, until that is closed.
      const database = await openDatabase(url);
      try {
        yield* followQueued(database, key, { run, fromIteration, wait: true, signal, onIdle, onTrouble: () => {} });
      } finally {
        await database.close();
      }
    },
  };
};

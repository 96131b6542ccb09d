import { sleep } from '../../process/timers.ts';
import { type Database, openDatabase } from '../../cluster/database.ts';
import { requireTables } from '../../cluster/migrations.ts';
import { isAboutQueue, type ListedChange } from '../../cluster/queue.ts';
import { changesSince } from '../../cluster/recent-changes.ts';
import { listWorkers } from '../../cluster/workers.ts';
import type { ControlCommand } from '../../ralph/control.ts';
import type { RunRow } from '../../ralph/run-row.ts';
import { workerRow, silentText } from '../../report/worker-rows.ts';
import { byActivity } from '../../report/read-run-rows.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { secondsTime } from '../../text/format.ts';
import { repositoryAt } from '../with-queue/queue.ts';
import { sendContext } from '../with-queue/queued-context.ts';
import { viewOf } from '../with-queue/queued-status.ts';
import { steerQueued } from '../with-queue/steer-queued.ts';
import type { LiveRequest } from './live.ts';
import type { StartedRow } from './model.ts';
import { showRemote } from './remote-live.ts';

/** What workers do with the changes of a project. It is read in the background, so that nothing waits for the database. */
export interface RemoteWatch {
  /** The rows of this machine with those of the workers, as they were known last. */
  merge(local: readonly RunRow[]): RunRow[];
  /** Lines about the queue and its workers. */
  warnings(): readonly string[];
  /** Sends a request to the worker of a change. Returns what will happen; null if it is not in the queue any more. */
  steer(change: string, command: ControlCommand): Promise<string | null>;
  addContext(change: string, text: string): Promise<string | null>;
  /** Follows a run. Resolves when it has ended, or when it is stopped. */
  show(row: StartedRow, request: LiveRequest): Promise<void>;
  close(): void;
}

const pollMs = 1000;
/** After this many looks, everything is read again: changes may have been deleted. */
const fullEvery = 60;
const workersEvery = 5;

/** Returns null if no worker can have the repository: it has no remote. */
export const openRemote = async (
  url: string,
  { project, env }: Pick<ChangeRef, 'project' | 'env'>,
): Promise<RemoteWatch | null> => {
  const repository = await repositoryAt(project.root, { rawFlags: {} }).catch(() => null);
  if (repository === null) return null;
  const database = await openDatabase(url);
  const closing = new AbortController();
  const known = createKnownRows(env);
  let silent: readonly string[] = [];
  let problem: string | null = null;
  let readAt: Date | null = null;

  const look = async (count: number): Promise<void> => {
    if (readAt === null) await requireTables(database);
    const isFull = readAt === null || count % fullEvery === 0;
    const changed = await changesSince(database, repository.project, isFull ? null : readAt);
    if (isFull) known.clear();
    changed.forEach(known.add);
    readAt = changed[0]?.now ?? readAt ?? new Date(0);
    if (count % workersEvery === 0) silent = await silentWorkers(database, repository.project);
  };
  void (async () => {
    let lastMs: number | null = null;
    for (let count = 0; !closing.signal.aborted; count++) {
      try {
        await look(count);
        [problem, lastMs] = [null, Date.now()];
      } catch (error) {
        problem = problemText(error, lastMs);
      }
      await sleep(pollMs, closing.signal, { ref: false });
    }
  })();

  return {
    merge: (local) => known.merge(local),
    warnings: () => (problem === null ? silent : [problem]),
    steer: async (change, command) => {
      const outcome = await steerQueued(url, { project, env, command, query: change, resolve: async () => change });
      return outcome && `${outcome.effect.slice(0, 1).toUpperCase()}${outcome.effect.slice(1)}`;
    },
    addContext: (change, text) => sendContext(url, { project, change, env }, text),
    show: (row, request) => showRemote(url, { row, key: repository.project, request }),
    close: () => {
      closing.abort();
      void database.close().catch(() => {});
    },
  };
};

/** The changes in the queue, each rendered once until it is written again. */
const createKnownRows = (env: NodeJS.ProcessEnv) => {
  const redactor = createRedactor(env);
  const rows = new Map<string, { readonly listed: ListedChange; readonly row: RunRow }>();
  return {
    clear: () => rows.clear(),
    add: (listed: ListedChange): void => {
      rows.set(listed.id, { listed, row: redactor.data(workerRow(listed, viewOf(listed))) });
    },
    merge: (local: readonly RunRow[]): RunRow[] => {
      const here = new Map(local.map((row) => [row.change, row]));
      const shown = [...rows.values()].filter(({ listed }) => isAboutQueue(listed, localOf(here.get(listed.id))));
      const remote = new Set(shown.map(({ row }) => row.change));
      return [...local.filter(({ change }) => !remote.has(change)), ...shown.map(({ row }) => row)].toSorted(
        byActivity,
      );
    },
  };
};

const localOf = (row: RunRow | undefined) => ({
  isRunning: row?.status === 'running' || row?.status === 'queued',
  run: row?.run ?? null,
});

const silentWorkers = async (database: Database, project: string): Promise<string[]> =>
  (await listWorkers(database))
    .filter((worker) => worker.silent && worker.projects.includes(project))
    .map((worker) => silentText(worker));

/** In one line: how old the rows are, and what is wrong. */
const problemText = (error: unknown, lastMs: number | null): string => {
  const shown =
    lastMs === null ? 'Only this machine is shown' : `Workers are shown as of ${secondsTime(new Date(lastMs))}`;
  return `${shown}. ${(error as Error).message}`;
};

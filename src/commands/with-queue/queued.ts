import { resolveAnyChange } from '../../changes/sources.ts';
import { matchId } from '../../changes/ids.ts';
import type { ChangeKey } from '../../cluster/change-row.ts';
import { type Database, openDatabase } from '../../cluster/database.ts';
import { requireTables } from '../../cluster/migrations.ts';
import { findQueued, isAboutQueue, type ListedChange, type LocalRun, queuedIds } from '../../cluster/queue.ts';
import { asUserError } from '../../errors.ts';
import { say } from '../../report/message.ts';
import type { Project } from '../../store/project.ts';
import { loopOwner, queuedBy, readState } from '../../store/state.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt } from './queue.ts';

/** The queue, as the commands about the changes of a project use it. */
export interface ProjectQueue {
  readonly database: Database;
  /** The key of the repository. */
  readonly key: string;
  /** The address of the git remote. */
  readonly remote: string;
}

/** Calls `work` with the queue, and closes it. Returns null if no worker can have the repository: it has no remote. */
export const withProjectQueue = async <Result>(
  url: string,
  project: Project,
  work: (queue: ProjectQueue) => Promise<Result>,
): Promise<Result | null> => {
  const repository = await repositoryAt(project.root, { rawFlags: {} }).catch(nullWithoutRemote);
  if (repository === null) return null;
  const { project: key, url: remote } = repository;
  const database = await openDatabase(url);
  try {
    await requireTables(database);
    return await work({ database, key, remote });
  } finally {
    await database.close();
  }
};

const nullWithoutRemote = (error: unknown): null => {
  if (asUserError(error)?.code === 'no-remote') return null;
  throw error;
};

/**
 * The same for a command that is also useful without the queue. If it cannot be used, says why in one line and returns
 * null.
 */
export const tryProjectQueue = async <Result>(
  url: string,
  { project, terminal, instead = 'Only this machine is shown.' }: QueueUse,
  work: (queue: ProjectQueue) => Promise<Result>,
): Promise<Result | null> => {
  try {
    return await withProjectQueue(url, project, work);
  } catch (error) {
    const known = asUserError(error);
    if (known === null || !queueProblems.has(known.code)) throw error;
    say(terminal, `${known.message} ${instead}`);
    return null;
  }
};

const queueProblems: ReadonlySet<string> = new Set([
  'queue-unreachable',
  'queue-denied',
  'no-queue-tables',
  'old-queue-tables',
  'bad-queue',
]);

interface QueueUse extends Pick<Invocation, 'terminal'> {
  readonly project: Project;
  /** What is done without the queue. */
  readonly instead?: string;
}

/**
 * Calls `work` with the change that a query means, as the queue has it. Returns null if this checkout knows more about
 * it, or if the queue cannot be used.
 */
export const tryQueuedChange = async <Result>(
  url: string,
  { query, ...use }: QueueUse & { readonly query: string },
  work: (queue: ProjectQueue, row: ListedChange) => Promise<Result>,
): Promise<Result | null> => {
  const { project } = use;
  const here = await resolveAnyChange(project, query).catch(() => null);
  if (here !== null && (await localRun(project, here)).isRunning) return null;
  return tryProjectQueue(url, use, async (queue) => {
    const change = here ?? (await resolveWithQueue(queue, query, () => resolveAnyChange(project, query)));
    const row = await queuedChange(queue, project, change);
    return row === null ? null : work(queue, row);
  });
};

/** The change in the queue, if a command about it is about the queue and not about this checkout; otherwise null. */
export const queuedChange = async (
  { database, key }: ProjectQueue,
  project: Project,
  change: string,
): Promise<ListedChange | null> => {
  const row = await findQueued(database, { project: key, id: change });
  return row !== null && isAboutQueue(row, await localRun(project, change)) ? row : null;
};

/** What this checkout knows about a change. */
export const localRun = async (project: Project, change: string): Promise<LocalRun> => ({
  isRunning: loopOwner(project, change) !== null || queuedBy(project, change) !== null,
  run: (await readState(project, change).catch(() => null))?.run ?? null,
});

/** The change that a query means: one of this checkout, or one that only the queue has. */
export const resolveWithQueue = async (
  { database, key }: ProjectQueue,
  query: string,
  resolve: () => Promise<string>,
): Promise<string> => {
  try {
    return await resolve();
  } catch (error) {
    const match = matchId(query, await queuedIds(database, key));
    if (match.kind !== 'one') throw error;
    return match.id;
  }
};

export const keyOf = ({ key }: ProjectQueue, change: string): ChangeKey => ({ project: key, id: change });

import { userError } from '../../errors.ts';
import type { Database } from '../../cluster/database.ts';
import { projectKey } from '../../cluster/project-key.ts';
import { configuredUrl } from '../../git/remote.ts';
import { findProjectIfAny, ownerOf } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from './queue-url.ts';

/** Calls `work` with the queue, and closes it. Throws without one, or if its tables do not fit. */
export const withQueue = async <Result>(
  invocation: Pick<Invocation, 'rawFlags' | 'env' | 'cwd' | 'terminal'>,
  command: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const url = await requireQueue(invocation, command);
  const [{ openDatabase }, { requireTables }] = await Promise.all([
    import('../../cluster/database.ts'),
    import('../../cluster/migrations.ts'),
  ]);
  const database = await openDatabase(url);
  try {
    await requireTables(database);
    return await work(database);
  } finally {
    await database.close();
  }
};

/** The address of the queue. Throws without one. */
export const requireQueue = async (
  invocation: Pick<Invocation, 'rawFlags' | 'env' | 'cwd' | 'terminal'>,
  command: string,
): Promise<string> => {
  const found = findProjectIfAny(invocation.cwd);
  const url = await queueOf(invocation, found && ownerOf(found));
  if (url === null) throw userError('no-queue', command);
  return url;
};

export interface RemoteRepository {
  /** Its key in the queue. */
  readonly project: string;
  readonly url: string;
}

/** The repository of a folder, as workers know it. */
export const repositoryAt = async (
  cwd: string,
  { rawFlags }: Pick<Invocation, 'rawFlags'>,
): Promise<RemoteRepository> => {
  const name = typeof rawFlags.remote === 'string' ? rawFlags.remote : 'origin';
  const url = await configuredUrl(cwd, name);
  if (url === null) throw userError('no-remote', name);
  return { project: projectKey(url, cwd), url };
};

/** Who asks, as others see it. */
export const senderOf = (env: NodeJS.ProcessEnv, host: string): string =>
  `${env.USER ?? env.LOGNAME ?? 'someone'}@${host}`;

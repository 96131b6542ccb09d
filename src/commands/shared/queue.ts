import { userError } from '../../errors.ts';
import type { Database } from '../../cluster/database.ts';
import { projectKey } from '../../cluster/project-key.ts';
import { git, toUtf8 } from '../../git/call/git.ts';
import type { Invocation } from './command.ts';

/** The address of the queue; null without one. */
export const queueUrl = ({ rawFlags, env }: Pick<Invocation, 'rawFlags' | 'env'>): string | null => {
  const given = typeof rawFlags.queue === 'string' ? rawFlags.queue : env.SPOOL_QUEUE;
  return given === undefined || given.trim() === '' ? null : given.trim();
};

/** Calls `work` with the queue, and closes it. Throws without one, or if its tables do not fit. */
export const withQueue = async <Result>(
  invocation: Pick<Invocation, 'rawFlags' | 'env'>,
  command: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const url = queueUrl(invocation);
  if (url === null) throw userError('no-queue', command);
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
  const { code, stdout } = await git(['config', '--get', `remote.${name}.url`], { cwd });
  const url = toUtf8(stdout).trim();
  if (code !== 0 || url === '') throw userError('no-remote', name);
  return { project: projectKey(url, cwd), url };
};

/** Who asks, as others see it. */
export const senderOf = (env: NodeJS.ProcessEnv, host: string): string =>
  `${env.USER ?? env.LOGNAME ?? 'someone'}@${host}`;

import { setTimeout as delay } from 'node:timers/promises';
import { checkRemote } from '../../cluster/check-remote.ts';
import { type Database, openDatabase } from '../../cluster/database.ts';
import { databaseVersion, schemaVersion } from '../../cluster/migrations.ts';
import { listQueue } from '../../cluster/queue.ts';
import { listWorkers } from '../../cluster/workers.ts';
import { asUserError } from '../../errors.ts';
import type { Project } from '../../store/project.ts';
import { duration, pluralise } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt, type RemoteRepository } from '../with-queue/queue.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** Checks everything that workers need besides an agent: the database, and the git remote of the project. */
export const checkQueue = async (url: string, project: Project | null, invocation: Invocation): Promise<Check[]> => {
  const repository = project === null ? null : await repositoryAt(project.root, invocation).catch(asProblem);
  return [
    ...(await checkDatabase(url, repository !== null && 'project' in repository ? repository.project : null)),
    ...(repository === null ? [] : [await checkRepository(repository)]),
  ];
};

const asProblem = (error: unknown): { readonly why: string } => {
  const known = asUserError(error);
  if (known === null) throw error;
  return { why: known.message };
};

const checkDatabase = async (url: string, project: string | null): Promise<Check[]> => {
  try {
    const database = await openDatabase(url);
    try {
      const checks = [...(await checkServer(database)), await checkClock(database), await checkNotifications(database)];
      const version = await databaseVersion(database);
      return [...checks, checkTables(version), ...(version === null ? [] : await checkWorkers(database, project))];
    } finally {
      await database.close();
    }
  } catch (error) {
    return [fail('queue', asProblem(error).why, 'check the address in SPOOL_QUEUE, and that the server is running')];
  }
};

/** `for update skip locked` and identity columns. */
const oldestServer = 120_000;

const checkServer = async (database: Database): Promise<Check[]> => {
  const [row] = await database.query<{
    version: string;
    number: number;
    is_super: boolean;
    is_local: boolean;
    tls: boolean;
  }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
       (select rolsuper from pg_roles where rolname = current_user) as is_super,
       coalesce(inet_client_addr() << '127.0.0.0/8' or inet_client_addr() = '::1', true) as is_local,
       coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as tls`,
  );
  const { version, number, is_super: isSuper, is_local: isLocal, tls } = row!;
  if (number < oldestServer) return [fail('queue', `PostgreSQL ${version} is too old`, 'use PostgreSQL 12 or later')];
  return [
    ok('queue', `${database.name}, PostgreSQL ${version}${tls ? ', with TLS' : ''}`),
    ...(tls || isLocal
      ? []
      : [warn('queue', 'the connection is not encrypted', 'add ?sslmode=verify-full to the address')]),
    ...(isSuper
      ? [warn('queue', 'connected as a superuser', 'use the roles spool_worker and spool_user (docs/cluster.md)')]
      : []),
  ];
};

/** Waits for a usage limit end by the clock of the worker that saw it. */
const toleratedSkewMs = 5000;

const checkClock = async (database: Database): Promise<Check> => {
  const sentMs = Date.now();
  const [row] = await database.query<{ now: Date }>('select clock_timestamp() as now');
  const receivedMs = Date.now();
  const skewMs = (sentMs + receivedMs) / 2 - row!.now.getTime();
  const uncertainMs = (receivedMs - sentMs) / 2;
  if (Math.abs(skewMs) - uncertainMs <= toleratedSkewMs) return ok('clock', 'agrees with that of the database');
  const way = skewMs > 0 ? 'ahead of' : 'behind';
  return warn(
    'clock',
    `${duration(Math.abs(skewMs))} ${way} that of the database`,
    'synchronize both clocks, for example with NTP',
  );
};

const notificationMs = 5000;

/** A pooler that gives each transaction another connection loses what was listened for. */
const checkNotifications = async (database: Database): Promise<Check> => {
  const channel = `spool_doctor_${crypto.randomUUID().slice(0, 8)}`;
  let isHeard = false;
  database.listen({ [channel]: () => (isHeard = true) });
  const endMs = performance.now() + notificationMs;
  while (!isHeard && performance.now() < endMs) {
    // In a transaction, which has another connection: a pooler may give a connection what it has sent itself.
    await database.transaction((sql) => sql.query('select pg_notify($1, $2)', [channel, '']));
    await delay(50);
  }
  return isHeard
    ? ok('notify', 'notifications arrive')
    : warn(
        'notify',
        'notifications do not arrive, so messages take up to 5s',
        'connect directly, or through a pooler in session mode',
      );
};

const checkTables = (version: number | null): Check => {
  if (version === null) return fail('tables', 'there are none yet', 'spool queue migrate');
  if (version < schemaVersion)
    return fail(
      'tables',
      `version ${version}, but this version of Spool needs ${schemaVersion}`,
      'spool queue migrate',
    );
  return ok('tables', version > schemaVersion ? `version ${version}, newer than this Spool` : `version ${version}`);
};

/** A change waits for a worker that has all of its labels. */
const checkWorkers = async (database: Database, project: string | null): Promise<Check[]> => {
  const all = await listWorkers(database);
  const workers = all.filter(({ silent, projects }) => !silent && (project === null || projects.includes(project)));
  const queued = (await listQueue(database, project === null ? null : [project])).filter(
    ({ state }) => state === 'queued' || state === 'waiting',
  );
  const lacking = queued.filter(
    ({ labels }) => !workers.some((worker) => labels.every((label) => worker.labels.includes(label))),
  );
  if (workers.length === 0) return [warn('workers', 'none is running for this repository', 'spool worker')];
  if (lacking.length === 0) return [ok('workers', `${pluralise(workers.length, 'worker')} running`)];
  const labels = [...new Set(lacking.flatMap((change) => change.labels))];
  return [
    warn(
      'workers',
      `${pluralise(lacking.length, 'queued change')} require ${labels.join(' ')}, which no worker has`,
      commandLine('spool', 'worker', ...labels.flatMap((label) => ['--label', label])),
    ),
  ];
};

const checkRepository = async (repository: RemoteRepository | { readonly why: string }): Promise<Check> => {
  if ('why' in repository) return fail('remote', repository.why, 'git remote add origin <url>');
  const problem = await checkRemote(repository.url);
  return problem === null
    ? ok('remote', `${repository.project} accepts refs/spool, --atomic and --force-with-lease`)
    : fail('remote', `${repository.project}: ${problem}`, 'allow pushes to refs/spool/*, or use another remote');
};

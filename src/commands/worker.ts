import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { labelsOf } from '../cluster/labels.ts';
import { projectKey } from '../cluster/project-key.ts';
import type { WorkerOptions } from '../cluster/worker/options.ts';
import { runWorker } from '../cluster/worker/worker.ts';
import { parseFlags } from '../config/resolve.ts';
import { parseValue } from '../config/values.ts';
import { userError } from '../errors.ts';
import { dataFolder, userFolder } from '../files/home.ts';
import { onStopSignals } from '../process/signals.ts';
import { isWithin, realPath } from '../process/which.ts';
import { maxTimerMs } from '../process/timers.ts';
import { redactedTerminal } from '../report/redacted.ts';
import { secondsTime } from '../text/format.ts';
import { findProject } from '../store/project.ts';
import type { Invocation } from './registry/command.ts';
import { repositoryAt, type RemoteRepository, withQueue } from './with-queue/queue.ts';

/** Runs changes from the queue until a signal. The first one drains the worker, the second one stops its agents. */
export const run = async (invocation: Invocation): Promise<number> => {
  const env = workerEnv(invocation);
  const terminal = redactedTerminal(invocation.terminal, env);
  const request = await readRequest(invocation, env);
  const log = (line: string) => terminal.log(`${secondsTime(new Date())} ${line}\n`);
  return withQueue(invocation, 'spool worker', async (database) => {
    const signals = onDrainSignals(log);
    log(readyLine(request));
    try {
      await runWorker({ ...request, database, log, drain: signals.drain, stop: signals.stop });
      return 0;
    } finally {
      signals.dispose();
    }
  });
};

const workerEnv = ({ env, rawFlags }: Invocation): NodeJS.ProcessEnv => ({
  ...env,
  ...(typeof rawFlags.queue === 'string' && { SPOOL_QUEUE: rawFlags.queue }),
});

type WorkerRequest = Omit<WorkerOptions, 'database' | 'log' | 'drain' | 'stop'>;

const readRequest = async (invocation: Invocation, env: NodeJS.ProcessEnv): Promise<WorkerRequest> => {
  const { rawFlags } = invocation;
  const name = nameOf(rawFlags.name);
  return {
    name,
    host: hostname(),
    slots: countOf(rawFlags.slots),
    leaseMs: leaseOf(rawFlags.lease),
    publishUnfinishedMs: checkpointOf(rawFlags.checkpoint),
    labels: labelsOf(rawFlags.label),
    settings: parseFlags(pick(rawFlags, agentFlags)),
    metrics: metricsOf(rawFlags.metrics),
    repositories: await repositoriesOf(invocation),
    folder: folderOf(invocation, env, name),
    env,
    withheld,
    secrets: secretFiles(env),
  };
};

/** Flags about what the agents of this worker may do. */
const agentFlags = ['allowAll', 'allow', 'deny', 'sandbox', 'sandboxAllow', 'sandboxWrite', 'stopGrace'];

const folderOf = ({ rawFlags, cwd }: Invocation, env: NodeJS.ProcessEnv, name: string): string => {
  const folder =
    typeof rawFlags.folder === 'string' ? resolve(cwd, rawFlags.folder) : join(dataFolder(env), 'worker', name);
  if (isWithin(realPath(folder), realPath(userFolder(env))))
    throw userError(
      'bad-value',
      '--folder',
      "must not be inside Spool's own state folder, where agents cannot work",
      folder,
    );
  return folder;
};

const onDrainSignals = (log: (line: string) => void) => {
  const [drain, stop] = [new AbortController(), new AbortController()];
  const signals = onStopSignals(() => {
    log(
      'Draining: running iterations finish, then their changes go back to the queue. Press Ctrl-C again to stop them now.',
    );
    drain.abort();
  });
  signals.kill.addEventListener('abort', () => stop.abort());
  return { drain: drain.signal, stop: stop.signal, dispose: signals.dispose };
};

const readyLine = ({ name, slots, repositories }: WorkerRequest): string => {
  const projects = repositories.map(({ project }) => project).join(', ');
  return `${name} is ready: ${slots} ${slots === 1 ? 'slot' : 'slots'}, ${projects}`;
};

/** Variables with which a program reaches the database. `SPOOL_QUEUE` is withheld in any case. */
const withheld = [
  'PGPASSWORD',
  'PGPASSFILE',
  'PGUSER',
  'PGHOST',
  'PGSERVICE',
  'PGSERVICEFILE',
  'PGSSLKEY',
  'PGSSLCERT',
];

/** Files that the address of the queue or a variable names, and that prove who the worker is. */
const secretFiles = ({ SPOOL_QUEUE: url = '', PGPASSFILE, PGSSLKEY, PGSERVICEFILE }: NodeJS.ProcessEnv): string[] =>
  [URL.canParse(url) ? new URL(url).searchParams.get('sslkey') : null, PGPASSFILE, PGSSLKEY, PGSERVICEFILE]
    .filter((path) => typeof path === 'string' && path !== '')
    .map((path) => resolve(path!));

const repositoriesOf = async (invocation: Invocation): Promise<RemoteRepository[]> => {
  const { rawFlags, cwd } = invocation;
  const urls = rawFlags.repo === undefined ? [] : ([rawFlags.repo].flat() as string[]);
  if (urls.length > 0) return urls.map((url) => ({ url, project: projectKey(url, cwd) }));
  return [await repositoryAt(findProject(cwd).root, invocation)];
};

const pick = (flags: Invocation['rawFlags'], names: readonly string[]) =>
  Object.fromEntries(Object.entries(flags).filter(([name]) => names.includes(name)));

const nameOf = (value: unknown): string => {
  const name = typeof value === 'string' ? value : hostname();
  if (!/^[\w.-]{1,100}$/.test(name))
    throw userError('bad-value', '--name', 'must have letters, digits, ".", "-" and "_" only', name);
  return name;
};

const maxSlots = 64;

const countOf = (value: unknown): number => {
  const slots = Number(value ?? 1);
  if (!Number.isSafeInteger(slots) || slots < 1 || slots > maxSlots)
    throw userError('bad-value', '--slots', `must be a whole number from 1 to ${maxSlots}`, String(value));
  return slots;
};

const checkpointOf = (value: unknown): number => {
  const time = parseValue('duration', String(value ?? '3m'));
  if (typeof time !== 'number' || !(time > 0) || time > maxTimerMs)
    throw userError('bad-value', '--checkpoint', 'must be a time, such as 3m', String(value));
  return time;
};

/** `9464`, `0.0.0.0:9464` or `[::]:9464`. */
const metricsOf = (value: unknown) => {
  if (value === undefined) return null;
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(String(value)) ?? [];
  if (port === '' || Number(port) > 65_535)
    throw userError('bad-value', '--metrics', 'must be a port or host:port', String(value));
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
};

const minLeaseMs = 2000;

const leaseOf = (value: unknown): number => {
  const lease = parseValue('duration', String(value ?? '30s'));
  if (typeof lease !== 'number' || lease < minLeaseMs)
    throw userError('bad-value', '--lease', 'must be a time of at least 2s, such as 30s', String(value));
  return lease;
};

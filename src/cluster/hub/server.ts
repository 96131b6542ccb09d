import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { currentEnvironment } from '../../files/environment.ts';
import { createFolder } from '../../files/folders.ts';
import { readSafely, removeSafely, renameSafely, writeSafely } from '../../files/safe.ts';
import { type Service, startService } from '../../process/service.ts';
import type { PostgresPrograms } from './binaries.ts';
import { asServer, giveToServer, takeFromServer } from './server-user.ts';

export interface ServerOptions {
  readonly programs: PostgresPrograms;
  /** Created if it does not exist. */
  readonly folder: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Does not wait for the disk: the data survives a killed server, but no power failure. */
  readonly unsafe?: boolean;
  readonly onOutput?: (text: string) => void;
  /** Of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresServer extends Pick<Service, 'kill' | 'exited'> {
  readonly port: number;
  /** The problem that it has printed last. */
  lastLines(): string;
  /** The address of a database, with the password of its owner. */
  url(database: string): string;
  /** Undoes open transactions and exits. */
  stop(): Promise<void>;
}

const user = 'spool';
/** How long it may take to start, and to stop. */
const readyMs = 60_000;
const stopMs = 10_000;

/** Creates the data if there is none, and starts the server. Resolves when it accepts connections. */
export const startServer = async (options: ServerOptions): Promise<PostgresServer> => {
  const { programs, folder, host, unsafe = false, onOutput } = options;
  const data = join(folder, 'data');
  createFolder(folder);
  giveToServer(folder, { folder, program: programs.postgres });
  const password = existsSync(join(data, 'PG_VERSION')) ? savedPassword(folder) : await createData(options, data);
  const port = options.port === 0 ? await freePort(host) : options.port;
  const settings = {
    port,
    listen_addresses: host,
    unix_socket_directories: process.platform === 'win32' ? '' : folder,
    ...(unsafe && { fsync: 'off', full_page_writes: 'off' }),
  };
  const args = Object.entries({ ...settings, ...options.settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const service = startService({
    ...ofServer(folder),
    ...asServer({ program: programs.postgres, args: ['-D', data, ...args] }, folder),
    onOutput,
  });
  await waitUntilReady(service);
  return {
    port,
    lastLines: () => problemIn(service.output()),
    kill: service.kill,
    exited: service.exited,
    url: (database) => ownerUrl({ password, host, port }, database),
    stop: async () => {
      service.kill('SIGINT');
      await Promise.race([service.exited, delay(stopMs, undefined, { ref: false })]);
      service.kill('SIGQUIT');
      await service.exited;
    },
  };
};

interface Owner {
  readonly password: string;
  readonly host: string;
  readonly port: number;
}

const ownerUrl = ({ password, host, port }: Owner, database: string): string =>
  `postgres://${user}:${password}@${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;

/** The address of a server that was started before; null if its password is unknown. */
export const savedUrl = (folder: string, port: number, database: string): string | null => {
  const password = savedPassword(folder);
  return password === '' ? null : ownerUrl({ password, host: '127.0.0.1', port }, database);
};

const waitUntilReady = async ({ output, exited }: Service): Promise<void> => {
  const endMs = performance.now() + readyMs;
  while (!output().includes('database system is ready to accept connections')) {
    const ended = await Promise.race([exited.then((code) => ({ code })), delay(20, null)]);
    if (ended !== null || performance.now() > endMs)
      throw userError('hub-failed', problemIn(output()) || 'it did not start in time');
  }
};

/** The first problem of a server that could not start; the lines after it are its consequences. */
const problemIn = (text: string): string => {
  const lines = text.trim().split('\n');
  const line = lines.find((each) => /could not bind|FATAL|PANIC/.test(each)) ?? lines.at(-1) ?? '';
  return line.replace(/^.*?(?:LOG|FATAL|PANIC): */, '');
};

const passwordFile = (folder: string) => join(folder, 'password');

const savedPassword = (folder: string): string => readSafely(passwordFile(folder))?.toString('utf8').trim() ?? '';

/** Returns the password of the new server. Repeats a creation that was interrupted. */
const createData = async ({ programs, folder, unsafe }: ServerOptions, data: string): Promise<string> => {
  const draft = join(folder, 'data.new');
  removeSafely(draft);
  const password = crypto.randomUUID().replaceAll('-', '');
  removeSafely(passwordFile(folder));
  writeSafely(passwordFile(folder), `${password}\n`, 'create');
  giveToServer(passwordFile(folder), { folder, program: programs.initdb });
  const args = [
    `--pgdata=${draft}`,
    `--username=${user}`,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile(folder)}`,
    '--encoding=UTF8',
    '--locale=C',
    ...(unsafe ? ['--no-sync'] : []),
  ];
  const service = startService({ ...ofServer(folder), ...asServer({ program: programs.initdb, args }, folder) });
  const code = await service.exited;
  takeFromServer(passwordFile(folder));
  if (code !== 0) throw userError('hub-failed', problemIn(service.output()) || `initdb exited with code ${code}`);
  renameSafely(draft, data);
  return password;
};

/** Without the settings of a Postgres client, which would apply to the server as well. */
const ofServer = (folder: string) => {
  const env = Object.fromEntries(Object.entries(currentEnvironment()).filter(([name]) => !name.startsWith('PG')));
  return { cwd: folder, env: { ...env, LC_ALL: 'C', HOME: folder } };
};

const freePort = async (host: string): Promise<number> => {
  const server = createServer();
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
};

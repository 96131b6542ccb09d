import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import type { PostgresPrograms } from './binaries.ts';

export interface ServerOptions {
  readonly programs: PostgresPrograms;
  /** Created if it does not exist. */
  readonly folder: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Do not wait for the disk. Only for data that may be lost. */
  readonly unsafe?: boolean;
  readonly onOutput?: (text: string) => void;
}

export interface PostgresServer {
  readonly port: number;
  readonly password: string;
  /** Without a password it can be printed. */
  url(database: string, options?: { readonly withPassword: boolean }): string;
  readonly process: ChildProcess;
  /** Resolves when the process has exited. */
  readonly exited: Promise<number | null>;
  /** Lets connections finish for a moment. */
  stop(): Promise<void>;
}

const user = 'spool';

/** Creates the data if there is none, and starts the server. Resolves when it accepts connections. */
export const startServer = async (options: ServerOptions): Promise<PostgresServer> => {
  const { programs, folder, host, unsafe = false, onOutput } = options;
  const data = join(folder, 'data');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  own(folder);
  const password = existsSync(join(data, 'PG_VERSION')) ? savedPassword(folder) : await createData(options, data);
  const port = options.port === 0 ? await freePort(host) : options.port;
  const settings = {
    port,
    listen_addresses: host,
    unix_socket_directories: process.platform === 'win32' ? '' : folder,
    ...(unsafe && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const child = spawn(
    programs.postgres,
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...identity(), cwd: folder, env: serverEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString('utf8')}`.slice(-4000);
      onOutput?.(chunk.toString('utf8'));
    });
  const exited = once(child, 'exit').then(([code]) => code as number | null, () => null);
  await waitUntilReady(exited, () => output);
  return {
    port,
    password,
    process: child,
    exited,
    url: (database, { withPassword } = { withPassword: true }) =>
      `postgres://${user}${withPassword ? `:${password}` : ''}@${host}:${port}/${database}`,
    stop: async () => {
      // A fast shutdown: connections are closed, transactions are undone.
      child.kill('SIGINT');
      await Promise.race([exited, delay(10_000, undefined, { ref: false })]);
      child.kill('SIGQUIT');
      await exited;
    },
  };
};

const readyMs = 60_000;

const waitUntilReady = async (exited: Promise<number | null>, output: () => string): Promise<void> => {
  const endMs = performance.now() + readyMs;
  while (!output().includes('database system is ready to accept connections')) {
    const ended = await Promise.race([exited.then((code) => ({ code })), delay(20, null)]);
    if (ended !== null || performance.now() > endMs)
      throw userError('hub-failed', lastLine(output()) || 'it did not start in time');
  }
};

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

const passwordFile = (folder: string) => join(folder, 'password');

const savedPassword = (folder: string): string => readFileSync(passwordFile(folder), 'utf8').trim();

/** Returns the password of the new server. An interrupted creation is repeated. */
const createData = async ({ programs, folder, unsafe }: ServerOptions, data: string): Promise<string> => {
  const draft = join(folder, 'data.new');
  rmSync(draft, { recursive: true, force: true });
  const password = crypto.randomUUID().replaceAll('-', '');
  writeFileSync(passwordFile(folder), `${password}\n`, { mode: 0o600 });
  own(passwordFile(folder));
  const child = spawn(
    programs.initdb,
    [
      '--pgdata',
      draft,
      `--username=${user}`,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile(folder)}`,
      '--encoding=UTF8',
      '--locale=C',
      ...(unsafe ? ['--no-sync'] : []),
    ],
    { ...identity(), cwd: folder, env: serverEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let problem = '';
  child.stderr.on('data', (chunk: Buffer) => (problem += chunk.toString('utf8')));
  const [code] = (await once(child, 'close').catch((error: unknown) => [String(error)])) as [number | string | null];
  if (code !== 0) throw userError('hub-failed', lastLine(problem) || `initdb failed (${code})`);
  renameSync(draft, data);
  return password;
};

/** Postgres refuses to run as root. */
const nobody = 65_534;

const identity = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

const own = (path: string): void => {
  if (process.getuid?.() === 0) chownSync(path, nobody, nobody);
};

/** Without the settings of a Postgres client. */
const serverEnvironment = (): NodeJS.ProcessEnv => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG')));
  return { ...env, LC_ALL: 'C', HOME: '/nonexistent' };
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

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { createFolder } from '../../files/folders.ts';
import { readUserFile } from '../../files/user-file.ts';
import { replaceSafely } from '../../files/safe.ts';
import { isAlive } from '../../process/start-time.ts';
import { acquireLock, beatMs } from '../../store/lock.ts';
import { type Database, openDatabase } from '../database.ts';
import { migrate } from '../migrations.ts';
import { databaseName, type HubAddress, saveAddress } from './address.ts';
import type { PostgresPrograms } from './binaries.ts';
import { certificateIn } from './certificate.ts';
import { type PostgresServer, savedUrl, startServer } from './server.ts';
import { giveToServer } from './server-user.ts';

export interface HubOptions {
  readonly programs: PostgresPrograms;
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly log: (line: string) => void;
}

export interface Hub extends Pick<PostgresServer, 'exited'> {
  readonly address: HubAddress;
  /** The last lines that the server has printed. */
  lastLines(): string;
  stop(): Promise<void>;
}

/** Starts the Postgres server of a team, with the tables and the roles of the queue. One process per folder. */
export const startHub = async ({ programs, folder, host, port, log }: HubOptions): Promise<Hub> => {
  createFolder(folder);
  const lock = acquireLock(join(folder, 'lock'), 'hub');
  if (lock.kind === 'taken') throw userError('hub-running', folder, lock.by.pid);
  const beating = setInterval(() => lock.beat(), beatMs);
  const release = () => {
    clearInterval(beating);
    lock.release();
  };
  try {
    await stopLeftover(folder, log);
    const certificate = isLoopback(host) ? null : await certificateIn(folder, host);
    for (const file of Object.values(certificate ?? {})) giveToServer(file, { folder, program: programs.postgres });
    const server = await startServer({
      programs,
      folder,
      host: isLoopback(host) ? host : '127.0.0.1',
      port,
      settings: {
        listen_addresses: isLoopback(host) || host === '0.0.0.0' || host === '*' ? host : `127.0.0.1,${host}`,
        hba_file: writeAccess(folder, { isOpen: certificate !== null, programs }),
        log_checkpoints: 'off',
        unix_socket_directories: '',
        ...(certificate !== null && {
          ssl: 'on',
          ssl_cert_file: certificate.certificate,
          ssl_key_file: certificate.key,
        }),
      },
      onOutput: (text) => log(text.trimEnd()),
    });
    const stop = async () => {
      await server.stop();
      release();
    };
    try {
      const address = saveAddress(folder, {
        host,
        port: server.port,
        certificate: certificate?.certificate ?? null,
      });
      await prepareDatabase(server, address);
      return { address, exited: server.exited, lastLines: server.lastLines, stop };
    } catch (error) {
      await server.stop();
      throw error;
    }
  } catch (error) {
    release();
    throw error;
  }
};

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host);

/** Other machines connect with TLS only, and not as the owner of everything. */
const writeAccess = (
  folder: string,
  { isOpen, programs }: Pick<HubOptions, 'programs'> & { readonly isOpen: boolean },
): string => {
  const file = join(folder, 'access.conf');
  const here = ['127.0.0.0/8', '::1/128'].map((address) => `host all all ${address} scram-sha-256`);
  const others = `hostssl ${databaseName} spool_worker,spool_user all scram-sha-256`;
  replaceSafely(file, `${[...here, ...(isOpen ? [others] : [])].join('\n')}\n`);
  giveToServer(file, { folder, program: programs.postgres });
  return file;
};

const prepareDatabase = async (server: PostgresServer, { passwords }: HubAddress): Promise<void> => {
  await using(server.url('postgres'), async (database) => {
    const found = await database.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (found.length === 0) await database.query(`create database ${databaseName}`);
    await database.query(`revoke all on database ${databaseName} from public`);
    for (const [role, password] of Object.entries(passwords)) {
      const known = await database.query('select 1 from pg_roles where rolname = $1', [role]);
      if (known.length === 0) await database.query(`create role ${role}`);
      // The password is one of ours: letters and digits.
      await database.query(`alter role ${role} login password '${password.replaceAll(/\W/g, '')}'`);
      await database.query(`grant connect on database ${databaseName} to ${role}`);
    }
  });
  await using(server.url(databaseName), async (database) => {
    await database.query('revoke all on schema public from public');
    await migrate(database);
  });
};

const using = async (url: string, work: (database: Database) => Promise<void>): Promise<void> => {
  const database = await openDatabase(url);
  try {
    await work(database);
  } finally {
    await database.close();
  }
};

/** How long a server that was left may take to exit. */
const leftoverMs = 30_000;

/** A hub that was killed leaves its server, which is stopped if it really is the one of this folder. */
const stopLeftover = async (folder: string, log: HubOptions['log']): Promise<void> => {
  const data = join(folder, 'data');
  const [pid = '', , , port = ''] = (await readUserFile(join(data, 'postmaster.pid')).catch(() => '')).split('\n');
  const url = savedUrl(folder, Number(port), 'postgres');
  if (!/^\d+$/.test(pid) || !isAlive(Number(pid)) || url === null) return;
  const isOurs = await servesFolder(url, data);
  if (!isOurs) return;
  log(`Stopping the server that a killed hub has left (PID ${pid})`);
  process.kill(Number(pid), 'SIGINT');
  const endMs = performance.now() + leftoverMs;
  while (isAlive(Number(pid)) && performance.now() < endMs) await delay(50);
};

const servesFolder = async (url: string, data: string): Promise<boolean> => {
  const database = await openDatabase(url);
  try {
    const [row] = await database.query<{ data_directory: string }>('show data_directory');
    return row?.data_directory === data;
  } catch {
    return false;
  } finally {
    await database.close();
  }
};

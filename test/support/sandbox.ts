import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { createProject, type ProjectOptions, root, spoolProgram, startProcess } from './project.ts';

/** Why there is no sandbox on this machine, or null. */
export const sandboxProblem = (): string | null => {
  // Without the agents in node_modules, which take seconds to print their versions.
  const PATH = process.env.PATH?.split(':').filter((folder) => !folder.includes('node_modules'));
  const { stdout } = spawnSync(process.execPath, [spoolProgram, 'doctor', '--json', '--sandbox'], {
    encoding: 'utf8',
    // Inside this repository, its own packages are not trusted.
    cwd: tmpdir(),
    env: { ...process.env, PATH: PATH?.join(':') },
  });
  const checks = JSON.parse(stdout) as { about: string; status: string; message: string }[];
  return checks.find(({ about, status }) => about === 'sandbox' && status === 'fail')?.message ?? null;
};

/** Whether everything that a sandbox needs is installed and permitted. If so, a sandbox that does not start is a bug. */
export const hasAllForSandbox = (): boolean => {
  const works = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  return (
    process.platform === 'linux' &&
    existsSync(join(root, 'node_modules', '@anthropic-ai', 'sandbox-runtime', 'package.json')) &&
    works('socat', '-V') &&
    works('rg', '--version') &&
    works('bwrap', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--proc', '/proc', 'true')
  );
};

/** The user that runs Spool: the one that runs the tests, or an ordinary user. */
export interface User {
  readonly title: string;
  readonly prefix: readonly string[];
}

const ordinary = 54321;
const asOrdinary = ['setpriv', `--reuid=${ordinary}`, `--regid=${ordinary}`, '--clear-groups'];

const canBecome = (): boolean => {
  const [command = '', ...args] = [...asOrdinary, process.execPath, spoolProgram, '--version'];
  return spawnSync(command, args, { cwd: '/' }).status === 0;
};

/** The superuser and an ordinary user if the tests run as superuser, otherwise the current user. */
export const users = (): User[] => {
  if (process.getuid?.() !== 0) return [{ title: 'an ordinary user', prefix: [] }];
  const superuser = { title: 'the superuser', prefix: [] };
  return canBecome() ? [superuser, { title: 'an ordinary user', prefix: asOrdinary }] : [superuser];
};

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether the trials are running, not the suite. */
    areTrials: boolean;
  }
}

/** The ordinary user in the suite, the superuser in the trials. */
export const oneUser = (): User => users().at(inject('areTrials') ? 0 : -1)!;

/** Files that no process in a sandbox may change or read. */
const createVictims = (base: string, home: string) => {
  const other = join(base, 'other');
  const folders = ['dotfiles/ssh', '.aws', 'elsewhere'].map((name) => join(home, name));
  for (const folder of [other, ...folders]) mkdirSync(folder, { recursive: true });
  symlinkSync('dotfiles/ssh', join(home, '.ssh'));
  const files = {
    home: join(home, 'notes.txt'),
    profile: join(home, '.profile'),
    project: join(other, 'main.txt'),
    temporary: join(base, 'temporary.txt'),
  };
  for (const file of Object.values(files)) writeFileSync(file, 'untouched\n');
  writeFileSync(join(home, '.ssh', 'id_ed25519'), 'PRIVATE-KEY\n');
  writeFileSync(join(home, '.aws', 'credentials'), 'PRIVATE-KEY\n');
  // A folder with keys that a variable names.
  writeFileSync(join(home, 'elsewhere', 'secring'), 'PRIVATE-KEY\n');
  return {
    other,
    files,
    changed: () =>
      Object.values(files).filter((file) => !existsSync(file) || readFileSync(file, 'utf8') !== 'untouched\n'),
    planted: () => readdirSync(other).filter((name) => name !== 'main.txt'),
  };
};

/** A server that records requests. */
export const startHost = async (socket?: string) => {
  const reached: string[] = [];
  const server = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.end('hello');
  });
  await new Promise<void>((resolve) =>
    socket === undefined ? server.listen(0, '0.0.0.0', resolve) : server.listen(socket, resolve),
  );
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, reached };
};

/** A process that must survive. */
export const startBystander = (prefix: readonly string[]) => {
  const [command = 'sleep', ...args] = [...prefix, 'sleep', '600'];
  const child = spawn(command, args, { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { pid: child.pid!, lives: () => child.exitCode === null && child.signalCode === null };
};

/** The processes on this machine with this word in their command line. */
export const processesNamed = (word: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid).includes(word))
    .map(Number);

const commandOf = (pid: string): string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  } catch {
    return [];
  }
};

/** A word that only processes of one test have in their command line: `sleep <word>` waits for years. */
export const newMark = (): string => String(500_000_000 + Math.floor(Math.random() * 500_000_000));

/** Shell: starts three kinds of daemons that an agent leaves behind, and waits until all are running. */
export const leavesDaemons = (mark: string): string => `
started=$(mktemp -d)
daemon='touch "$0"; exec sleep ${mark}'
setsid sh -c "$daemon" "$started/1" </dev/null >/dev/null 2>&1 &
env -i setsid sh -c "$daemon" "$started/2" </dev/null >/dev/null 2>&1 &
( (env -i nohup sh -c "$daemon" "$started/3" </dev/null >/dev/null 2>&1 &) & )
until [ -e "$started/1" ] && [ -e "$started/2" ] && [ -e "$started/3" ]; do sleep 0.01; done
`;

/** Starts Spool as this user, after making it the owner of all files of the test. */
export const startAs = (
  user: User,
  project: { readonly folder: string; readonly env: Record<string, string> },
  { args, env }: { args: readonly string[]; env: Record<string, string> },
) => {
  if (user.prefix.length > 0) execFileSync('chown', ['-R', `${ordinary}:${ordinary}`, dirname(project.folder)]);
  const [command = '', ...words] = [...user.prefix, process.execPath, spoolProgram, ...args];
  return startProcess(command, words, { cwd: project.folder, env: { ...project.env, ...env } });
};

/** Runs git in the project, regardless of the owner of its files. */
export const gitOfAnyone =
  (project: { git: (...args: string[]) => string }) =>
  (...args: string[]) =>
    project.git('-c', 'safe.directory=*', ...args);

/** A project with a scripted agent that can run in a sandbox, and its surroundings. */
export const createSandboxedProject = (user: User, options: ProjectOptions = {}) => {
  const project = createProject(options);
  const base = dirname(project.folder);
  const victims = createVictims(base, project.home);
  const env = { SPOOL_SANDBOX_WRITE: join(project.home, 'agent') };
  const start = (args: readonly string[], more: Record<string, string> = {}) =>
    startAs(user, project, { args, env: { ...env, ...more } });
  const git = gitOfAnyone(project);
  /** A script in the project that every process inside can run: `sh attack.sh <name>`. */
  const writeScript = (name: string, text: string) => {
    project.write(name, text);
    chmodSync(project.path(name), 0o755);
  };
  return { ...project, base, victims, start, git, writeScript, spool: (...args: string[]) => start(args).result };
};

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createProject, type ProjectOptions, spoolProgram, startProcess } from './project.ts';

/** Why there is no sandbox on this machine; null when there is one. */
export const sandboxProblem = (): string | null => {
  // Without the agents of this package, which take seconds to say their versions.
  const PATH = process.env.PATH?.split(':').filter((folder) => !folder.includes('node_modules'));
  const { stdout } = spawnSync(process.execPath, [spoolProgram, 'doctor', '--json', '--sandbox'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: PATH?.join(':') },
  });
  const checks = JSON.parse(stdout) as { about: string; status: string; message: string }[];
  return checks.find(({ about, status }) => about === 'sandbox' && status === 'fail')?.message ?? null;
};

/** Who runs Spool: the user of the tests, or another one that is not the superuser. */
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

/** The superuser and an ordinary user, where the tests run as the superuser; otherwise whoever runs them. */
export const users = (): User[] => {
  if (process.getuid?.() !== 0) return [{ title: 'an ordinary user', prefix: [] }];
  const root = { title: 'the superuser', prefix: [] };
  return canBecome() ? [root, { title: 'an ordinary user', prefix: asOrdinary }] : [root];
};

/** What nobody inside of a sandbox may touch, read or reach. */
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
  // Where a variable says that keys are.
  writeFileSync(join(home, 'elsewhere', 'secring'), 'PRIVATE-KEY\n');
  return {
    other,
    files,
    changed: () =>
      Object.values(files).filter((file) => !existsSync(file) || readFileSync(file, 'utf8') !== 'untouched\n'),
    planted: () => readdirSync(other).filter((name) => name !== 'main.txt'),
  };
};

/** Counts who has reached it. */
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

/** A process that must live. */
export const startBystander = (prefix: readonly string[]) => {
  const [command = 'sleep', ...args] = [...prefix, 'sleep', '600'];
  const child = spawn(command, args, { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { pid: child.pid!, lives: () => child.exitCode === null && child.signalCode === null };
};

/** The processes of this machine with that word in their command line. */
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

/** A word that only the processes of one test have in their command line: `sleep <word>` waits for years. */
export const newMark = (): string => String(500_000_000 + Math.floor(Math.random() * 500_000_000));

/** Shell: daemons of three kinds, which an agent leaves behind. */
export const leavesDaemons = (mark: string): string => `
setsid sleep ${mark} </dev/null >/dev/null 2>&1 &
env -i setsid sleep ${mark} </dev/null >/dev/null 2>&1 &
( (env -i nohup sleep ${mark} </dev/null >/dev/null 2>&1 &) & )
`;

/** A project with a scripted agent that can be run in a sandbox, and what is around it. */
export const createSandboxedProject = (user: User, options: ProjectOptions = {}) => {
  const project = createProject(options);
  const base = dirname(project.folder);
  const victims = createVictims(base, project.home);
  const env = { SPOOL_SANDBOX_WRITE: join(project.home, 'agent') };
  const start = (args: readonly string[], more: Record<string, string> = {}) => {
    // All that the test has prepared until now belongs to the user.
    if (user.prefix.length > 0) execFileSync('chown', ['-R', `${ordinary}:${ordinary}`, base]);
    const [command = '', ...words] = [...user.prefix, process.execPath, spoolProgram, ...args];
    return startProcess(command, words, { cwd: project.folder, env: { ...project.env, ...env, ...more } });
  };
  /** Whoever the project belongs to by now. */
  const git = (...args: string[]) => project.git('-c', 'safe.directory=*', ...args);
  /** A script in the project that every process inside can run: `sh attack.sh <name>`. */
  const writeScript = (name: string, text: string) => {
    project.write(name, text);
    chmodSync(project.path(name), 0o755);
  };
  return { ...project, base, victims, start, git, writeScript, spool: (...args: string[]) => start(args).result };
};

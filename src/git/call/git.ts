import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { currentScope, allowedEnvironment } from '../../process/scope.ts';
import { type PipedProcess, spawn } from '../../process/spawn.ts';
import { terminateTree, noPreexistingPids, signalGroup, tagVariable } from '../../process/tree.ts';
import { environmentIn } from '../../process/environment.ts';
import type { Command, Entered, Sandbox } from '../../process/sandbox-types.ts';
import { toUtf8 } from '../paths.ts';
import { noteIdle, watchBlocked, whyBlocked } from './blocked.ts';
import { watchDeadline, whyUnresponsive } from './deadline.ts';
import { watchIdle } from './idle.ts';
import { type GitArguments, inert, noFetch, withoutForeign } from './inert.ts';
import { minimumGit, outdatedVersion } from './minimum.ts';
import { safePager } from './pager.ts';
import { gitProgram, outsideEnvironment } from './program.ts';
import { currentGitScope, type GitGuard } from './scope.ts';

export type { GitArguments } from './inert.ts';

export interface GitResult {
  readonly code: number;
  /** In latin1, which preserves every byte, so that file names of any encoding survive the round trip. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface GitCall {
  readonly cwd: string;
  /** The repository that it reads, if that is another one: it may have what blocks git. */
  readonly from?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly hooks?: true;
  /** Settings for this call, as `key=value`. */
  readonly config?: readonly string[];
  /** Abort to end git and the hook that it waits for. */
  readonly kill?: AbortSignal;
  /** Runs git and the hooks; null or undefined for no sandbox. */
  readonly sandbox?: Sandbox | null;
  /** Talks to another machine, which may let it wait. Ended after this time, in milliseconds. */
  readonly networkMs?: number;
}

/** A hook that takes longer is considered hung. */
const maxRuntimeMs = 10 * 60_000;
/** The time between SIGTERM and SIGKILL, in which git removes its lock files. */
const endGraceMs = 2000;
/** How long a child of a hook may hold the output open. */
const pipeGraceMs = 500;

/** Calls `guard` before every further git command of the current run or command. */
export const guardGit = (guard: GitGuard): void => void currentGitScope().guards.push(guard);

/** Returns the reason why git is not run in this folder any more; null while it is. */
export const whyNoGit = async (cwd: string): Promise<string | null> => {
  const problem = whyUnresponsive() ?? whyBlocked(cwd);
  if (problem !== null) return problem;
  for (const guard of currentGitScope().guards) {
    const why = await guard();
    if (why !== null) return why;
  }
  return null;
};

/**
 * Runs one git command. Programs that the repository names do not run, except filters, and hooks if requested. A
 * failure of git, even a missing git, is a result, not an exception. Only a git that is too old is an exception.
 */
export const git = async (args: GitArguments, call: GitCall): Promise<GitResult> => {
  await requireRecentGit(call.cwd);
  const why = await whyNoGit(call.cwd);
  return why === null ? runGit(args, call) : { code: refusedCode, stdout: '', stderr: why };
};

const requireRecentGit = async (cwd: string): Promise<void> => {
  const version = await outdatedGit(cwd);
  if (version !== null) throw userError('old-git', version, minimumGit);
};

/** Returns the version of the installed git if it is too old; null otherwise, or without git. */
export const outdatedGit = (cwd: string): Promise<string | null> => {
  const program = gitProgram(cwd);
  const known = outdated.get(program) ?? runGit(['--version'], { cwd }).then(({ stdout }) => outdatedVersion(stdout));
  outdated.set(program, known);
  return known;
};

/** Per process, by the path of git. */
const outdated = new Map<string, Promise<string | null>>();

/** The exit code of git if it refuses to use a repository. */
const refusedCode = 128;

/**
 * Runs a command without calling the guards. git gets its own process group, so that Ctrl-C does not interrupt a
 * commit.
 */
export const runGit = async (args: GitArguments, call: GitCall): Promise<GitResult> => {
  // In English, because messages are parsed. Hooks get the language of the user.
  const env = {
    ...nonInteractiveEnvironment(call.hooks ? allowedEnvironment(currentScope().env) : currentScope().env),
    ...(call.hooks ? {} : { LC_ALL: 'C' }),
    ...call.env,
  };
  const { hooks = false, config = [] } = call;
  const command = {
    binary: gitProgram(call.cwd),
    args: inert(args, { hooks, config }),
    env: environmentIn(call.cwd, env),
  };
  if (!call.sandbox) return runCommand({ ...command, env: outsideEnvironment(command.env, call.cwd) }, call);
  const inside = await enter(call.sandbox, { ...command, cwd: call.cwd, tag: tagOf(call) });
  if (typeof inside === 'string') return { code: -1, stdout: '', stderr: inside };
  return runCommand(inside, call, inside).finally(() => inside.leave());
};

/** Returns the reason as a string if the sandbox cannot be entered. */
const enter = async (sandbox: Sandbox, command: Command): Promise<Entered | string> => {
  try {
    return await sandbox.enter(command, null);
  } catch (error) {
    return `the sandbox cannot be entered: ${(error as Error).message}`;
  }
};

const tagOf = ({ env }: GitCall): string => env?.[tagVariable] ?? 'git';

type Started = Pick<Command, 'binary' | 'args' | 'env'>;

const runCommand = async (command: Started, call: GitCall, inside: Entered | null = null): Promise<GitResult> => {
  const ending = { end: () => {} };
  // Listens before git starts, so that no signal is missed.
  const release = endOnSignal(() => ending.end());
  try {
    return await spawnAndWait({ ...command, call, inside, ending });
  } finally {
    release();
  }
};

interface SpawnRequest extends Started {
  readonly call: GitCall;
  readonly inside: Entered | null;
  /** `end` is replaced once the process has started. */
  readonly ending: { end: () => void };
}

const spawnAndWait = async ({ binary, args, env, call, inside, ending }: SpawnRequest): Promise<GitResult> => {
  const child = spawn(binary, args, {
    cwd: call.cwd,
    env,
    stdio: [call.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  }) as PipedProcess<Writable | null>;
  const repository = call.from ?? call.cwd;
  let killTimer: NodeJS.Timeout | undefined;
  // On SIGTERM, git removes its lock files first. A hook that does not exit is killed after git.
  const end = () => {
    if (!child.pid || killTimer) return;
    if (inside === null) signalGroup(child.pid, 'SIGTERM');
    else
      void terminateTree(
        { group: child.pid, tag: tagOf(call), preexisting: noPreexistingPids, sandboxed: true },
        endGraceMs,
      );
    killTimer = setTimeout(signalGroup, endGraceMs, child.pid, 'SIGKILL');
  };
  if (inside !== null && child.pid) inside.started(child.pid);
  inside?.lost.addEventListener('abort', end);
  const timer = setTimeout(end, call.networkMs ?? maxRuntimeMs);
  call.kill?.addEventListener('abort', end);
  const unwatchDeadline = watchDeadline({ hooks: call.hooks ?? false, end });
  // A hook may take long.
  const unwatchBlocked = call.hooks ? () => {} : watchBlocked(repository, end);
  const endIdle = () => {
    noteIdle(repository);
    end();
  };
  const mayWait = call.hooks || call.networkMs !== undefined;
  const unwatchIdle = mayWait || !child.pid ? () => {} : watchIdle(child.pid, endIdle);
  ending.end = end;
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdin?.on('error', () => {});
  child.stdin?.end(call.input, 'latin1');
  try {
    const closed = once(child, 'close').catch(() => {});
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    await Promise.race([closed, delay(pipeGraceMs, undefined, { ref: false })]);
    await drained(() => stdout.length + stderr.length);
    const message = Buffer.concat(stderr).toString('utf8').trim();
    return {
      code: code ?? -1,
      stdout: Buffer.concat(stdout).toString('latin1'),
      stderr: signal === null ? message : (whyBlocked(repository) ?? `git was terminated by ${signal}`),
    };
  } catch (error) {
    return { code: -1, stdout: '', stderr: (error as Error).message };
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    call.kill?.removeEventListener('abort', end);
    inside?.lost.removeEventListener('abort', end);
    unwatchDeadline();
    unwatchBlocked();
    unwatchIdle();
    if (killTimer && child.pid) signalGroup(child.pid, 'SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  }
};

/**
 * Resolves when nothing is left in the pipes. Spool may have been stopped or busy for longer than the grace, and then its
 * timers come before what git has written.
 */
const drained = async (received: () => number): Promise<void> => {
  for (let before = -1; before !== received();) {
    before = received();
    await nextTurn();
  }
};

/** Per process, like signals: one that ends Spool ends the git of all runs. */
const running = new Set<() => void>();
let fatal: NodeJS.Signals | null = null;

/**
 * A signal without other listeners ends Spool, as it would without git. git is ended first, because it has its own
 * process group.
 */
const onFatal = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return;
  fatal = signal;
  for (const end of running) end();
};

/** Listens only while git runs; otherwise a signal has to end Spool immediately. */
const endOnSignal = (end: () => void): (() => void) => {
  if (!currentScope().ownsProcess) return () => {};
  if (running.size === 0) for (const signal of fatalSignals) process.on(signal, onFatal);
  running.add(end);
  return () => {
    running.delete(end);
    if (running.size > 0) return;
    for (const signal of fatalSignals) process.off(signal, onFatal);
    if (fatal !== null) process.kill(process.pid, fatal);
  };
};

const fatalSignals = ['SIGINT', 'SIGTERM'] as const;

/** Runs git on the terminal, with colors and the pager of the user. Returns its exit code. */
export const showGit = async (args: GitArguments, cwd: string): Promise<number> => {
  await requireRecentGit(cwd);
  const pager = process.stdout.isTTY ? { GIT_PAGER: safePager(await userPager(cwd)) } : {};
  const env = { ...withoutForeign(currentScope().env), ...noFetch, ...pager };
  const child = spawn(gitProgram(cwd), inert(args, { hooks: false, config: [`pager.${args[0]}=true`] }), {
    cwd,
    env: environmentIn(cwd, outsideEnvironment(env, cwd)),
    stdio: 'inherit',
  });
  const unwatchBlocked = watchBlocked(cwd, () => void child.kill());
  const [code] = (await once(child, 'exit').finally(unwatchBlocked)) as [number | null];
  const why = code === null ? whyBlocked(cwd) : null;
  if (why !== null) throw userError('git-blocked', why);
  return code ?? 1;
};

/** Returns the pager of the user, never one that the repository names; empty without one. */
const userPager = async (cwd: string): Promise<string> => {
  const { GIT_PAGER: asked, PAGER: usual = 'less' } = currentScope().env;
  if (asked !== undefined) return asked;
  const { code, stdout } = await git(['config', '--list', '-z', '--show-scope'], { cwd });
  // git before 2.26 does not know --show-scope.
  if (code !== 0) return usual;
  const fields = stdout.split('\0');
  let own = usual;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, value] = /^(?:core\.pager|pager\.diff)\n(.*)$/s.exec(fields[at + 1]!) ?? [];
    if (value === undefined || fields[at] === 'local' || fields[at] === 'worktree') continue;
    if (/^(?:false|no|off|0)$/i.test(value)) own = '';
    else if (!/^(?:true|yes|on|\d*)$/i.test(value)) own = toUtf8(value);
  }
  return own;
};

/** git must never prompt or open an editor, nor use the repository of a surrounding git. Hooks inherit this. */
const nonInteractiveEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...withoutForeign(env),
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_OPTIONAL_LOCKS: '0',
});

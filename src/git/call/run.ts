import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { currentScope, allowedEnvironment } from '../../process/scope.ts';
import { type PipedProcess, spawn } from '../../process/spawn.ts';
import { terminateTree, noPreexistingPids, signalGroup, tagVariable } from '../../process/tree.ts';
import { environmentIn } from '../../process/environment.ts';
import type { Command, Entered, Sandbox } from '../../process/sandbox-types.ts';
import { noteIdle, watchBlocked, whyBlocked } from './blocked.ts';
import { watchDeadline } from './deadline.ts';
import { endOnSignal } from './end-on-signal.ts';
import { watchIdle } from './idle.ts';
import { type GitArguments, inert, withoutForeign } from './inert.ts';
import { gitProgram, outsideEnvironment } from './program.ts';

export interface GitResult {
  readonly code: number;
  /** In latin1, which preserves every byte, so that file names of any encoding survive the round trip. */
  readonly stdout: string;
  readonly stderr: string;
  /** It was ended because it took too long. */
  readonly timedOut?: true;
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
  /** The time after which git and its hooks are ended, in milliseconds. */
  readonly maxMs?: number;
}

/** A hook that takes longer is considered hung. */
const maxRuntimeMs = 10 * 60_000;
/** The time between SIGTERM and SIGKILL, in which git removes its lock files. */
const endGraceMs = 2000;
/** How long a child of a hook may hold the output open. */
const pipeGraceMs = 500;

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
  if (inside !== null && child.pid) inside.started(child.pid);
  const { end, finish } = createEnding(child.pid, call, inside);
  const timeout = new AbortController();
  const onTimeout = () => {
    timeout.abort();
    end();
  };
  const unwatch = endOnProblem(child.pid, { call, inside, end, onTimeout });
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
      stderr: signal === null ? message : (whyBlocked(repositoryOf(call)) ?? `git was terminated by ${signal}`),
      ...(timeout.signal.aborted && { timedOut: true }),
    };
  } catch (error) {
    return { code: -1, stdout: '', stderr: (error as Error).message };
  } finally {
    unwatch();
    finish();
    child.stdout.destroy();
    child.stderr.destroy();
  }
};

const repositoryOf = ({ from, cwd }: GitCall): string => from ?? cwd;

/** `end` ends git in order. `finish` kills what is left of it, if it was called. */
const createEnding = (pid: number | undefined, call: GitCall, inside: Entered | null) => {
  let killTimer: NodeJS.Timeout | undefined;
  return {
    // On SIGTERM, git removes its lock files first. A hook that does not exit is killed after git.
    end: () => {
      if (!pid || killTimer) return;
      if (inside === null) signalGroup(pid, 'SIGTERM');
      else
        void terminateTree(
          { group: pid, tag: tagOf(call), preexisting: noPreexistingPids, sandboxed: true },
          endGraceMs,
        );
      killTimer = setTimeout(signalGroup, endGraceMs, pid, 'SIGKILL');
    },
    finish: () => {
      clearTimeout(killTimer);
      if (killTimer && pid) signalGroup(pid, 'SIGKILL');
    },
  };
};

/** Calls `end` if git has to be ended. Returns a function that stops watching. */
const endOnProblem = (
  pid: number | undefined,
  {
    call,
    inside,
    end,
    onTimeout,
  }: Pick<SpawnRequest, 'call' | 'inside'> & { readonly end: () => void; readonly onTimeout: () => void },
): (() => void) => {
  const repository = repositoryOf(call);
  const endIdle = () => {
    noteIdle(repository);
    end();
  };
  const timer = setTimeout(onTimeout, call.networkMs ?? call.maxMs ?? maxRuntimeMs);
  const signals = [call.kill, inside?.lost];
  for (const signal of signals) signal?.addEventListener('abort', end);
  const mayWait = call.hooks || call.networkMs !== undefined;
  const watches = [
    watchDeadline({ hooks: call.hooks ?? false, end }),
    // A hook may take long.
    ...(call.hooks ? [] : [watchBlocked(repository, end)]),
    ...(mayWait || !pid ? [] : [watchIdle(pid, endIdle)]),
  ];
  return () => {
    clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener('abort', end);
    for (const unwatch of watches) unwatch();
  };
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

/** git must never prompt or open an editor, nor use the repository of a surrounding git. Hooks inherit this. */
const nonInteractiveEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...withoutForeign(env),
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_OPTIONAL_LOCKS: '0',
});

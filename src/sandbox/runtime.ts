import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ChildProcess, spawn } from '../process/spawn.ts';
import { signalGroup } from '../process/tree.ts';
import { environmentIn } from '../process/environment.ts';
import { commandLine } from '../text/shell-words.ts';
import type { InstalledRuntime } from './find-runtime.ts';
import type { FromHost, ToHost, WrapRequest } from './messages.ts';

/** The sandbox runtime, which a separate process hosts (`runtime-host.ts`). */
export interface SandboxRuntime {
  /** Returns a shell command that runs a line in the sandbox. */
  wrap(request: WrapRequest, stop?: AbortSignal): Promise<string>;
  /** Call when a wrapped process has exited. */
  cleanUp(): void;
  /**
   * Returns true if a process in the sandbox can write to a folder. Rejects with the problem if the process does not
   * start or exit in time, and if `stop` is aborted. Leaves no process behind.
   */
  canWrite(folder: string, stop: AbortSignal): Promise<boolean>;
  /** Aborted when its process has exited. */
  readonly lost: AbortSignal;
  end(): Promise<void>;
}

export interface RuntimeRequest {
  /** The working directory, without any files of the project: the runtime protects what it finds there. */
  readonly folder: string;
  /** Deleted when Spool has exited. */
  readonly base: string;
  readonly env: NodeJS.ProcessEnv;
  readonly installed: InstalledRuntime;
  readonly hosts: readonly string[];
  /** Abort to cancel the start. */
  readonly stop?: AbortSignal | undefined;
}

/** Timeouts for starting and answering, and for exiting. */
const startMs = 30_000;
const endMs = 3000;

export const startRuntime = async (request: RuntimeRequest): Promise<SandboxRuntime> => {
  const { folder, base, env, installed, hosts, stop } = request;
  const program = fileURLToPath(new URL('../sandbox.cjs', import.meta.url));
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: environmentIn(folder, env),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // A separate process group, in which everything is found that the runtime has started.
    detached: true,
  });
  const lost = new AbortController();
  const gone = new Promise<void>((resolve) => {
    const leave = () => {
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      lost.abort();
      resolve();
    };
    child.once('exit', leave);
    child.once('error', leave);
  });
  const calls = createCalls(child, lost.signal);
  const { library, tools } = installed;
  const { problem } = await calls.start({ do: 'start', library, tools, hosts, base }, stop);
  const end = async () => {
    if (child.connected) child.disconnect();
    await Promise.race([gone, delay(endMs, undefined, { ref: false })]);
    if (child.pid) signalGroup(child.pid, 'SIGKILL');
  };
  if (problem !== null) {
    await end();
    throw new Error(problem);
  }
  const runtime: SandboxRuntime = {
    wrap: calls.wrap,
    cleanUp: () => {
      if (child.connected) child.send({ do: 'clean-up' } satisfies ToHost, () => {});
    },
    canWrite: (path, stop) => testWrite(runtime, { path, cwd: folder, env, stop }),
    lost: lost.signal,
    end,
  };
  return runtime;
};

/**
 * Calls `giveUp` once, when a signal is aborted or the time is up, unless the returned function is called first. Uses a
 * timer, because Node 20 drops a timeout signal that only `AbortSignal.any` refers to.
 */
const onTimeoutOrAbort = (
  giveUp: () => void,
  { timeoutMs, signals }: { timeoutMs: number; signals: readonly AbortSignal[] },
): (() => void) => {
  const over = new AbortController();
  const first = () => {
    if (over.signal.aborted) return;
    release();
    giveUp();
  };
  const timer = setTimeout(first, timeoutMs);
  const release = () => {
    clearTimeout(timer);
    over.abort();
  };
  for (const signal of signals) signal.addEventListener('abort', first, { signal: over.signal });
  if (signals.some(({ aborted }) => aborted)) queueMicrotask(first);
  return release;
};

type Started = FromHost & { did: 'start' };

/** Sends requests and returns the answers. Rejects if its process has exited. */
const createCalls = (child: ChildProcess, lost: AbortSignal) => {
  let last = 0;
  const waiting = new Map<number, (answer: FromHost) => void>();
  child.on('message', (answer: FromHost) => {
    const number = answer.did === 'wrap' ? answer.number : 0;
    waiting.get(number)?.(answer);
    waiting.delete(number);
  });
  const ask = <Answer extends FromHost>(number: number, request: ToHost, stop?: AbortSignal): Promise<Answer> => {
    return new Promise<Answer>((resolve, reject) => {
      const giveUp = () => {
        release();
        reject(new Error(lost.aborted ? 'its process exited' : 'it does not respond'));
      };
      const release = onTimeoutOrAbort(giveUp, { timeoutMs: startMs, signals: stop ? [lost, stop] : [lost] });
      waiting.set(number, (answer) => {
        release();
        resolve(answer as Answer);
      });
      child.send(request, (error) => {
        if (error) giveUp();
      });
    });
  };
  return {
    start: (request: ToHost, stop?: AbortSignal): Promise<Started> =>
      ask<Started>(0, request, stop).catch((error: unknown) => ({ did: 'start', problem: (error as Error).message })),
    wrap: async (request: WrapRequest, stop?: AbortSignal): Promise<string> => {
      const number = ++last;
      const asked = { do: 'wrap', number, ...request } as const;
      const { command, problem } = await ask<FromHost & { did: 'wrap' }>(number, asked, stop);
      if (command === null) throw new Error(problem ?? 'no command');
      return command;
    },
  };
};

interface WriteTest {
  readonly path: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
}

/** Used as an exit code by neither shells nor bubblewrap. */
const cannotWrite = 77;
const writeTestMs = 30_000;
/** How long a process that has left the group may hold the output open. */
const pipeGraceMs = 500;

/** Runs a process in the sandbox: only that shows whether this machine allows it. */
const testWrite = async (runtime: SandboxRuntime, { path, cwd, env, stop }: WriteTest): Promise<boolean> => {
  const line = `${commandLine('test', '-w', path)} || exit ${cannotWrite}`;
  const wrapped = await runtime.wrap({ line, id: 'try', writable: [path], readOnly: [], hidden: [] }, stop);
  const child = spawn('/bin/sh', ['-c', `exec ${wrapped}`], {
    cwd,
    env: environmentIn(cwd, env),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const kill = () => {
    if (child.pid) signalGroup(child.pid, 'SIGKILL');
  };
  let isCancelled = false;
  const release = onTimeoutOrAbort(
    () => {
      isCancelled = true;
      kill();
    },
    { timeoutMs: writeTestMs, signals: [stop] },
  );
  let output = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (output += text));
  try {
    const closed = once(child, 'close').catch(() => {});
    const [code] = (await once(child, 'exit')) as [number | null];
    await Promise.race([closed, delay(pipeGraceMs, undefined, { ref: false })]);
    if (isCancelled) throw new Error('a test command in the sandbox did not finish');
    if (code === cannotWrite) return false;
    if (code !== 0) throw new Error(output.trim().split('\n')[0] || `exit code ${code}`);
    return true;
  } finally {
    release();
    child.stderr!.destroy();
    kill();
    runtime.cleanUp();
  }
};

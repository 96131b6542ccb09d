import { once } from 'node:events';
import { closeSync, existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { atPath, systemProblem } from '../errors.ts';
import { openEmpty, writeAll } from '../files/safe.ts';
import { type PipedProcess, spawn } from './spawn.ts';
import { snapshotPids, terminateTree, type ProcessTree, killTree, tagVariable } from './tree.ts';
import { environmentIn } from './environment.ts';
import type { TurnEnd } from '../ralph/agent-events.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Command, Entered, Sandbox, SandboxedAgent } from './sandbox-types.ts';

export interface Launch extends Command {
  /** What it reads, or a stream that stays open as long as it may be sent more. */
  readonly stdin: string | Readable;
  /** Receives all output unchanged, except for redacted secrets; null for no log. */
  readonly logFile: string | null;
  readonly redactor: Redactor;
  /** How long the process may take to exit after SIGTERM before it is killed. */
  readonly stopGraceMs: number;
  /** null or undefined for no sandbox. */
  readonly sandbox?: Sandbox | null;
  /** The agent that is started, for its needs in a sandbox; undefined for a command of the user. */
  readonly harness?: SandboxedAgent;
}

type Source = 'stdout' | 'stderr';

export interface ProcessControl {
  /** Called with the process id after the start. */
  started?(pid: number): void;
  /** Called when the process has exited. Its output may not be drained, and what it started may still run. */
  exited?(): void;
  /** Called with each chunk. The next one is read when the promise resolves, or at once for null. */
  output(source: Source, chunk: Uint8Array): Promise<void> | null;
  /** Aborted to terminate the process. */
  readonly stop: AbortSignal;
  /** Aborted to kill it immediately. */
  readonly kill: AbortSignal;
}

/** How long processes that an agent left running may take to exit. */
const leftoverGraceMs = 1000;
/** How long a process that is not our child may keep the pipe open after the agent has exited. */
const pipeGraceMs = 2000;
/** More than a pipe and a stream can have buffered when the agent exits. */
const maxBufferedBytes = 4 * 1024 * 1024;

type Child = PipedProcess<Writable>;

/**
 * Runs one process to its end. Resolves when it has exited, its output is drained and nothing it started is left. A
 * grandchild that keeps the pipe open does not delay that. Rejects only if the log cannot be written.
 */
export const runProcess = async (launch: Launch, watch: ProcessControl): Promise<TurnEnd> => {
  if (watch.stop.aborted) return { end: 'interrupted', exitCode: null, signal: null, problem: null };
  const log = launch.logFile === null ? null : openEmpty(launch.logFile);
  const notStarted = (problem: string): TurnEnd => ({ end: 'not-started', exitCode: null, signal: null, problem });
  let sandboxed: Entered | null = null;
  try {
    const preexisting = snapshotPids();
    const entered = await enterSandbox(launch);
    if (typeof entered === 'string') return notStarted(entered);
    sandboxed = entered;
    const child = await start(launch, sandboxed);
    if (typeof child === 'string') return notStarted(child);
    sandboxed?.started(child.pid!);
    watch.started?.(child.pid!);
    const tree = { group: child.pid!, tag: launch.tag, preexisting, sandboxed: sandboxed !== null };
    const kill = () => killTree(tree);
    sandboxed?.lost.addEventListener('abort', kill);
    if (sandboxed?.lost.aborted) kill();
    return await followProcess({ child, tree }, launch, log, watch).finally(() =>
      sandboxed?.lost.removeEventListener('abort', kill),
    );
  } finally {
    if (log !== null) closeSync(log);
    await sandboxed?.leave();
  }
};

/** Returns the command to start in the sandbox, null if there is no sandbox, or why it cannot be entered. */
const enterSandbox = async ({ sandbox, harness, ...command }: Launch): Promise<Entered | string | null> => {
  if (!sandbox) return null;
  try {
    return await sandbox.enter(command, harness ?? null);
  } catch (error) {
    return `the sandbox cannot be entered: ${systemProblem(error)}`;
  }
};

/**
 * Returns the child, or why it could not be started. spawn throws on a bad argument, and emits an event for a missing
 * file.
 */
const start = async (launch: Launch, inside: Entered | null): Promise<Child | string> => {
  const { cwd, tag } = launch;
  const { binary, args, env } = inside ?? launch;
  try {
    const child = spawn(binary, args, {
      cwd,
      env: { ...environmentIn(cwd, env), ...(inside ? {} : { [tagVariable]: tag }) },
      stdio: ['pipe', 'pipe', 'pipe'],
      // In a separate process group, so that Ctrl-C reaches only Spool, which then terminates the agent.
      detached: process.platform !== 'win32',
      windowsHide: true,
    }) as Child;
    await once(child, 'spawn');
    return child;
  } catch (error) {
    return startProblem(error, { binary, cwd });
  }
};

/** ENOENT is about the file, the interpreter that it names, or the working directory. */
const startProblem = (error: unknown, { binary, cwd }: Pick<Command, 'binary' | 'cwd'>): string => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'E2BIG') return 'the prompt is too long for an argument; give it by stdin or as a file';
  if (code === 'ENOENT' && !existsSync(cwd)) return `${cwd} does not exist any more`;
  if (code === 'ENOENT' && existsSync(binary)) return `${binary}: the interpreter in its first line was not found`;
  return `${binary}: ${systemProblem(error)}`;
};

interface Started {
  readonly child: Child;
  readonly tree: ProcessTree;
}

const followProcess = async (
  { child, tree }: Started,
  launch: Launch,
  log: number | null,
  watch: ProcessControl,
): Promise<TurnEnd> => {
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const forward = forwardStops(tree, launch.stopGraceMs, watch);
  const writeLog = (bytes: Uint8Array) => {
    if (log === null) return;
    try {
      writeAll(log, bytes);
    } catch (error) {
      atPath(launch.logFile!)(error);
    }
  };
  const redacted = { stdout: launch.redactor.stream(), stderr: launch.redactor.stream() };
  const output = drain(child, (source, chunk) => {
    writeLog(redacted[source].pass(chunk));
    return watch.output(source, chunk);
  });
  // An agent may exit without reading its prompt.
  child.stdin.on('error', () => {});
  if (typeof launch.stdin === 'string') child.stdin.end(launch.stdin);
  else launch.stdin.pipe(child.stdin);
  try {
    const [exitCode, signal] = await Promise.race([exit, output.failed]);
    watch.exited?.();
    // The agent has finished: a signal from now on does not interrupt it.
    const end = forward.stopped() ? 'interrupted' : exitCode === null ? 'killed' : 'exited';
    await terminateTree(tree, leftoverGraceMs);
    await output.finish();
    for (const stream of [redacted.stdout, redacted.stderr]) writeLog(stream.end());
    return { end, exitCode, signal, problem: null };
  } catch (error) {
    await terminateTree(tree, leftoverGraceMs);
    throw error;
  } finally {
    forward.dispose();
  }
};

const forwardStops = (tree: ProcessTree, graceMs: number, { stop, kill }: ProcessControl) => {
  let stopped = false;
  const onStop = () => {
    stopped = true;
    void terminateTree(tree, graceMs);
  };
  const onKill = () => {
    stopped = true;
    killTree(tree);
  };
  stop.addEventListener('abort', onStop);
  kill.addEventListener('abort', onKill);
  if (stop.aborted) onStop();
  return {
    stopped: () => stopped,
    dispose: () => {
      stop.removeEventListener('abort', onStop);
      kill.removeEventListener('abort', onKill);
    },
  };
};

/** Reads both streams, no faster than `onChunk` accepts their chunks. */
const drain = (child: Child, onChunk: ProcessControl['output']) => {
  let pendingChunks = 0;
  let bytesRead = 0;
  const close = () => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const read = (source: Source) =>
    new Promise<void>((resolve, reject) => {
      const stream = child[source];
      stream.on('close', resolve);
      stream.on('error', reject);
      // Creates a promise only for a chunk that has to wait: there are thousands of chunks per second.
      stream.on('data', (chunk: Uint8Array) => {
        try {
          const waiting = onChunk(source, chunk);
          bytesRead += chunk.length;
          if (waiting === null) return;
          pendingChunks++;
          stream.pause();
          waiting.then(() => {
            pendingChunks--;
            stream.resume();
          }, reject);
        } catch (error) {
          close();
          reject(error as Error);
        }
      });
    });
  const both = Promise.all([read('stdout'), read('stderr')]);
  const failed = new Promise<never>((_, reject) => both.catch(reject));
  failed.catch(() => {});

  /** Waits for the end of both streams. Stops waiting when the rest cannot be output of the agent. */
  const finish = async (): Promise<void> => {
    const before = bytesRead;
    const ended = both.then(() => true);
    for (let waited = 0; !(await Promise.race([ended, delay(50, false, { ref: false })])); waited += 50) {
      const isForeign = waited >= pipeGraceMs && pendingChunks === 0;
      if (!isForeign && bytesRead - before <= maxBufferedBytes) continue;
      close();
      ended.catch(() => {});
      return;
    }
  };

  /** `failed` rejects if `onChunk` fails, and otherwise never settles. */
  return { failed, finish };
};

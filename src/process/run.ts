import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, ftruncateSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import spawn from 'cross-spawn';
import { setTimeout as delay } from 'node:timers/promises';
import { atPath, systemProblem } from '../errors.ts';
import { openOwn, writeAll } from '../files/own.ts';
import { onlyThese } from './descriptors.ts';
import { snapshotPids, terminateTree, environmentIn, type ProcessTree, killTree, tagVariable } from './tree.ts';
import type { TurnEnd } from '../ralph/events.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Entered, Sandbox, SandboxedAgent } from './sandbox.ts';

export interface Launch {
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Unique for this process and its children. */
  readonly tag: string;
  readonly prompt: string;
  /** All output goes here, byte for byte, but for secrets; null when there is no place for it. */
  readonly logFile: string | null;
  readonly redactor: Redactor;
  /** How long the agent may take to end when it is asked to. */
  readonly stopGraceMs: number;
  /** Where it runs; null or nothing for no sandbox. */
  readonly sandbox?: Sandbox | null;
  /** The agent that it is, for what it needs in a sandbox; none for a command of the user's. */
  readonly harness?: SandboxedAgent;
}

type Source = 'stdout' | 'stderr';

export interface ProcessControl {
  /** The next chunk is read when this has resolved, or at once. */
  output(source: Source, chunk: Uint8Array): Promise<void> | null;
  /** Aborted to end the agent cleanly. */
  readonly stop: AbortSignal;
  /** Aborted to kill it now. */
  readonly kill: AbortSignal;
}

/** How long what an agent left running may take to end. */
const leftoverGraceMs = 1000;
/** How long somebody who is no child of ours may keep the pipe open when all is over. */
const pipeGraceMs = 2000;
/** More than a pipe and a stream can have held back when the agent ended. */
const mostHeldBack = 4 * 1024 * 1024;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Runs one process to its end. Resolves when it has exited, its output is drained and nothing it started is left;
 * a grandchild that keeps the pipe open does not hold it. Rejects only when the log cannot be written.
 */
export const runProcess = async (launch: Launch, watch: ProcessControl): Promise<TurnEnd> => {
  if (watch.stop.aborted) return { end: 'interrupted', exitCode: null, signal: null, problem: null };
  const log = launch.logFile === null ? null : openLog(launch.logFile);
  const notStarted = (problem: string): TurnEnd => ({ end: 'not-started', exitCode: null, signal: null, problem });
  let inside: Entered | null = null;
  try {
    const preexisting = snapshotPids();
    const entered = await enter(launch);
    if (typeof entered === 'string') return notStarted(entered);
    inside = entered;
    const child = await start(launch, inside);
    if (typeof child === 'string') return notStarted(child);
    inside?.started(child.pid!);
    const tree = { group: child.pid!, tag: launch.tag, preexisting, sandboxed: inside !== null };
    const kill = () => killTree(tree);
    inside?.lost.addEventListener('abort', kill);
    if (inside?.lost.aborted) kill();
    return await followProcess({ child, tree }, launch, log, watch).finally(() =>
      inside?.lost.removeEventListener('abort', kill),
    );
  } finally {
    if (log !== null) closeSync(log);
    await inside?.leave();
  }
};

/** The way into the sandbox, null when there is none, or why it cannot be entered. */
const enter = async ({ sandbox, harness, ...command }: Launch): Promise<Entered | string | null> => {
  if (!sandbox) return null;
  try {
    return await sandbox.enter(command, harness ?? null);
  } catch (error) {
    return `the sandbox cannot be entered: ${systemProblem(error)}`;
  }
};

const openLog = (path: string): number => {
  const log = openOwn(path, 'write');
  ftruncateSync(log);
  return log;
};

/** The child, or why there is none. A bad argument is thrown at once, a missing file comes as an event. */
const start = async (launch: Launch, inside: Entered | null): Promise<Child | string> => {
  const { cwd, tag } = launch;
  const { binary, args, env } = inside ?? launch;
  try {
    // It finds the interpreters behind the .cmd files of npm on Windows; elsewhere it is plain spawn.
    const child = spawn(binary, args, {
      cwd,
      env: { ...environmentIn(cwd, env), ...(inside ? {} : { [tagVariable]: tag }) },
      stdio: onlyThese(['pipe', 'pipe', 'pipe']),
      // A group of its own: the terminal's Ctrl-C reaches only Spool, which ends the agent in good order.
      detached: process.platform !== 'win32',
      windowsHide: true,
    }) as Child;
    await once(child, 'spawn');
    return child;
  } catch (error) {
    return startProblem(error, binary);
  }
};

/** The file was found before: what is missing then is what runs it. */
const startProblem = (error: unknown, binary: string): string => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'E2BIG') return 'the prompt is too long for an argument; give it by stdin or as a file';
  if (code === 'ENOENT' && existsSync(binary))
    return `${binary} is there, but not the program that its first line names`;
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
  const cleaned = { stdout: launch.redactor.stream(), stderr: launch.redactor.stream() };
  const output = drain(child, (source, chunk) => {
    writeLog(cleaned[source].pass(chunk));
    return watch.output(source, chunk);
  });
  child.stdin.on('error', () => {}); // An agent may exit without reading its prompt.
  child.stdin.end(launch.prompt);
  try {
    const [exitCode, signal] = await Promise.race([exit, output.failed]);
    // A signal that comes from here on does not take back what the agent has finished.
    const end = forward.stopped() ? 'interrupted' : exitCode === null ? 'killed' : 'exited';
    await terminateTree(tree, leftoverGraceMs);
    await output.finish();
    for (const stream of [cleaned.stdout, cleaned.stderr]) writeLog(stream.end());
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

/** Reads both streams, no faster than their chunks are taken. */
const drain = (child: Child, take: ProcessControl['output']) => {
  let taking = 0;
  let taken = 0;
  const close = () => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const read = (source: Source) =>
    new Promise<void>((resolve, reject) => {
      const stream = child[source];
      stream.on('close', resolve);
      stream.on('error', reject);
      // No promise for a chunk that nobody waits for: there are thousands of them in a second.
      stream.on('data', (chunk: Uint8Array) => {
        try {
          const waiting = take(source, chunk);
          taken += chunk.length;
          if (waiting === null) return;
          taking++;
          stream.pause();
          waiting.then(() => {
            taking--;
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

  /** Waits for the end of both streams; gives up when what is still to come cannot be the agent's. */
  const finish = async (): Promise<void> => {
    const before = taken;
    const ended = both.then(() => true);
    for (let waited = 0; !(await Promise.race([ended, delay(50, false, { ref: false })])); waited += 50) {
      const foreign = waited >= pipeGraceMs && taking === 0;
      if (!foreign && taken - before <= mostHeldBack) continue;
      close();
      ended.catch(() => {});
      return;
    }
  };

  /** `failed` rejects when a chunk could not be taken, and otherwise stays open. */
  return { failed, finish };
};

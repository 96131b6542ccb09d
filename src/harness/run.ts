import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { atPath, systemProblem } from '../errors.ts';
import { endFamily, type Family, killFamily, tagVariable } from '../processes.ts';
import type { Ended } from '../ralph/events.ts';

export interface Launch {
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Unique for this process and its children. */
  readonly tag: string;
  readonly prompt: string;
  /** All output is appended here, byte for byte. */
  readonly logFile: string;
}

export interface Watch {
  output(source: 'stdout' | 'stderr', chunk: Uint8Array): void;
  /** Aborted to end the agent cleanly. */
  readonly stop: AbortSignal;
  /** Aborted to kill it now. */
  readonly kill: AbortSignal;
}

/** How long an agent that was asked to end may take. */
const stopGraceMs = 5000;
/** How long what an agent left running may take to end. */
const leftoverGraceMs = 1000;
/** How long the rest of the output may take when the agent and all it started have ended. */
const pipeGraceMs = 2000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Runs one process to its end. Resolves when it has exited, its output is drained and nothing it started is left;
 * a grandchild that keeps the pipe open does not hold it. Rejects only when the log cannot be written.
 */
export const runProcess = async (launch: Launch, watch: Watch): Promise<Ended> => {
  const log = await open(launch.logFile, 'a', 0o600);
  try {
    const child = start(launch);
    const problem = await startProblem(child);
    if (problem !== null) return { end: 'not-started', exitCode: null, signal: null, problem };
    return await followProcess(child, launch, log, watch);
  } finally {
    await log.close();
  }
};

const followProcess = async (child: Child, launch: Launch, log: FileHandle, watch: Watch): Promise<Ended> => {
  const family = { group: child.pid!, tag: launch.tag };
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const forward = forwardStops(family, watch);
  try {
    child.stdin.on('error', () => {}); // An agent may exit without reading its prompt.
    child.stdin.end(launch.prompt);
    const drained = drain(child, async (source, chunk) => {
      await log.appendFile(chunk).catch(atPath(launch.logFile));
      watch.output(source, chunk);
    });
    const [exitCode, signal] = await Promise.race([exit, drained.failed]);
    await endFamily(family, leftoverGraceMs);
    await drained.done();
    const end = forward.stopped() ? 'interrupted' : exitCode === null ? 'killed' : 'exited';
    return { end, exitCode, signal, problem: null };
  } finally {
    forward.dispose();
    await endFamily(family, leftoverGraceMs);
  }
};

const start = ({ binary, args, cwd, env, tag }: Launch): Child =>
  spawn(binary, args, {
    cwd,
    env: { ...env, [tagVariable]: tag },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: the terminal's Ctrl-C reaches only Spool, which ends the agent in good order.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });

const startProblem = async (child: Child): Promise<string | null> => {
  try {
    await once(child, 'spawn');
    return null;
  } catch (error) {
    return systemProblem(error);
  }
};

const forwardStops = (family: Family, { stop, kill }: Watch) => {
  let stopped = false;
  const onStop = () => {
    stopped = true;
    void endFamily(family, stopGraceMs);
  };
  const onKill = () => {
    stopped = true;
    killFamily(family);
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

type Take = (source: 'stdout' | 'stderr', chunk: Uint8Array) => Promise<void>;

/** Reads both streams, no faster than their chunks are taken. */
const drain = (child: Child, take: Take) => {
  const read = async (source: 'stdout' | 'stderr') => {
    for await (const chunk of child[source] as AsyncIterable<Uint8Array>) await take(source, chunk);
  };
  const both = Promise.all([read('stdout'), read('stderr')]);
  const failed = new Promise<never>((_, reject) => both.catch(reject));
  failed.catch(() => {});

  return {
    /** Rejects when a chunk could not be taken; otherwise stays open. */
    failed,
    /** Resolves at the end of both streams, or when somebody who is no child of ours keeps them open. */
    done: async () => {
      await Promise.race([both, delay(pipeGraceMs, undefined, { ref: false })]);
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
};

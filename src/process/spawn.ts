import type { ChildProcess, ChildProcessByStdio, SpawnOptions } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import crossSpawn from 'cross-spawn';
import { type Stdio, withoutInheritedFds } from './descriptors.ts';

export type { ChildProcess };

/** A process with pipes for its output, and for its input if `Input` is not null. */
export type PipedProcess<Input extends Writable | null> = ChildProcessByStdio<Input, Readable, Readable>;

export interface ProcessOptions extends Pick<SpawnOptions, 'detached' | 'windowsHide' | 'uid' | 'gid'> {
  /** Defaults to the working directory of Spool. */
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** stdin, stdout, stderr, and further descriptors. */
  readonly stdio: readonly Stdio[];
}

/**
 * Starts a process, without a shell. Every process of Spool is started here: none gets a file that the caller of Spool
 * has open. Throws on a bad argument; a missing program is an `error` event.
 */
export const spawn = (program: string, args: readonly string[], options: ProcessOptions): ChildProcess =>
  // cross-spawn runs npm's .cmd files on Windows. Elsewhere it is plain spawn.
  crossSpawn(program, [...args], { ...options, stdio: withoutInheritedFds(options.stdio) });

/** Starts this program again, with other arguments. */
export const spawnSpool = (args: readonly string[], options: ProcessOptions): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...args], options);

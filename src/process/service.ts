import { once } from 'node:events';
import { type PipedProcess, spawn } from './spawn.ts';

export interface ServiceCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The user that it runs as; null for the current one. */
  readonly uid: number | null;
  readonly onOutput?: ((text: string) => void) | undefined;
}

/** A program that runs beside Spool until it is told to exit. */
export interface Service {
  /** The end of what it has printed. */
  output(): string;
  /** Its exit code; null if a signal or a missing program ended it. */
  readonly exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/** Characters of its output that are kept. */
const maxOutput = 4000;

export const startService = ({ program, args, cwd, env, uid, onOutput }: ServiceCommand): Service => {
  const child = spawn(program, args, {
    cwd,
    env,
    ...(uid === null ? {} : { uid, gid: uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C is for Spool, which shuts it down cleanly.
    detached: process.platform !== 'win32',
  }) as PipedProcess<null>;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-maxOutput);
      onOutput?.(text);
    });
  const exited = once(child, 'close').then(
    ([code]) => code as number | null,
    (error: unknown) => {
      output += String(error);
      return null;
    },
  );
  return { output: () => output, exited, kill: (signal) => void child.kill(signal) };
};

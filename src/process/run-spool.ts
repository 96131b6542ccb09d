import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { type PipedProcess, spawnSpool } from './spawn.ts';
import { signalGroup } from './tree.ts';

export interface SpoolCall {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  /** Abort it to end the program. */
  readonly stop: AbortSignal;
}

export interface SpoolResult {
  /** null if a signal ended it. */
  readonly exitCode: number | null;
  /** stdout and stderr as they came, shortened in the middle. */
  readonly output: string;
  readonly isTimedOut: boolean;
}

/** Characters that are kept of the beginning, and of the end. */
const keptLength = 32 * 1024;
/** How long it may take to end in order. */
const endMs = 10_000;
/** How long others may hold its output open. */
const pipeGraceMs = 500;

/** Runs this program with other arguments, without a shell and without input, to its end. */
export const runSpool = async ({ args, cwd, env, timeoutMs, stop }: SpoolCall): Promise<SpoolResult> => {
  const child = spawnSpool(args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C is for the caller, which shuts it down cleanly.
    detached: true,
  }) as PipedProcess<null>;
  const output = createOutput();
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => output.add(decoder.write(chunk)));
  }
  let isTimedOut = false;
  let killing: NodeJS.Timeout | undefined;
  const end = () => {
    if (!child.pid) return;
    signalGroup(child.pid, 'SIGTERM');
    killing ??= setTimeout(signalGroup, endMs, child.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isTimedOut = true;
    end();
  }, timeoutMs);
  if (stop.aborted) end();
  stop.addEventListener('abort', end);
  try {
    const closed = once(child, 'close').catch(() => {});
    const [code] = (await once(child, 'exit')) as [number | null];
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, pipeGraceMs).unref())]);
    return { exitCode: code, output: output.text(), isTimedOut };
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    stop.removeEventListener('abort', end);
    child.stdout.destroy();
    child.stderr.destroy();
  }
};

const createOutput = () => {
  let [head, tail, left] = ['', '', 0];
  return {
    add: (text: string) => {
      const room = Math.max(0, keptLength - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      if (tail.length > 2 * keptLength) {
        left += tail.length - keptLength;
        tail = tail.slice(-keptLength);
      }
    },
    text: () => `${head}${left === 0 ? '' : `\n[${left} characters left out]\n`}${tail}`,
  };
};

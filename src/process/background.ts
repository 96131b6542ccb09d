import { spawnSpool } from './spawn.ts';

export interface BackgroundStart<Answer> {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The descriptor of the file that gets stdout and stderr. */
  readonly output: number;
  /** Called with each message of the process. What it resolves to is sent back, unless it is undefined. */
  readonly onMessage: (message: unknown) => Promise<Answer | undefined>;
}

export interface BackgroundProcess {
  readonly pid: number;
  /** Resolves to the exit code, or to the signal that ended the process. Rejects if it could not be started. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Leaves it running: this process can exit before it. */
  release(): void;
}

/** Starts this program again, in a new session: neither Ctrl-C nor the end of the terminal reaches it. */
export const startBackground = <Answer>(start: BackgroundStart<Answer>): BackgroundProcess => {
  const { args, cwd, env, output, onMessage } = start;
  const child = spawnSpool(args, {
    cwd,
    env,
    stdio: ['ignore', output, output, 'ipc'],
    detached: true,
  });
  child.on('message', (message) => {
    void onMessage(message).then((answer) => {
      if (answer !== undefined && child.connected) child.send({ answer });
    });
  });
  return {
    pid: child.pid ?? 0,
    exited: new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code, signal) => resolve(code ?? signal!));
    }),
    release: () => {
      if (child.connected) child.disconnect();
      child.unref();
    },
  };
};

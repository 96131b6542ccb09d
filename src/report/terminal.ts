import type { ControlSequence, Outputs } from './outputs.ts';

const styles = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof styles;

/**
 * Where a command speaks: data on stdout, talk on stderr. Colour only adds, and only where a person looks. No control
 * character in a text gets through: see Outputs.
 */
export interface Terminal {
  /** Data: what was asked for, and the words of the agent. */
  print(text: string): void;
  /** The same for a whole short answer, at once, without making a stream for it. */
  printResult(text: string): void;
  /** Talk: what Spool itself has to say. */
  log(text: string): void;
  /**
   * Resolves when what was written has gone on its way: a slow reader slows us down instead of filling our memory.
   * null when it has already. When `stop` is aborted, it resolves at once: one that does not read at all must not keep us from ending.
   */
  drained(stop: AbortSignal): Promise<void> | null;
  style(style: Style, text: string): string;
  /** On a screen only. */
  control(sequence: ControlSequence): void;
  /** A person is there to be asked. */
  readonly canPrompt: boolean;
  /** stderr is a screen on which a line can be drawn again. */
  readonly isInteractive: boolean;
  readonly columns: number;
  readonly rows: number;
}

export const createTerminal = (env: NodeJS.ProcessEnv, outputs: Outputs): Terminal => {
  const isSmart = env.TERM !== 'dumb';
  const areScreens = () => Boolean(outputs.stdout.isTTY) && Boolean(outputs.stderr.isTTY);
  return {
    print: outputs.print,
    printResult: outputs.printResult,
    log: outputs.log,
    control: outputs.control,
    drained: (stop) => {
      const full = [outputs.stdout, outputs.stderr].filter((stream) => stream.writableNeedDrain);
      return full.length === 0 || stop.aborted ? null : drainAll(full, stop);
    },
    style: (style, text) => (isSmart && !env.NO_COLOR && areScreens() ? outputs.style(styles[style], text) : text),
    get canPrompt() {
      return Boolean(process.stdin.isTTY) && Boolean(outputs.stderr.isTTY);
    },
    get isInteractive() {
      return isSmart && areScreens();
    },
    get columns() {
      return outputs.stderr.columns || 80;
    },
    get rows() {
      return outputs.stderr.rows || 24;
    },
  };
};

const drainAll = async (streams: readonly NodeJS.WriteStream[], stop: AbortSignal): Promise<void> => {
  await Promise.all(streams.map((stream) => drain(stream, stop)));
};

/** A reader that has left will never drain it. */
const drain = (stream: NodeJS.WriteStream, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      for (const event of ['drain', 'close', 'error']) stream.off(event, done);
      stop.removeEventListener('abort', done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) stream.on(event, done);
    stop.addEventListener('abort', done);
  });

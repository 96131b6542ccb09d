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
 * The terminal of a command: results go to stdout, messages to stderr. Colour is used only on an interactive terminal.
 * Control characters in texts are removed (see Outputs).
 */
export interface Terminal {
  /** Prints results, and the agent's messages, to stdout. */
  print(text: string): void;
  /** Prints a short result at once, without creating a stream. */
  printResult(text: string): void;
  /** Writes Spool's own messages to stderr. */
  log(text: string): void;
  /**
   * Resolves when the output is flushed, so that a slow reader slows the run down instead of filling the memory. Returns
   * null if nothing is pending. Resolves at once when `stop` is aborted: a reader that does not read must not block exit.
   */
  drained(stop: AbortSignal): Promise<void> | null;
  style(style: Style, text: string): string;
  /** Only for an interactive terminal. */
  control(sequence: ControlSequence): void;
  /** stdin and stderr are terminals, so the user can be prompted. */
  readonly canPrompt: boolean;
  /** stdout and stderr are terminals on which lines can be redrawn. */
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

/** A closed stream never emits `drain`. */
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

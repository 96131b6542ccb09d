import type { Frame, FullScreen, Outputs } from './outputs.ts';
import { type Symbols, symbolsFor } from './symbols.ts';

const styles = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Style = keyof typeof styles;

/**
 * The terminal of a command: results go to stdout, messages to stderr. Control characters in texts are removed (see
 * Outputs).
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
  draw(stream: 'stdout' | 'stderr', frame: Frame): void;
  /** Only for an interactive terminal. */
  bell(): void;
  /** Only for an interactive terminal. */
  fullScreen(step: FullScreen): void;
  /** Calls the listener when the reader of stdout is gone, as in `spool logs -f | head`. */
  onClosed(listener: () => void): void;
  /** Calls the listener when the window has another size, until the returned function is called. */
  onResize(listener: () => void): () => void;
  /** stdin and stderr are terminals, and CI is not set, so the user can be prompted. */
  readonly canPrompt: boolean;
  /** stdout and stderr are the same terminal, lines on it can be redrawn, and it is not the log of a CI service. */
  readonly isInteractive: boolean;
  /** Texts are styled: on an interactive terminal unless NO_COLOR is set, and with FORCE_COLOR. */
  readonly hasColor: boolean;
  readonly symbols: Symbols;
  readonly columns: number;
  readonly rows: number;
}

export const createTerminal = (env: NodeJS.ProcessEnv, outputs: Outputs): Terminal => {
  const symbols = symbolsFor(env);
  const isInteractive = once(() => env.TERM !== 'dumb' && !isCi(env) && outputs.areOneTerminal());
  const hasColor = once(() => forcedColor(env) ?? (!env.NO_COLOR && isInteractive()));
  return {
    print: outputs.print,
    printResult: outputs.printResult,
    log: outputs.log,
    draw: outputs.draw,
    bell: outputs.bell,
    fullScreen: outputs.fullScreen,
    drained: (stop) => {
      const full = [outputs.stdout, outputs.stderr].filter((stream) => stream.writableNeedDrain);
      return full.length === 0 || stop.aborted ? null : drainAll(full, stop);
    },
    style: (style, text) => (hasColor() ? outputs.style(styles[style], text) : text),
    onClosed: (listener) => void outputs.stdout.once('error', listener),
    onResize: (listener) => {
      outputs.stderr.on('resize', listener);
      return () => void outputs.stderr.off('resize', listener);
    },
    symbols,
    get canPrompt() {
      // Node takes a while to open stdin.
      return !isCi(env) && Boolean(outputs.stderr.isTTY) && Boolean(process.stdin.isTTY);
    },
    get isInteractive() {
      return isInteractive();
    },
    get hasColor() {
      return hasColor();
    },
    get columns() {
      return outputs.stderr.columns || 80;
    },
    get rows() {
      return outputs.stderr.rows || 24;
    },
  };
};

const once = <Value>(find: () => Value): (() => Value) => {
  let found: { readonly value: Value } | null = null;
  return () => (found ??= { value: find() }).value;
};

/** A build is not interactive, even if it has a terminal. */
const isCi = ({ CI }: NodeJS.ProcessEnv): boolean => CI !== undefined && !['', '0', 'false'].includes(CI);

const forcedColor = ({ FORCE_COLOR }: NodeJS.ProcessEnv): boolean | null =>
  FORCE_COLOR === undefined ? null : !['0', 'false'].includes(FORCE_COLOR);

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

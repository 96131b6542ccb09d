import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Where a command speaks: data on stdout, talk on stderr. Colour only adds, and only where a person looks. */
export interface Terminal {
  /** Data: what was asked for, and the words of the agent. */
  out(text: string): void;
  /** Talk: what Spool itself has to say. */
  say(text: string): void;
  /**
   * Resolves when what was written has gone on its way: a slow reader slows us down instead of filling our memory.
   * When `stop` is aborted, it resolves at once: one that does not read at all must not keep us from ending.
   */
  drained(stop: AbortSignal): Promise<void>;
  paint(style: Style, text: string): string;
  /** A person is there to be asked. */
  readonly canAsk: boolean;
  /** stderr is a screen on which a line can be drawn again. */
  readonly isScreen: boolean;
  readonly columns: number;
  readonly rows: number;
}

export const createTerminal = (env: NodeJS.ProcessEnv): Terminal => {
  const { stdin, stdout, stderr } = process;
  const screens = Boolean(stdout.isTTY) && Boolean(stderr.isTTY);
  const dumb = env.TERM === 'dumb';
  const colour = screens && !dumb && !env.NO_COLOR;
  return {
    out: (text) => void stdout.write(text),
    say: (text) => void stderr.write(text),
    drained: async (stop) => {
      for (const stream of [stdout, stderr]) if (stream.writableNeedDrain && !stop.aborted) await drain(stream, stop);
    },
    paint: (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text),
    canAsk: Boolean(stdin.isTTY) && Boolean(stderr.isTTY),
    isScreen: screens && !dumb,
    // Asked anew each time, as a window may be resized; one whose size nobody set says 0.
    get columns() {
      return stderr.columns || 80;
    },
    get rows() {
      return stderr.rows || 24;
    },
  };
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

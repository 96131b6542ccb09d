import { fstatSync, statSync, writeSync } from 'node:fs';
import { fastEncoding, withoutControls } from '../text/controls.ts';
import { systemProblem } from '../errors.ts';

/**
 * Writes to stdout and stderr. The only place where text is made safe for a terminal: control characters from files,
 * agents, hooks and git are removed. Node creates a stream on first access, which is slow, so `stdout` and `stderr` are
 * accessed only when needed.
 */
export interface Outputs {
  /** Prints a short result at once, without creating a stream. */
  printResult(text: string): void;
  print(text: string): void;
  /** Writes to stderr. */
  log(text: string): void;
  /** Styles a text. Escape sequences that are part of the text itself are removed. */
  style(codes: StyleCodes, text: string): string;
  /** Writes a frame to a terminal, in one write. */
  draw(stream: 'stdout' | 'stderr', frame: Frame): void;
  /** Rings the bell of a terminal. */
  bell(): void;
  /** Whether stdout and stderr are the same terminal, so that what is written to one can be redrawn below the other. */
  areOneTerminal(): boolean;
  /** Draws a full screen on stderr, in one write. No line may be wider than it. */
  fullScreen(step: FullScreen): void;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** SGR codes. */
type StyleCodes = readonly [begin: number, end: number];

/** Lines at the bottom of a terminal that are redrawn in place, and what is written above them. */
export interface Frame {
  /** Empty, or ends with a newline. */
  readonly above: string;
  /** Each is narrower than the terminal. */
  readonly bottom: readonly string[];
  /** Whether the last frame had bottom lines. */
  readonly redraws: boolean;
}

/** A screen that leaves no trace in the terminal, and the lines that replace all that is on it. */
export type FullScreen = 'enter' | 'leave' | readonly string[];

const stdoutNumber = 1;

/** Loads the module only for what may be a terminal: that takes as long as everything that is rendered. */
export const isTerminal = (descriptor: number): boolean =>
  mayBeTerminal(descriptor) && process.getBuiltinModule('node:tty').isatty(descriptor);

/** Whether a descriptor is a device, other than the one that discards everything. */
export const mayBeTerminal = (descriptor: number): boolean => {
  const stats = fstatSync(descriptor);
  return stats.isCharacterDevice() && !(stats.rdev !== 0 && stats.rdev === nullDevice());
};

const nullDevice = (): number | undefined => statSync('/dev/null', { throwIfNoEntry: false })?.rdev;

/** Marks styles in a text with a random string until it is printed, so that no input can contain such a mark. */
const createStyles = () => {
  let mark: string | null = null;
  return {
    apply: ([begin, end]: StyleCodes, text: string): string => {
      mark ??= `<${crypto.randomUUID()}:`;
      return `${mark}${begin}>${text}${mark}${end}>`;
    },
    /** Removes control characters and replaces the marks by styles. */
    clean: (text: string): string => {
      const safe = withoutControls(text);
      if (mark === null || !safe.includes(mark)) return safe;
      const [first = '', ...styled] = safe.split(mark);
      return first + styled.map((part) => part.replace(/^(\d+)>/, '\u001b[$1m')).join('');
    },
  };
};

const eraseBelow = '\u001b[J';
const eraseRight = '\u001b[K';

/**
 * Between frames the cursor is at the start of the bottom lines. It stays there when a terminal that is resized wraps
 * them again, so erasing from the cursor on erases all of them and nothing else.
 */
const sequenceOf = ({ above, bottom, redraws }: Frame): string => {
  const toStart = redraws ? '\r' : '';
  if (bottom.length === 0) return `${toStart}${eraseBelow}${above}`;
  const up = bottom.length > 1 ? `\u001b[${bottom.length - 1}A` : '';
  if (above !== '') return `${toStart}${eraseBelow}${above}${unwrapped(bottom.join('\n'))}\r${up}`;
  // Overwrites the old lines, so that nothing is blank in between.
  const lines = bottom.map((line) => `${line}${eraseRight}`).join('\n');
  return `${toStart}${unwrapped(lines)}${eraseBelow}\r${up}`;
};

/** Cuts off what does not fit, as the window may just have become narrower. */
const unwrapped = (lines: string): string => `\u001b[?7l${lines}\u001b[?7h`;

/** Terminals that know this mode show the text between the two sequences at once. The others ignore it. */
const atOnce = (text: string): string => `\u001b[?2026h${text}\u001b[?2026l`;

/** Hides the cursor. Each line is erased after its end instead of before it, so that nothing flickers. */
const fullScreenSequence = (step: FullScreen, clean: (text: string) => string): string => {
  if (step === 'enter') return '\u001b[?1049h\u001b[?25l\u001b[H';
  if (step === 'leave') return '\u001b[?25h\u001b[?1049l';
  return `\u001b[H${step.map((line) => `${clean(line)}\u001b[K`).join('\r\n')}\u001b[J`;
};

/**
 * A closed pipe (`spool list | head`) is not an error. Any other failed write (such as a full disk) is: `onLost` is called
 * for a command that is finished, but not during a run, which continues.
 */
export const createOutputs = (onLost: () => void): Outputs => {
  const styles = createStyles();
  const watched = new Set<NodeJS.WriteStream>();
  const logLost = (error: unknown) => outputs.log(`spool: Cannot write the output: ${systemProblem(error)}.\n`);
  const watch = (stream: NodeJS.WriteStream): NodeJS.WriteStream => {
    if (watched.has(stream)) return stream;
    watched.add(stream);
    stream.once('error', (error: NodeJS.ErrnoException) => {
      stream.on('error', () => {});
      if (isClosedPipe(error)) return;
      if (stream === process.stdout) logLost(error);
      if (process.exitCode === 0) onLost();
    });
    return stream;
  };

  const outputs: Outputs = {
    printResult: (text) => {
      // A patch needs the line endings of its file.
      const bytes = Buffer.from(text.split('\r\n').map(styles.clean).join('\r\n'));
      try {
        const written = writeSync(stdoutNumber, bytes);
        if (written < bytes.length) outputs.stdout.write(bytes.subarray(written));
      } catch (error) {
        if (isClosedPipe(error)) return;
        // The pipe is full: the stream waits for the reader.
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return void outputs.stdout.write(bytes);
        logLost(error);
        onLost();
      }
    },
    print: (text) => {
      const clean = styles.clean(text);
      outputs.stdout.write(clean, fastEncoding(clean));
    },
    log: (text) => void outputs.stderr.write(styles.clean(text)),
    style: styles.apply,
    draw: (stream, { above, bottom, redraws }) =>
      void outputs[stream].write(
        atOnce(sequenceOf({ above: styles.clean(above), bottom: bottom.map(styles.clean), redraws })),
      ),
    areOneTerminal: () => Boolean(outputs.stdout.isTTY && outputs.stderr.isTTY) && isSameDevice(),
    bell: () => void outputs.stderr.write('\u0007'),
    fullScreen: (step) => void outputs.stderr.write(fullScreenSequence(step, styles.clean)),
    get stdout() {
      return watch(process.stdout);
    },
    get stderr() {
      return watch(process.stderr);
    },
  };
  return outputs;
};

const isSameDevice = () => process.platform === 'win32' || fstatSync(1).rdev === fstatSync(2).rdev;

const isClosedPipe = (error: unknown) => ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');

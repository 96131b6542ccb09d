import { writeSync } from 'node:fs';
import { withoutControls } from '../text/controls.ts';
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
  /** Writes a control sequence to stderr. */
  control(sequence: ControlSequence): void;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** SGR codes. */
type StyleCodes = readonly [begin: number, end: number];

export type ControlSequence =
  { readonly erase: 'line' } | { readonly erase: 'rows above'; readonly rows: number } | 'bell';

const stdoutNumber = 1;

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

const sequenceOf = (sequence: ControlSequence): string => {
  if (sequence === 'bell') return '\u0007';
  return sequence.erase === 'line' ? '\r\u001b[2K' : `\u001b[${sequence.rows}A\u001b[0J`;
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
      const bytes = Buffer.from(styles.clean(text));
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
    print: (text) => void outputs.stdout.write(styles.clean(text)),
    log: (text) => void outputs.stderr.write(styles.clean(text)),
    style: styles.apply,
    control: (sequence) => void outputs.stderr.write(sequenceOf(sequence)),
    get stdout() {
      return watch(process.stdout);
    },
    get stderr() {
      return watch(process.stderr);
    },
  };
  return outputs;
};

const isClosedPipe = (error: unknown) => ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');

import { writeSync } from 'node:fs';
import { withoutControls } from '../text/controls.ts';
import { systemProblem } from '../errors.ts';

/**
 * Where everything is written to, and the one place where text is made safe for a terminal: whatever it holds of files,
 * agents, hooks and git, no control character of theirs gets through. Node makes a stream when it is first used, which
 * takes time, so that is when it is asked for.
 */
export interface Outputs {
  /** Prints a whole short result at once, without a stream. */
  printResult(text: string): void;
  print(text: string): void;
  log(text: string): void;
  /** Puts text into a style; it loses that of any other origin. */
  style(codes: StyleCodes, text: string): string;
  /** Moves the cursor of the screen, erases, or rings. */
  control(sequence: ControlSequence): void;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** The numbers that begin and end a style. */
type StyleCodes = readonly [begin: number, end: number];

export type ControlSequence =
  { readonly erase: 'line' } | { readonly erase: 'rows above'; readonly rows: number } | 'bell';

const stdoutNumber = 1;

/** How a style begins and ends in a text on its way. It is drawn for each process, so that nobody else can write it. */
const createStyles = () => {
  let mark: string | null = null;
  return {
    apply: ([begin, end]: StyleCodes, text: string): string => {
      mark ??= `<${crypto.randomUUID()}:`;
      return `${mark}${begin}>${text}${mark}${end}>`;
    },
    /** Without controls but for the styles. */
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
 * A reader that has left (`spool list | head`) is no error. A disk that is full is one, and `onLost` is called, for a
 * command that has printed its answer, but never for a run, which goes on.
 */
export const createOutputs = (onLost: () => void): Outputs => {
  const styles = createStyles();
  const watched = new Set<NodeJS.WriteStream>();
  const sayLost = (error: unknown) => outputs.log(`spool: Cannot write the output: ${systemProblem(error)}.\n`);
  const watch = (stream: NodeJS.WriteStream): NodeJS.WriteStream => {
    if (watched.has(stream)) return stream;
    watched.add(stream);
    stream.once('error', (error: NodeJS.ErrnoException) => {
      stream.on('error', () => {});
      if (hasLeft(error)) return;
      if (stream === process.stdout) sayLost(error);
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
        if (hasLeft(error)) return;
        // A slow reader: the stream waits for it.
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return void outputs.stdout.write(bytes);
        sayLost(error);
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

const hasLeft = (error: unknown) => ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');

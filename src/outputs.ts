import { writeSync } from 'node:fs';
import { systemProblem } from './errors.ts';

/** Where it is written to. Node makes a stream when it is first used, which takes time, so that is when it is asked for. */
export interface Outputs {
  /** Prints a whole short answer at once, without a stream. */
  answer(text: string): void;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

const stdoutNumber = 1;

/**
 * A reader that has left (`spool list | head`) is no error. A disk that is full is one, and `onLost` is called, for a
 * command that has printed its answer, but never for a run, which goes on.
 */
export const createOutputs = (onLost: () => void): Outputs => {
  const watched = new Set<NodeJS.WriteStream>();
  const sayLost = (error: unknown) =>
    outputs.stderr.write(`spool: Cannot write the output: ${systemProblem(error)}.\n`);
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
    answer: (text) => {
      const bytes = Buffer.from(text);
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

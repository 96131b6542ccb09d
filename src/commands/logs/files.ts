import { closeSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '../../process/timers.ts';
import { userError } from '../../errors.ts';
import { openSafely } from '../../files/safe.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { iterationLog, runFolder } from '../../store/paths.ts';
import { loopOwner, readState } from '../../store/state.ts';
import { asRecorded } from '../../store/user-state/steps.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { endCode, whyMissing } from './ending.ts';
import type { LogFiles } from './log-files.ts';

/** Prints a file of an iteration, block by block. Returns the exit code. */
export const printFile = async (
  files: LogFiles,
  path: string,
  { iteration, what }: { readonly iteration: number; readonly what: 'log' | 'prompt' },
): Promise<number> => {
  const printer = openPrinter(files, path);
  if (printer === null)
    throw userError('no-log', files.change, iteration, what, whyMissing(files, await viewOf(files), iteration));
  await printer.print();
  await printer.end();
  return endCode(null, files.signals.received());
};

const pollMs = 200;

/** Prints the logs of a run from an iteration on, as they grow. Returns the exit code of the run. */
export const followLogs = async (files: LogFiles, first: number): Promise<number> => {
  const { project, change, run, signals, closed, stop } = files;
  const folder = runFolder(project, change, run);
  let printer: Printer | null = null;
  for (let iteration = first; ;) {
    // Before the log is read: what it has at the end of its iteration is then printed.
    const view = await viewOf(files);
    const isOver = view === null || view.status !== 'running';
    printer ??= openPrinter(files, iterationLog(folder, iteration));
    await printer?.print();
    if (stop.aborted || isOver) {
      await printer?.end();
      if (closed.aborted) return 0;
      if (printer === null && iteration === first && signals.received() === null)
        throw userError('no-log', change, iteration, 'log', whyMissing(files, view, iteration));
      return endCode(view, signals.received());
    }
    if (view.iteration > iteration) {
      await printer?.end();
      printer = null;
      iteration++;
    } else await sleep(pollMs, stop);
  }
};

/** The run as it is now; null if another run has taken its place, and it has ended. */
const viewOf = async ({ project, change, run, env }: LogFiles): Promise<RunView | null> => {
  const saved = await readState(project, change).catch(() => null);
  if (saved?.run !== run) return null;
  const view = asRecorded(userStateFolder(project, change, env), saved);
  return { ...view, status: currentStatus(view, loopOwner(project, change) !== null) };
};

interface Printer {
  /** Prints what was added to the file. */
  print(): Promise<void>;
  end(): Promise<void>;
}

const blockSize = 64 * 1024;

/** Returns null if there is no such file. Secrets and control characters are removed. */
const openPrinter = ({ env, terminal, stop }: LogFiles, path: string): Printer | null => {
  const file = openIfThere(path);
  if (file === null) return null;
  const redactor = createRedactor(env).stream();
  const decoder = new StringDecoder('utf8');
  const block = Buffer.alloc(blockSize);
  let position = 0;
  return {
    async print() {
      while (!stop.aborted) {
        const length = readSync(file, block, 0, blockSize, position);
        if (length === 0) return;
        position += length;
        terminal.print(decoder.write(Buffer.from(redactor.pass(block.subarray(0, length)))));
        await terminal.drained(stop);
        // Lets signals arrive: a file may be endless, and nothing else may make this wait.
        await nextTurn();
      }
    },
    async end() {
      terminal.print(decoder.write(Buffer.from(redactor.end())) + decoder.end());
      closeSync(file);
    },
  };
};

const openIfThere = (path: string): number | null => {
  try {
    return openSafely(path, 'read');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
};

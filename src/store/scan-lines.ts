import { closeSync, fstatSync, readSync, type Stats } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMissing } from '../files/checks.ts';
import { openSafely } from '../files/safe.ts';

/** Where a whole line is in a file. */
export interface LinePlace {
  readonly offset: number;
  /** In bytes, without the newline. */
  readonly length: number;
}

/** A line that was found, with its beginning. */
export interface ScannedLine extends LinePlace {
  /** At most `headSize` bytes, as Latin-1. */
  readonly head: string;
}

const newline = 0x0a;
const blockSize = 256 * 1024;
const headSize = 400;
/** How long other tasks of the process may be blocked. */
const busyMs = 10;

/**
 * Finds the whole lines of an open file between two offsets. Keeps only the beginning of a line in memory, so neither a long
 * line nor a long file takes any. Resolves to the offset behind the last whole line.
 */
export const scanLines = async (
  file: number,
  { from, to }: { readonly from: number; readonly to: number },
  onLine: (line: ScannedLine) => void,
): Promise<number> => {
  const block = Buffer.allocUnsafe(blockSize);
  let [offset, position] = [from, from];
  let head = '';
  let sinceMs = performance.now();
  const addHead = (part: Buffer) => {
    if (head.length < headSize) head += part.toString('latin1', 0, headSize - head.length);
  };
  while (position < to) {
    const length = readSync(file, block, 0, Math.min(blockSize, to - position), position);
    if (length === 0) break;
    let start = 0;
    for (let end = block.indexOf(newline); end !== -1 && end < length; end = block.indexOf(newline, start)) {
      addHead(block.subarray(start, end));
      onLine({ offset, length: position + end - offset, head });
      [start, offset, head] = [end + 1, position + end + 1, ''];
    }
    addHead(block.subarray(start, length));
    position += length;
    if (performance.now() - sinceMs <= busyMs) continue;
    await nextTurn();
    sinceMs = performance.now();
  }
  return offset;
};

/** Calls `work` with an open file; returns null if there is none. */
export const withFile = async <Result>(
  path: string,
  work: (file: number, stats: Stats) => Result | Promise<Result>,
): Promise<Result | null> => {
  let file: number;
  try {
    file = openSafely(path, 'read');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    return await work(file, fstatSync(file));
  } finally {
    closeSync(file);
  }
};

/** Reads a part of an open file. */
export const readPart = (file: number, { offset, length }: LinePlace): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
};

/** What is known about the lines of a file that grows. It is scanned again from its beginning only if it was replaced. */
export interface LineIndex<Entry> {
  /** Brings the index up to date, and calls `work` with the open file; resolves to null if there is no file. */
  use<Result>(
    work: (file: number, entries: readonly Entry[], size: number) => Result | Promise<Result>,
  ): Promise<Result | null>;
}

/**
 * `read` turns a line into an entry, or null to skip it. Calls at the same time share one scan.
 */
export const createLineIndex = <Entry extends object>(
  path: string,
  read: (line: ScannedLine, file: number) => Entry | null,
): LineIndex<Entry> => {
  let known: { readonly identity: string; readonly end: number; readonly entries: Entry[] } | null = null;
  let scanning: Promise<unknown> = Promise.resolve();
  const update = async (file: number, { dev, ino, size }: Stats): Promise<readonly Entry[]> => {
    const identity = `${dev} ${ino}`;
    const isSame = known?.identity === identity && size >= known.end;
    const { end: from, entries } = isSame && known !== null ? known : { end: 0, entries: [] as Entry[] };
    const end = await scanLines(file, { from, to: size }, (line) => {
      const entry = read(line, file);
      if (entry !== null) entries.push(entry);
    });
    known = { identity, end, entries };
    return entries;
  };
  return {
    use: (work) =>
      withFile(path, async (file, stats) => {
        const entries = scanning.then(() => update(file, stats));
        scanning = entries.catch(() => {});
        return work(file, await entries, stats.size);
      }),
  };
};

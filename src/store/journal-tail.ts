import { closeSync, fstatSync, lstatSync, readSync, type Stats } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { atPath } from '../errors.ts';
import { openSafely } from '../files/safe.ts';
import { isSameFile } from '../files/stamp.ts';

/** The whole lines of a journal that grows, and that may be deleted and created again. */
export interface JournalTail {
  /** Yields the lines of each block that was added since the last call. Lines that are not objects are left out. */
  newLines(): Generator<readonly string[]>;
  /** The last line that was read was written by Spool. */
  accept(): void;
  /** The file was replaced: its lines may have been read before. */
  isRepeated(): boolean;
  close(): void;
}

const blockSize = 64 * 1024;
/** Spool writes no longer line. Longer ones, which others can write, are skipped without keeping them in memory. */
const maxLine = 16 * 1024 * 1024;
/** After this many bytes without a line of Spool, only the end of the file is read: a sparse file can have any size. */
const maxForeign = 64 * 1024 * 1024;
const endSize = 1024 * 1024;

export const openJournalTail = (path: string): JournalTail => {
  let opened: { readonly file: number; readonly stats: Stats } | null = null;
  let position = 0;
  let foreign = 0;
  let isRepeated = false;
  let open = createOpenLine();
  const block = Buffer.alloc(blockSize);

  const close = () => {
    if (opened !== null) closeSync(opened.file);
    opened = null;
  };
  const seek = (to: number) => {
    [position, foreign, open] = [to, 0, createOpenLine({ isInside: to > 0 })];
  };
  /** The file under this name now; null if there is none. */
  const ensureOpen = () => {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (opened !== null && isSameFile(there, opened.stats) && there!.size >= position) return opened;
    isRepeated ||= opened !== null;
    close();
    seek(0);
    if (there === undefined) return null;
    try {
      const file = openSafely(path, 'read');
      return (opened = { file, stats: fstatSync(file) });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      return atPath(path)(error);
    }
  };

  return {
    *newLines() {
      const current = ensureOpen();
      if (current === null) return;
      const { size } = fstatSync(current.file);
      while (position < size) {
        const length = readSync(current.file, block, 0, blockSize, position);
        if (length === 0) return;
        position += length;
        foreign += length;
        yield open.add(block.subarray(0, length));
        if (foreign > maxForeign && position < size - endSize) seek(size - endSize);
      }
    },
    accept: () => {
      foreign = 0;
    },
    isRepeated: () => isRepeated,
    close,
  };
};

/** Collects the parts of a line that is not complete yet. `isInside`: the first part belongs to a line that is skipped. */
const createOpenLine = ({ isInside = false } = {}) => {
  let decoder = new StringDecoder('utf8');
  let held = '';
  let isLeftOut = isInside;
  const hold = (part: string) => {
    if (isLeftOut || part === '') return;
    isLeftOut = held === '' ? !part.startsWith('{') : held.length > maxLine;
    held = isLeftOut ? '' : held + part;
  };
  return {
    /** Returns the lines that end in these bytes. */
    add: (bytes: Buffer): readonly string[] => {
      const lines: string[] = [];
      const parts = decoder.write(bytes).split('\n');
      const last = parts.pop()!;
      for (const part of parts) {
        hold(part);
        if (held !== '') lines.push(held);
        [held, isLeftOut] = ['', false];
      }
      hold(last);
      if (isLeftOut) decoder = new StringDecoder('utf8');
      return lines;
    },
  };
};

import { closeSync, fstatSync, lstatSync, readSync, type Stats } from 'node:fs';
import { systemProblem, UserError } from '../errors.ts';
import { openSafely, writeAll } from '../files/safe.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { count, isObject, parseJson } from '../text/shape.ts';
import { linesFromEnd } from './history.ts';

/** One line of the journal. */
export interface JournalLine {
  readonly v: 1;
  /** Counts the lines of a run, including those before it was resumed. */
  readonly seq: number;
  readonly at: string;
  /** That of the view at this event: no event has it. */
  readonly elapsedMs: number;
  readonly event: RunEvent;
  /** The view after this event, on the first line of each start and of each new file. A reader folds the rest into it. */
  readonly view?: RunView;
}

/** The file of a journal, kept open and written in blocks. */
export interface JournalLines {
  /** Buffers a line; returns its length. */
  add(line: Omit<JournalLine, 'v' | 'seq'>): number;
  /** The next line has to carry the view: readers of this file have none yet. */
  needView(): boolean;
  /** Characters that are buffered. */
  size(): number;
  flush(): void;
  close(): void;
}

/** How far back the last number of an older journal is looked for: others can write to it as well. */
const maxLinesBack = 1000;
const maxBytesBack = 1024 * 1024;

/** A run never counts that far. A forged number must not leave too few numbers for the rest of the run. */
const maxSeq = 2 ** 40;

/** Opens the file again when it was deleted or replaced. While its folder is missing, lines stay in the buffer. */
export const openJournalLines = (path: string, onProblem: (problem: string) => void): JournalLines => {
  let opened: { readonly file: number; readonly stats: Stats } | null = null;
  let lines: string[] = [];
  let size = 0;
  let seq = 0;
  let hasView = false;
  let isTorn = false;
  let isReported = false;

  const close = () => {
    if (opened !== null) closeSync(opened.file);
    opened = null;
  };
  const open = () => {
    const file = openSafely(path, 'append');
    opened = { file, stats: fstatSync(file) };
    isTorn = endsMidLine(file, opened.stats.size);
    // Once it has a number the run counts by itself, whatever others put in place of the file.
    if (seq === 0) seq = lastSeq(path);
    hasView = false;
    return opened;
  };
  const isInPlace = ({ dev, ino }: Stats): boolean => {
    const now = lstatSync(path, { throwIfNoEntry: false });
    return now?.ino === ino && now.dev === dev;
  };
  const ensureOpen = () => {
    if (opened !== null && isInPlace(opened.stats)) return opened;
    close();
    return open();
  };
  const clear = () => {
    [lines, size] = [[], 0];
  };
  /** Runs what touches the file. A missing folder is created again by the run; any other problem is reported once. */
  const attempt = (work: () => void) => {
    try {
      work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      clear();
      if (!isReported) onProblem(error instanceof UserError ? error.message : `${path}: ${systemProblem(error)}`);
      isReported = true;
    }
  };

  attempt(open);
  return {
    add: (line) => {
      const text = `${JSON.stringify({ v: 1, seq: ++seq, ...line } satisfies JournalLine)}\n`;
      lines.push(text);
      size += text.length;
      hasView ||= line.view !== undefined;
      return text.length;
    },
    needView: () => !hasView,
    size: () => size,
    flush: () =>
      attempt(() => {
        if (lines.length === 0) return;
        const { file } = ensureOpen();
        const text = `${isTorn ? '\n' : ''}${lines.join('')}`;
        // Until all of it is written.
        isTorn = true;
        writeAll(file, text);
        isTorn = false;
        clear();
      }),
    close,
  };
};

const newline = 0x0a;

const endsMidLine = (file: number, size: number): boolean => {
  const last = Buffer.alloc(1, newline);
  if (size > 0) readSync(file, last, 0, 1, size - 1);
  return last[0] !== newline;
};

/** Returns 0 if there is none that can be continued. */
const lastSeq = (path: string): number => {
  let left = maxLinesBack;
  for (const line of linesFromEnd(path, maxBytesBack)) {
    if (line === null || left-- === 0) break;
    const value = line.startsWith('{') ? parseJson(line) : undefined;
    const seq = isObject(value) ? count(value.seq) : undefined;
    if (seq !== undefined && seq < maxSeq) return seq;
  }
  return 0;
};

import { closeSync, fstatSync, lstatSync, type Stats } from 'node:fs';
import { endsMidLine } from '../files/line-end.ts';
import { isSameFile } from '../files/stamp.ts';
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
  /** The running time of the view at this event. No event contains it. */
  readonly elapsedMs: number;
  readonly event: RunEvent;
  /** The view after this event, on the first line of each start and of each new file. A reader folds the rest into it. */
  readonly view?: RunView;
}

/** The file of a journal, kept open and written in blocks. */
export interface JournalLines {
  /** Buffers a line; returns its length. */
  add(line: Omit<JournalLine, 'v' | 'seq'>): number;
  /** The next line must contain the view, because readers of this file do not have it yet. */
  needView(): boolean;
  /** The number of buffered characters. */
  size(): number;
  flush(): void;
  close(): void;
}

/** How far back the last number of an older journal is searched for, because others can write to it too. */
const maxLinesBack = 1000;
const maxBytesBack = 1024 * 1024;

/** No run gets that far. A forged number must not leave too few numbers for the rest of the run. */
const maxSeq = 2 ** 40;

/** Opens the file again if it was deleted or replaced. While its folder is missing, lines stay in the buffer. */
export const openJournalLines = (path: string, onProblem: (problem: string) => void): JournalLines => {
  let lines: string[] = [];
  let size = 0;
  let seq = 0;
  let hasView = false;
  let isReported = false;

  const file = createJournalFile(path, () => {
    // Once the run has a number, it counts by itself, even if the file is replaced.
    if (seq === 0) seq = lastSeq(path);
    hasView = false;
  });
  const clear = () => {
    [lines, size] = [[], 0];
  };
  /** Runs an operation on the file. The run creates a missing folder again; any other problem is reported once. */
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

  attempt(file.open);
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
        file.append(lines);
        clear();
      }),
    close: file.close,
  };
};

/** Calls `onOpen` whenever it opens the file. */
const createJournalFile = (path: string, onOpen: () => void) => {
  let opened: { readonly file: number; readonly stats: Stats } | null = null;
  let isTorn = false;
  const close = () => {
    if (opened !== null) closeSync(opened.file);
    opened = null;
  };
  const open = () => {
    const file = openSafely(path, 'append');
    opened = { file, stats: fstatSync(file) };
    isTorn = endsMidLine(file, opened.stats);
    onOpen();
    return opened;
  };
  const isInPlace = (stats: Stats): boolean => isSameFile(lstatSync(path, { throwIfNoEntry: false }), stats);
  const ensureOpen = () => {
    if (opened !== null && isInPlace(opened.stats)) return opened;
    close();
    return open();
  };
  return {
    open,
    close,
    append: (lines: readonly string[]) => {
      const { file } = ensureOpen();
      const text = `${isTorn ? '\n' : ''}${lines.join('')}`;
      // One call may write only a part.
      isTorn = true;
      writeAll(file, text);
      isTorn = false;
    },
  };
};

/** Returns 0 if no number was found. */
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

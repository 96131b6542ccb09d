import { createLineIndex, type LinePlace, readPart, scanLines, type ScannedLine } from './scan-lines.ts';
import { parseJournalLine } from './event-format.ts';
import type { JournalLine } from './journal-lines.ts';

/*
 * Reads parts of a journal. A journal may have hundreds of megabytes, so only the offsets of its iterations are kept in
 * memory, and of its lines only those of one window.
 */

/** Where an iteration is in the journal, in bytes. */
interface IterationRange {
  readonly start: number;
  readonly end: number;
  /** A later iteration has begun, so nothing will be added. */
  readonly isClosed: boolean;
}

/** Some lines of an iteration, in order. */
export interface JournalWindow {
  readonly lines: readonly JournalLine[];
  /** The part of the journal that they are from. */
  readonly start: number;
  readonly end: number;
  readonly range: IterationRange;
}

export interface JournalReader {
  /** The lines from an offset on; from the beginning of the iteration if it is null. Resolves to null if there are none. */
  after(iteration: number, offset: number | null): Promise<JournalWindow | null>;
  /** The lines before an offset; before the end of the iteration if it is null. */
  before(iteration: number, offset: number | null): Promise<JournalWindow | null>;
}

/** How much of the journal one window has, unless a line is longer. */
const windowSize = 256 * 1024;
const maxLines = 1000;
/** Spool writes no longer line. */
const maxLine = 16 * 1024 * 1024;

interface Start {
  readonly iteration: number;
  readonly offset: number;
}

/** Spool writes the fields in this order. */
const startLine =
  /^\{"v":1,"seq":\d{1,15},"at":"[^"]{1,40}","elapsedMs":[\d.]{1,20},"event":\{"type":"iteration-started","iteration":(\d{1,9}),/;

const startOf = ({ head, offset }: ScannedLine): Start | null => {
  const iteration = startLine.exec(head)?.[1];
  return iteration === undefined ? null : { iteration: Number(iteration), offset };
};

/** The lines that were found, and the part of the file that was searched. */
interface Found {
  readonly places: readonly LinePlace[];
  readonly from: number;
  readonly to: number;
}

export const createJournalReader = (path: string): JournalReader => {
  const index = createLineIndex(path, startOf);
  const read = (iteration: number, find: (file: number, range: IterationRange) => Promise<Found>) =>
    index.use(async (file, starts, size): Promise<JournalWindow | null> => {
      const range = rangeOf(starts, iteration, size);
      if (range === null) return null;
      const { places, from, to } = await find(file, range);
      const last = places.at(-1);
      return {
        lines: places.flatMap((place) => parsed(file, place)),
        start: places[0]?.offset ?? from,
        end: last === undefined ? to : last.offset + last.length + 1,
        range,
      };
    });
  return {
    after: (iteration, offset) =>
      read(iteration, (file, range) => findAfter(file, within(range, offset ?? range.start), range.end)),
    before: (iteration, offset) =>
      read(iteration, (file, range) => findBefore(file, within(range, offset ?? range.end), range.start)),
  };
};

const findAfter = async (file: number, from: number, limit: number, size = windowSize): Promise<Found> => {
  const to = Math.min(limit, from + size);
  const places = await placesIn(file, from, to);
  if (places.length > 0) return { places: places.slice(0, maxLines), from, to };
  // The last line of a journal that grows may not be complete.
  if (to === limit) return { places, from, to: from };
  return size < maxLine ? findAfter(file, from, limit, maxLine) : { places, from, to };
};

const findBefore = async (file: number, to: number, limit: number, size = windowSize): Promise<Found> => {
  const from = Math.max(limit, to - size);
  const found = await placesIn(file, from, to);
  // The first one begins before the window, unless the window is at the beginning.
  const places = from === limit ? found : found.slice(1);
  if (places.length > 0 || from === limit || size >= maxLine) return { places: places.slice(-maxLines), from, to };
  return findBefore(file, to, limit, maxLine);
};

const within = ({ start, end }: IterationRange, offset: number): number => Math.min(Math.max(offset, start), end);

/** An iteration has several starts if it was interrupted or deferred. */
const rangeOf = (starts: readonly Start[], iteration: number, size: number): IterationRange | null => {
  const first = starts.findIndex((start) => start.iteration === iteration);
  if (first === -1) return null;
  const next = starts.slice(first).find((start) => start.iteration > iteration);
  return { start: starts[first]!.offset, end: next?.offset ?? size, isClosed: next !== undefined };
};

const placesIn = async (file: number, from: number, to: number): Promise<LinePlace[]> => {
  const places: LinePlace[] = [];
  await scanLines(file, { from, to }, ({ offset, length }) => places.push({ offset, length }));
  return places;
};

const parsed = (file: number, place: LinePlace): JournalLine[] => {
  if (place.length > maxLine) return [];
  const line = parseJournalLine(readPart(file, place).toString('utf8'));
  return line === undefined ? [] : [line];
};

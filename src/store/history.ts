import { closeSync, existsSync, fstatSync, fsyncSync, readSync } from 'node:fs';
import { relative } from 'node:path';
import { endsMidLine } from '../files/line-end.ts';
import { atPath } from '../errors.ts';
import { openSafely, writeAll } from '../files/safe.ts';
import { statsOf } from '../files/read.ts';
import { parseJsonText } from '../text/json.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { type Project } from './project.ts';
import { parseRecord } from './formats.ts';
import { upgradeRecord } from './upgrade.ts';
import { historyFile } from './paths.ts';

/** Returns when the record is on disk. First ends a line that a crash has cut off, so that only that line is lost. */
export const appendRecord = (project: Project, changeId: string, record: IterationRecord): void => {
  const path = historyFile(project, changeId);
  const file = openSafely(path, 'append');
  try {
    writeAll(file, `${endsMidLine(file) ? '\n' : ''}${JSON.stringify(record)}\n`);
    fsyncSync(file);
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

export const historySize = (project: Project, changeId: string): number =>
  statsOf(historyFile(project, changeId))?.size ?? 0;

/** Records at the end of a history, oldest first. */
export interface HistoryEnd {
  readonly records: readonly IterationRecord[];
  /** Reading stopped before all records were found, because the file has too many lines that are not records. */
  readonly isCut: boolean;
}

/** Returns the last records. Reads from the end of the file, so its length does not matter. */
export const lastRecords = (project: Project, changeId: string, count: number): HistoryEnd =>
  recordsFromEnd(project, changeId, { count });

/** Returns all records of the run with the last record. */
export const lastRunRecords = (project: Project, changeId: string): HistoryEnd =>
  recordsFromEnd(project, changeId, { isOneRun: true });

/** A line for the user about a history that was not read to its beginning. */
export const cutHistory = (project: Project, changeId: string): string =>
  `Only the end of ${relative(project.root, historyFile(project, changeId))} was read: the rest is damaged or too long.`;

/** More than the records of 100,000 iterations need. */
const maxBytes = 128 * 1024 * 1024;

/** Lines that are not records. Crashes and merges leave a few. */
const maxUnusable = 10_000;

const recordsFromEnd = (
  project: Project,
  changeId: string,
  { count = Infinity, isOneRun = false }: { readonly count?: number; readonly isOneRun?: boolean },
): HistoryEnd => {
  const found: IterationRecord[] = [];
  const end = (isCut: boolean): HistoryEnd => ({ records: found.toReversed(), isCut });
  let unusable = 0;
  for (const line of linesFromEnd(historyFile(project, changeId), maxBytes)) {
    if (line === null || unusable > maxUnusable) return end(true);
    const record = parseHistoryLine(line);
    if (record === null) unusable++;
    else if (isOneRun && found[0] && record.run !== found[0].run) break;
    else if (found.push(record) >= count) break;
  }
  return end(false);
};

const newline = 0x0a;
const blockSize = 16 * 1024;

/** No record is longer. A longer line is skipped without being kept in memory. */
export const maxRecordBytes = 16 * 1024 * 1024;

/**
 * Yields the lines of a file, the last one first. Reads every byte once, and copies it at most once more. Reads at most
 * about `limit` bytes, because a sparse file can have any size. A null at the end stands for the rest.
 */
export function* linesFromEnd(path: string, limit: number): Generator<string | null> {
  if (!existsSync(path)) return;
  const file = openSafely(path, 'read');
  try {
    let line = createLine();
    const { size } = fstatSync(file);
    for (let position = size; position > 0;) {
      if (size - position >= limit) {
        yield null;
        return;
      }
      const block = Buffer.alloc(Math.min(blockSize, position));
      position -= block.length;
      let rest = block.subarray(0, readSync(file, block, 0, block.length, position));
      for (let end = rest.lastIndexOf(newline); end !== -1; end = rest.lastIndexOf(newline)) {
        line.prepend(rest.subarray(end + 1));
        yield line.text();
        line = createLine();
        rest = rest.subarray(0, end);
      }
      line.prepend(rest);
    }
    yield line.text();
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
}

/** Collects a line from its end to its beginning. The text is empty for a line over the limit. */
const createLine = () => {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    prepend(part: Buffer): void {
      length += part.length;
      if (length <= maxRecordBytes) parts.push(part);
      else parts = [];
    },
    text: () => (parts.length === 1 ? parts[0]! : Buffer.concat(parts.toReversed())).toString('utf8'),
  };
};

/** Returns null for a line that is blank or cut off, or that Spool did not write. */
export const parseHistoryLine = (line: string): IterationRecord | null => {
  // Checked first, because an exception is much slower.
  if (!line.startsWith('{')) return null;
  try {
    return parseRecord(upgradeRecord(parseJsonText(line))) ?? null;
  } catch {
    return null;
  }
};

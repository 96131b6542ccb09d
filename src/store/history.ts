import { closeSync, existsSync, fstatSync, fsyncSync, readSync } from 'node:fs';
import { atPath } from '../errors.ts';
import { openSafely, writeAll } from '../files/safe.ts';
import { statsOf } from '../files/read.ts';
import { parseJsonText } from '../text/json.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { type Project } from './project.ts';
import { parseRecord } from './formats.ts';
import { upgradeRecord } from './upgrade.ts';
import { historyFile } from './paths.ts';

/** The line is on the disk when this returns. A line that a crash has cut off is closed first, so that only that one is lost. */
export const appendRecord = (project: Project, changeId: string, record: IterationRecord): void => {
  const path = historyFile(project, changeId);
  const file = openSafely(path, 'append');
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1, newline);
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    writeAll(file, `${last[0] === newline ? '' : '\n'}${JSON.stringify(record)}\n`);
    fsyncSync(file);
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

export const historySize = (project: Project, changeId: string): number =>
  statsOf(historyFile(project, changeId))?.size ?? 0;

/** Returns the last records, oldest first. It reads from the end of the file, so the length of the file does not matter. */
export const lastRecords = async (project: Project, changeId: string, count: number): Promise<IterationRecord[]> => {
  const records: IterationRecord[] = [];
  for (const record of recordsFromEnd(project, changeId)) {
    records.push(record);
    if (records.length === count) break;
  }
  return records.toReversed();
};

/** Returns all records of the run with the last record, oldest first. */
export const lastRunRecords = (project: Project, changeId: string): IterationRecord[] => {
  const records: IterationRecord[] = [];
  for (const record of recordsFromEnd(project, changeId)) {
    if (records[0] && record.run !== records[0].run) break;
    records.push(record);
  }
  return records.toReversed();
};

function* recordsFromEnd(project: Project, changeId: string): Generator<IterationRecord> {
  for (const line of linesFromEnd(historyFile(project, changeId))) {
    const record = parse(line);
    if (record) yield record;
  }
}

const newline = 0x0a;
const blockSize = 16 * 1024;

/** No record is longer. A longer line is skipped without being kept in memory. */
const longestLine = 16 * 1024 * 1024;

/** Yields the lines of a file, the last one first. Reads every byte once, and copies it at most once more. */
export function* linesFromEnd(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const file = openSafely(path, 'read');
  try {
    let line = createLine();
    for (let position = fstatSync(file).size; position > 0;) {
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

/** Collects a line from its end to its beginning. Its text is empty when it is too long. */
const createLine = () => {
  let parts: Buffer[] = [];
  let length = 0;
  return {
    prepend(part: Buffer): void {
      length += part.length;
      if (length <= longestLine) parts.push(part);
      else parts = [];
    },
    text: () => (parts.length === 1 ? parts[0]! : Buffer.concat(parts.toReversed())).toString('utf8'),
  };
};

/** Returns null for a line that is blank or cut off, or that Spool did not write. */
const parse = (line: string): IterationRecord | null => {
  try {
    return parseRecord(upgradeRecord(parseJsonText(line))) ?? null;
  } catch {
    return null;
  }
};

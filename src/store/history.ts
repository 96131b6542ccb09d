import { closeSync, existsSync, fstatSync, fsyncSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { atPath } from '../errors.ts';
import { openOwn, writeAll } from '../files/own.ts';
import { statsOf } from '../files/read.ts';
import { parseJsonText } from '../text/json.ts';
import type { IterationRecord } from '../ralph/events.ts';
import { type Project, ralphFolder } from './project.ts';
import { parseRecord } from './formats.ts';
import { upgradeRecord } from './upgrade.ts';

const historyFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'history.jsonl');

/** When it returns, the line is on the disk. A line that a crash has cut off is closed first, so only that one is lost. */
export const appendRecord = (project: Project, changeId: string, record: IterationRecord): void => {
  const path = historyFile(project, changeId);
  const file = openOwn(path, 'append');
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

/** The last records, oldest first. Reads from the end of the file, so its length does not matter. */
export const lastRecords = async (project: Project, changeId: string, count: number): Promise<IterationRecord[]> => {
  const records: IterationRecord[] = [];
  for (const record of recordsFromEnd(project, changeId)) {
    records.push(record);
    if (records.length === count) break;
  }
  return records.toReversed();
};

/** All records of the run that the last record is of, oldest first. */
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

/** No record is longer: what is was written by somebody else, and is passed over without being held in memory. */
const longestLine = 16 * 1024 * 1024;

/** The lines of a file, the last one first. Every byte is read once, and copied once more at most. */
export function* linesFromEnd(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const file = openOwn(path, 'read');
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

/** A line whose beginning is still to come; its text is empty when it is too long. */
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

/** null for a blank line, one that was cut off, and one that we did not write. */
const parse = (line: string): IterationRecord | null => {
  try {
    return parseRecord(upgradeRecord(parseJsonText(line))) ?? null;
  } catch {
    return null;
  }
};

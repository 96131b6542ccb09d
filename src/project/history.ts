import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atPath } from '../errors.ts';
import type { IterationRecord } from '../ralph/events.ts';
import type { Project } from './find.ts';
import { ralphFolder } from './state.ts';

const historyFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'history.jsonl');

/** When it returns, the line is on the disk. A line that a crash has cut off is closed first, so only that one is lost. */
export const appendRecord = (project: Project, changeId: string, record: IterationRecord): void => {
  const path = historyFile(project, changeId);
  const file = openSync(path, 'a+', 0o600);
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1, newline);
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    writeFileSync(file, `${last[0] === newline ? '' : '\n'}${JSON.stringify(record)}\n`);
    fsyncSync(file);
  } catch (error) {
    atPath(path)(error);
  } finally {
    closeSync(file);
  }
};

/** The last records, oldest first. Reads from the end of the file, so its length does not matter. */
export const lastRecords = async (project: Project, changeId: string, count: number): Promise<IterationRecord[]> => {
  const records: IterationRecord[] = [];
  for (const line of linesFromEnd(historyFile(project, changeId))) {
    const record = parse(line);
    if (record) records.push(record);
    if (records.length === count) break;
  }
  return records.toReversed();
};

const newline = 0x0a;
const blockSize = 16 * 1024;

function* linesFromEnd(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    let tail = Buffer.alloc(0);
    for (let position = fstatSync(file).size; position > 0;) {
      const block = Buffer.alloc(Math.min(blockSize, position));
      position -= block.length;
      const length = readSync(file, block, 0, block.length, position);
      tail = Buffer.concat([block.subarray(0, length), tail]);
      for (let end = tail.lastIndexOf(newline); end !== -1; end = tail.lastIndexOf(newline)) {
        yield tail.subarray(end + 1).toString('utf8');
        tail = tail.subarray(0, end);
      }
    }
    yield tail.toString('utf8');
  } finally {
    closeSync(file);
  }
}

/** null for a blank line, one that was cut off, and one that we did not write. */
const parse = (line: string): IterationRecord | null => {
  try {
    const record = JSON.parse(line) as IterationRecord | null;
    if (record?.v !== 1 || !isText(record.run, record.end) || !isNumber(record.iteration, record.durationMs))
      return null;
    return { ...blank, ...record };
  } catch {
    return null;
  }
};

/** What a line of an older Spool, or of somebody else, may lack. */
const blank: Omit<IterationRecord, 'v' | 'run' | 'iteration' | 'durationMs' | 'end'> = {
  startedAt: new Date(0).toISOString(),
  harness: '',
  model: null,
  exitCode: null,
  signal: null,
  completionFound: false,
  evidence: null,
  rejected: null,
  mentions: [],
  git: null,
  commit: null,
  commitProblem: null,
  checkpoint: null,
  usage: null,
  tools: null,
  error: null,
  denied: null,
  blocked: null,
  gate: null,
  repeated: null,
  tasks: null,
  held: [],
};

const isText = (...values: unknown[]) => values.every((value) => typeof value === 'string');
const isNumber = (...values: unknown[]) => values.every((value) => Number.isFinite(value));

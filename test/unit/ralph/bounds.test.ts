import { expect, test } from 'vitest';
import { boundRecord as boundWith } from '../../../src/ralph/bounds.ts';
import type { IterationRecord } from '../../../src/ralph/record.ts';
import { describeResult } from '../../../src/ralph/prompt.ts';
import { addRecord, emptyTotals } from '../../../src/ralph/totals.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { recordWith } from './records.ts';

const redactor = createRedactor({});
const boundRecord = (record: IterationRecord) => boundWith(record, redactor);

const long = 'long words '.repeat(200_000);
const many = <Item>(item: (index: number) => Item): Item[] => Array.from({ length: 5000 }, (_, index) => item(index));

const huge = recordWith({
  git: {
    filesChanged: 5000,
    files: many((index) => `src/part-${index}/file.ts`),
    insertions: 7,
    deletions: 8,
    changes: many((index) => ({ status: 'added', path: `src/part-${index}/file.ts` })),
    commits: many((index) => String(index).padStart(40, '0')),
  },
  tools: Object.fromEntries(many((index) => [`tool-${index}`, index])),
  mentions: many(() => ({ words: long, why: 'talk' })).slice(0, 20),
  evidence: `${long}the end`,
  rejected: `because ${long}`,
  commitProblem: `${long}the hook failed`,
  error: { kind: 'unknown', message: `broken ${long}` },
  blocked: `no access ${long}`,
  gate: {
    passed: false,
    tampering: [],
    openTasks: [],
    runs: [{ command: 'npm test', outcome: 'failed', exitCode: 1, durationMs: 1, tail: `${long}1 failed` }],
  },
});

test('a record is bounded for any iteration, and its counts stay correct', () => {
  const bounded = boundRecord(huge);

  expect(JSON.stringify(bounded).length).toBeLessThan(200_000);
  expect(bounded.git).toMatchObject({ filesChanged: 5000, filesLeftOut: 4800, commitsLeftOut: 4800, insertions: 7 });
  expect(bounded.git!.files).toEqual(huge.git!.files.slice(0, 200));
  expect(bounded.git!.changes).toHaveLength(200);
  const calls = (tools: Readonly<Record<string, number>>) =>
    Object.values(tools).reduce((sum, times) => sum + times, 0);
  expect(calls(bounded.tools!)).toBe(calls(huge.tools!));
  expect(bounded.tools).toMatchObject({ 'tool-4999': 4999 });
  expect(bounded.evidence).toMatch(/^….{293}the end$/);
  expect(bounded.commitProblem).toMatch(/the hook failed$/);
  expect(bounded.rejected).toMatch(/^because/);
  expect(bounded.gate!.runs[0]!.tail).toMatch(/1 failed$/);
  expect(boundRecord(bounded)).toEqual(bounded);
});

test('an ordinary record is unchanged, and the lists of its deferred attempts are bounded', () => {
  const { deferred: _, ...attempt } = huge;
  expect(boundRecord(recordWith())).toEqual(recordWith());
  expect(boundRecord(recordWith({ deferred: [attempt] })).deferred[0]!.git!.files).toHaveLength(200);
});

test('entries omitted from lists are counted', () => {
  const totals = addRecord(emptyTotals, boundRecord(huge));
  expect(totals).toMatchObject({ filesLeftOut: 4800 });
  expect(totals.files).toHaveLength(200);
});

test('the result in the next prompt is bounded for any record', () => {
  const { rejected: _, ...others } = huge;
  const results = [huge, { ...others, rejected: null }, { ...others, rejected: null, error: null }];
  for (const record of results) {
    const text = describeResult(record, { stalled: 0, sameErrorCount: 0 })!;
    expect(text.length).toBeLessThan(20_000);
    expect(text).toContain('1 failed\n```');
  }
});

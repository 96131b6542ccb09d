import { describe, expect, test } from 'vitest';
import type { IterationRecord } from '../../../src/ralph/record.ts';
import { addRecord, emptyTotals, type RunTotals } from '../../../src/ralph/totals.ts';
import { recordWith } from './records.ts';

const unchanged = { filesChanged: 0, files: [], insertions: 0, deletions: 0, changes: [], commits: [] };
const denied = { tools: ['Bash'], message: "Claude Code isn't allowed to use Bash" };
const stuck = { git: unchanged, denied };

/** The totals after these iterations, each given by its differences from a successful one. */
const after = (...records: readonly Partial<IterationRecord>[]): RunTotals =>
  records.reduce<RunTotals>(
    (totals, facts, index) => addRecord(totals, recordWith({ iteration: index + 1, ...facts })),
    emptyTotals,
  );

describe('iterations in a row without progress because a tool was denied', () => {
  test.each<[string, Partial<IterationRecord>[], number]>([
    ['once', [stuck], 1],
    ['twice', [stuck, stuck], 2],
    ['twice, after which the agent stopped', [stuck, { ...stuck, error: { kind: 'permission', message: 'no' } }], 2],
    ['with a changed file', [stuck, { denied }], 0],
    [
      'with a ticked task',
      [
        { ...stuck, tasks: { done: 0, total: 2 } },
        { ...stuck, tasks: { done: 1, total: 2 } },
      ],
      0,
    ],
    ['with an accepted promise', [stuck, { ...stuck, completionFound: true }], 0],
    ['with one in between without a denial', [stuck, { git: unchanged }, stuck], 1],
    ['with unknown changes', [stuck, { git: null, denied }], 0],
  ])('%s', (_, records, expected) => {
    expect(after(...records).denied).toBe(expected);
  });
});

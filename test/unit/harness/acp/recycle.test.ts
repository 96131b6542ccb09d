import { describe, expect, test } from 'vitest';
import { type RecycleFacts, recycleLimits, recycleReason } from '../../../../src/harness/acp/recycle.ts';

const megabyte = 1024 * 1024;
const hourMs = 3_600_000;

const fresh: RecycleFacts = {
  iterations: 1,
  memoryBytes: 600 * megabyte,
  firstIdleBytes: 590 * megabyte,
  ageMs: 60_000,
  idleMs: 10,
  fingerprintAtStart: 'a',
  fingerprint: 'a',
};

describe('recycleReason', () => {
  const rows: [string, Partial<RecycleFacts>, string | null][] = [
    ['nothing special', {}, null],
    ['before the first turn', { iterations: 0, firstIdleBytes: null, memoryBytes: null }, null],
    ['one iteration less', { iterations: 19 }, null],
    ['enough iterations', { iterations: 20 }, 'it has run 20 iterations'],
    ['other instructions', { fingerprint: 'b' }, 'its instructions or configuration changed'],
    ['unknown instructions', { fingerprint: null, fingerprintAtStart: null }, null],
    ['almost twice the memory', { memoryBytes: 1179 * megabyte }, null],
    ['twice the memory', { memoryBytes: 1180 * megabyte }, 'it uses 1180 MB of memory, up from 590 MB'],
    ['twice the memory of a small agent', { firstIdleBytes: 100 * megabyte, memoryBytes: 300 * megabyte }, null],
    ['too much memory', { memoryBytes: 1536 * megabyte, firstIdleBytes: null }, 'it uses 1536 MB of memory'],
    ['a large agent', { memoryBytes: 1500 * megabyte, firstIdleBytes: 1400 * megabyte }, null],
    ['unknown memory', { memoryBytes: null }, null],
    ['almost an hour without use', { idleMs: hourMs - 1 }, null],
    ['an hour without use', { idleMs: hourMs }, 'it was idle for 1h'],
    ['a long life', { ageMs: 4 * hourMs }, 'it has been running for 4h'],
    // The first reason is the one that explains most.
    ['several reasons', { iterations: 30, fingerprint: 'b' }, 'its instructions or configuration changed'],
  ];
  test.each(rows)('%s', (_, facts, reason) => {
    expect(recycleReason({ ...fresh, ...facts })).toBe(reason);
  });

  test('other limits', () => {
    expect(recycleReason({ ...fresh, iterations: 3 }, { ...recycleLimits, iterations: 3 })).toBe(
      'it has run 3 iterations',
    );
  });
});

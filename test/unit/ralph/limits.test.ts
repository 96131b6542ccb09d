import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitReached, timeLeft } from '../../../src/ralph/limits.ts';
import { noLimits } from './records.ts';

const limit = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.constant(Infinity));

test('time is left for as long as no limit of time is reached', () => {
  fc.assert(
    fc.property(limit, limit, fc.nat(2000), fc.nat(2000), (maxDurationMs, untilMs, elapsedMs, nowMs) => {
      const limits = { ...noLimits, maxDurationMs, untilMs };
      const spent = { elapsedMs, nowMs };
      expect(timeLeft(limits, spent) > 0).toBe(limitReached(limits, { ...spent, usage: null }) === null);
    }),
  );
});

test('the earlier limit decides', () => {
  const spent = { elapsedMs: 10, nowMs: 1000 };
  expect(timeLeft({ maxDurationMs: 30, untilMs: 1005 }, spent)).toBe(5);
  expect(timeLeft({ maxDurationMs: 12, untilMs: 1005 }, spent)).toBe(2);
  expect(timeLeft({ maxDurationMs: Infinity, untilMs: Infinity }, spent)).toBe(Infinity);
});

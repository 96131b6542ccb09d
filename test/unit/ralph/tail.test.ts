import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTail } from '../../../src/ralph/promise/tail.ts';
import { chunksOf } from '../chunks.ts';

const stateAfter = (chunks: readonly string[]) => {
  const tail = createTail(['COMPLETE'], 3);
  for (const chunk of chunks) tail.feed(chunk);
  return { text: tail.text, scannedUpTo: tail.scannedUpTo, earlier: tail.earlier };
};

const filler = fc
  .tuple(fc.constantFrom('x', 'y\n', '<', '<promise', 'é'), fc.integer({ min: 1, max: 40_000 }))
  .map(([unit, length]) => unit.repeat(Math.ceil(length / unit.length)));
const part = fc.oneof(
  { weight: 3, arbitrary: filler },
  { weight: 1, arbitrary: fc.constantFrom('<promise>COMPLETE</promise>', '<promise>OTHER</promise>') },
);
const output = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
const sizes = fc.array(fc.integer({ min: 100, max: 90_000 }), { minLength: 1, maxLength: 5 });

test('the size of the chunks does not matter for what is kept of a long output', () => {
  fc.assert(
    fc.property(output, sizes, (text, chunks) => {
      expect(stateAfter(chunksOf(text, chunks))).toEqual(stateAfter(chunksOf(text, [100])));
    }),
    { numRuns: 150 },
  );
});

test('an output without tags is kept up to its last three blocks', () => {
  const { text, scannedUpTo } = stateAfter([`${'a'.repeat(100_000)}end`]);

  expect(text.endsWith('aend')).toBe(true);
  expect(text.length - scannedUpTo).toBeLessThanOrEqual(16 * 1024);
  expect(text.length).toBeLessThanOrEqual(24 * 1024);
});

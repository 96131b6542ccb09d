import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { packCode, unpackCode } from '../../../src/launch/stored-code.ts';

const bytes = fc.uint8Array({ minLength: 1, maxLength: 2000 }).map((values) => Buffer.from(values));
const source = Buffer.from('exports.start = () => 1;');
const code = Buffer.from(Array.from({ length: 1200 }, (_, index) => (index % 255) + 1));

test('code is found again for its source, and for no other', () => {
  fc.assert(
    fc.property(bytes, bytes, bytes, fc.nat(1000), (source, other, code, writes) => {
      fc.pre(!source.equals(other) && !code.includes(Buffer.alloc(512)));
      const packed = packCode({ source, code, writes });
      expect(unpackCode(packed, source)).toEqual({ code, size: code.length, writes });
      expect(unpackCode(packed, other)).toBeNull();
    }),
  );
});

test('a file with any other byte, or of any other length, is not used', () => {
  const packed = packCode({ source, code, writes: 1 });
  for (let at = 0; at < packed.length; at++) {
    const damaged = Buffer.from(packed);
    damaged[at]! ^= 0x41;
    // The number of writes decides nothing that could break.
    if (at < 4 || at >= 8) expect(unpackCode(damaged, source)).toBeNull();
    if (at % 50 === 0) expect(unpackCode(packed.subarray(0, at), source)).toBeNull();
  }
  expect(unpackCode(Buffer.concat([packed, Buffer.alloc(1)]), source)).toBeNull();
});

test('a file with the same empty block in both copies is not used', () => {
  const packed = packCode({ source, code, writes: 1 });
  const start = packed.length - 2 * code.length;
  for (const copy of [start, start + code.length]) packed.fill(0, copy + 600, copy + 1112);
  expect(unpackCode(packed, source)).toBeNull();
});

import { expect, test } from 'vitest';
import { grouped } from '../../../src/ralph/usage.ts';

test.each([0, 7, 999, 1000, 12_345, 123_456, 1_234_567, 2 ** 53 - 1])(
  '%d is formatted with thousands separators',
  (number) => {
    expect(grouped(number)).toBe(number.toLocaleString('en-US'));
  },
);

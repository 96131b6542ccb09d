import { describe, expect, test } from 'vitest';
import { closest } from '../../../src/text/closest.ts';

describe('closest', () => {
  const words = ['maxIterations', 'minIterations', 'model', 'harness'];

  test.each([
    ['modle', 'model'],
    ['MODEL', 'model'],
    ['harnes', 'harness'],
    ['maxiteration', 'maxIterations'],
    ['min', 'minIterations'],
    ['Iterations', 'maxIterations'],
    ['colour', null],
    ['xy', null],
    ['x', null],
    ['', null],
  ])('%j → %j', (text, expected) => {
    expect(closest(text, words)).toBe(expected);
  });

  test('is null without candidates', () => {
    expect(closest('model', [])).toBeNull();
  });

  test('compares only the first hundred characters', () => {
    expect(closest('x'.repeat(1_000_000), words)).toBeNull();
  });
});

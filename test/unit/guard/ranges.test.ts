import { expect, test } from 'vitest';
import { rangesOf, touchedIn } from '../../../src/guard/tests/ranges.ts';

const taken = (names: string) => names.split(' ').map((name, index) => ({ name, commit: `${index}:${name}` }));

test('ranges of what agents did, without what people did in between', () => {
  expect(rangesOf(taken('0 1 2'))).toEqual([['0:0', '2:2']]);
  expect(rangesOf(taken('0 1 before-2 2 3'))).toEqual([
    ['0:0', '1:1'],
    ['2:before-2', '4:3'],
  ]);
  expect(rangesOf(taken('0 1 r1 0 1'))).toEqual([
    ['0:0', '1:1'],
    ['3:0', '4:1'],
  ]);
  expect(rangesOf(taken('1 0'))).toEqual([]);
});

test('the version of a person is the one to compare with', () => {
  const range = (from: string, before: string | null, after: string | null) => ({
    from,
    changes: new Map([['a.test.ts', { before, after }]]),
  });
  expect(touchedIn([range('x', 'a', 'b'), range('y', 'b', 'c')]).get('a.test.ts')).toEqual({
    before: 'a',
    after: 'c',
    from: 'x',
  });
  expect(touchedIn([range('x', 'a', 'b'), range('y', 'person', 'c')]).get('a.test.ts')).toEqual({
    before: 'person',
    after: 'c',
    from: 'y',
  });
  expect(touchedIn([range('x', 'a', 'b'), range('y', 'b', 'a')]).size).toBe(0);
  expect(touchedIn([range('x', null, 'b'), range('y', 'b', 'c')]).get('a.test.ts')).toMatchObject({ before: null });
});

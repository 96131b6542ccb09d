import { expect, test } from 'vitest';
import { rangesOf, touchedIn } from '../../../src/guard/weakened-tests/ranges.ts';

const taken = (names: string) =>
  names.split(' ').map((name, index) => ({ run: 'a', name, commit: `${index}:${name}` }));
const range = (from: string, to: string) => ({ run: 'a', from, to });

test('ranges of what agents did, without what people did in between', () => {
  expect(rangesOf(taken('0 1 2'))).toEqual([range('0:0', '2:2')]);
  expect(rangesOf(taken('0 1 before-2 2 3'))).toEqual([range('0:0', '1:1'), range('2:before-2', '4:3')]);
  expect(rangesOf(taken('0 1 r1 0 1'))).toEqual([range('0:0', '1:1'), range('3:0', '4:1')]);
  expect(rangesOf(taken('1 0'))).toEqual([]);
  // A gate runs what agents have written.
  expect(rangesOf(taken('0 1 gate-1 before-2 2'))).toEqual([range('0:0', '2:gate-1'), range('3:before-2', '4:2')]);
});

test('the version of a person is the one to compare with', () => {
  const changed = (from: string, before: string | null, after: string | null) => ({
    from,
    changes: new Map([['a.test.ts', { before, after }]]),
  });
  expect(touchedIn([changed('x', 'a', 'b'), changed('y', 'b', 'c')]).get('a.test.ts')).toEqual({
    before: 'a',
    after: 'c',
    from: 'x',
  });
  expect(touchedIn([changed('x', 'a', 'b'), changed('y', 'person', 'c')]).get('a.test.ts')).toEqual({
    before: 'person',
    after: 'c',
    from: 'y',
  });
  expect(touchedIn([changed('x', 'a', 'b'), changed('y', 'b', 'a')]).size).toBe(0);
  expect(touchedIn([changed('x', null, 'b'), changed('y', 'b', 'c')]).get('a.test.ts')).toMatchObject({ before: null });
});

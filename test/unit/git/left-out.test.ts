import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { covers, inFolders, type LeftOut } from '../../../src/git/left-out.ts';

const leftOut = (name: string): LeftOut => ({ name, kind: 'ignored', why: '' });

test.each([
  [['data/a', 'data/b/c'], ['src/x'], ['data/']],
  [['dist/old'], ['dist/new'], ['dist/old']],
  [['a/b/c', 'a/b/d', 'a/e'], ['a/f'], ['a/b/', 'a/e']],
  [['local.db'], [], ['local.db']],
  [['data/a'], ['data'], ['data/']],
  [['dat/a'], ['data/a'], ['dat/']],
])('%j without %j is %j', (names, others, expected) => {
  expect(inFolders(names, others)).toEqual(expected);
});

test('folders stand for all of the names and for none of the others', () => {
  const part = fc.constantFrom('a', 'b', 'c');
  const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.uniqueArray(path), fc.uniqueArray(path), (names, all) => {
      const others = all.filter((name) => !names.includes(name));
      const entries = inFolders(names, others).map(leftOut);
      expect(names.every((name) => entries.some((each) => covers(each, name)))).toBe(true);
      expect(others.some((name) => entries.some((each) => covers(each, name)))).toBe(false);
    }),
  );
});

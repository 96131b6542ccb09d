import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  covers,
  inFolders,
  type SkippedPath,
  stillSkipped,
  withTimes,
} from '../../../src/git/tree-snapshots/skipped.ts';

const skipped = (name: string): SkippedPath => ({ name, kind: 'ignored', why: '' });

test.each([
  [['data/a', 'data/b/c'], ['src/x'], ['data/']],
  [['dist/old'], ['dist/new'], ['dist/old']],
  [['a/b/c', 'a/b/d', 'a/e'], ['a/f'], ['a/b/', 'a/e']],
  [['local.db'], [], ['local.db']],
  [['data/a'], ['data'], ['data/']],
  [['dat/a'], ['data/a'], ['dat/']],
])('%j without %j is %j', (names, others, expected) => {
  expect(inFolders(names, others, { inFolder: 0, inAll: 0 })).toEqual(expected);
});

test.each([
  [{ inFolder: 2, inAll: 9 }, ['a/1', 'a/2', 'b/', 'c']],
  [{ inFolder: 9, inAll: 4 }, ['a/1', 'a/2', 'b/', 'c']],
  [{ inFolder: 3, inAll: 5 }, ['a/1', 'a/2', 'b/1', 'b/2', 'b/3', 'c']],
])('with %j, only a large folder replaces its files', (most, expected) => {
  expect(inFolders(['a/1', 'a/2', 'b/1', 'b/2', 'b/3', 'c'], [], most)).toEqual(expected);
});

test('folders cover all of the names and none of the others', () => {
  const part = fc.constantFrom('a', 'b', 'c');
  const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.uniqueArray(path), fc.uniqueArray(path), fc.nat(4), (names, all, inFolder) => {
      const others = all.filter((name) => !names.includes(name));
      const entries = inFolders(names, others, { inFolder, inAll: 6 }).map(skipped);
      expect(names.every((name) => entries.some((each) => covers(each, name)))).toBe(true);
      expect(others.some((name) => entries.some((each) => covers(each, name)))).toBe(false);
    }),
  );
});

test('a list records since when and until when a file was skipped', () => {
  const there = new Set(['a', 'b']);
  const isThere = (name: string) => there.has(name);
  const file = (name: string, kind: SkippedPath['kind'] = 'large'): SkippedPath => ({ name, kind, why: '' });
  const first = withTimes([], [file('a'), file('b', 'ignored')], { treeId: '1', isThere });
  expect(first).toEqual([{ ...file('a'), since: '1' }, file('b', 'ignored')]);

  there.clear();
  const second = withTimes(first, [file('b', 'ignored')], { treeId: '2', isThere });
  const gone = [
    { ...file('b', 'ignored'), until: '2' },
    { ...file('a'), since: '1', until: '2' },
  ];
  expect(second).toEqual(gone);
  expect(withTimes(second, [file('b', 'ignored')], { treeId: '3', isThere })).toEqual(gone);
  expect(stillSkipped(second).map(({ name }) => name)).toEqual(['b']);

  there.add('a');
  const third = withTimes(second, [file('a')], { treeId: '4', isThere });
  expect(third[0]).toEqual({ ...file('a'), since: '4' });
});

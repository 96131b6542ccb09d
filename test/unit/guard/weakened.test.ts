import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutComments } from '../../../src/guard/weakened-tests/comments.ts';
import { profileOf } from '../../../src/guard/weakened-tests/profile.ts';
import { weakenings } from '../../../src/guard/weakened-tests/weakened.ts';

type Files = Readonly<Record<string, string>>;

const found = (before: Files, after: Files) =>
  weakenings(
    [...new Set([...Object.keys(before), ...Object.keys(after)])].map((path) => ({
      path,
      before: before[path] === undefined ? null : profileOf(path, before[path]),
      after: after[path] === undefined ? null : profileOf(path, after[path]),
    })),
  ).map(({ path, what }) => `${path} ${what}`);

const one = `test('adds', () => { expect(add(1, 2)).toBe(3); expect(add(0, 0)).toBe(0); });\n`;
const two = `test('takes away', () => { expect(sub(2, 1)).toBe(1); });\n`;

describe('what makes tests check less', () => {
  const cases: readonly (readonly [string, string, string, string, string[]])[] = [
    ['an assertion was removed', 'a.test.ts', one, one.replace(' expect(add(0, 0)).toBe(0);', ''), ['lost assertions in "adds" (2 before, 1 now)']],
    ['an assertion is a comment now', 'a.test.ts', one, one.replace(' expect(add(0', '\n// expect(add(0'), ['lost assertions in "adds" (2 before, 1 now)']],
    ['a test was removed', 'a.test.ts', one + two, one, ['lost the test "takes away"']],
    ['a test is skipped', 'a.test.ts', one, one.replace('test(', 'test.skip('), ['gained a mark that skips tests']],
    ['a test is the only one', 'a.spec.js', one + two, one.replace('test(', 'test.only(') + two, ['gained a mark that skips tests']],
    ['xit', 'a.test.ts', one.replace('test(', 'it('), one.replace('test(', 'xit('), ['gained a mark that skips tests']],
    ['node:test, todo', 'test/a.mjs', `test('x', () => assert.equal(1, 1));`, `test('x', { todo: true }, () => assert.equal(1, 1));`, ['gained a mark that skips tests']],
    ['ava', 'test/a.js', `test('x', t => { t.is(1, 1); t.true(b); });`, `test('x', t => { t.true(b); });`, ['lost assertions in "x" (2 before, 1 now)']],
    ['python', 'tests/test_a.py', 'def test_a():\n    assert a\n    assert b\n', 'def test_a():\n    assert a\n', ['lost assertions in "test_a" (2 before, 1 now)']],
    ['python, a comment', 'tests/test_a.py', 'def test_a():\n    assert a\n', 'def test_a():\n    # assert a\n    pass\n', ['lost assertions in "test_a" (1 before, 0 now)']],
    ['python, skip', 'test_a.py', 'def test_a():\n    assert a\n', '@pytest.mark.skip\ndef test_a():\n    assert a\n', ['gained a mark that skips tests']],
    ['python, unittest', 'tests/a_test.py', 'def test_a(self):\n    self.assertEqual(1, a)\n', '@unittest.skip("later")\ndef test_a(self):\n    self.assertEqual(1, a)\n', ['gained a mark that skips tests']],
    ['go', 'a_test.go', 'func TestA(t *testing.T) {\n\tif a != 1 { t.Fatal("a") }\n}\n', 'func TestA(t *testing.T) {\n}\n', ['lost assertions in "TestA" (1 before, 0 now)']],
    ['go, skip', 'a_test.go', 'func TestA(t *testing.T) {\n\tt.Fatal("a")\n}\n', 'func TestA(t *testing.T) {\n\tt.Skip()\n\tt.Fatal("a")\n}\n', ['gained a mark that skips tests']],
    ['rust', 'src/lib.rs', '#[test]\nfn adds() { assert_eq!(1, a()); assert!(b()); }\n', '#[test]\nfn adds() { assert!(b()); }\n', ['lost assertions in "adds" (2 before, 1 now)']],
    ['rust, ignore', 'src/lib.rs', '#[test]\nfn adds() { assert!(b()); }\n', '#[test]\n#[ignore]\nfn adds() { assert!(b()); }\n', ['gained a mark that skips tests']],
    ['java', 'src/test/java/ATest.java', '@Test\n@DisplayName("x")\nvoid adds() { assertEquals(1, a()); }\n', '@Test\n@DisplayName("x")\nvoid adds() { }\n', ['lost assertions in "adds" (1 before, 0 now)']],
    ['java, disabled', 'src/test/java/ATest.java', '@Test\nvoid adds() { assertEquals(1, a()); }\n', '@Disabled\n@Test\nvoid adds() { assertEquals(1, a()); }\n', ['gained a mark that skips tests']],
    ['ruby', 'spec/a_spec.rb', `it 'adds' do\n  expect(a).to eq(1)\nend\n`, `it 'adds' do\n  pending\n  expect(a).to eq(1)\nend\n`, ['gained a mark that skips tests']],
    ['bats', 'test/a.bats', '@test "adds" {\n  run add\n  [ "$output" = 3 ]\n}\n', '@test "adds" {\n  run add\n}\n', ['lost assertions in "adds" (1 before, 0 now)']],

    ['formatting', 'a.test.ts', one, one.replaceAll('; ', ';\n  '), []],
    ['a test was added', 'a.test.ts', one, one + two, []],
    ['another title with the same assertions', 'a.test.ts', one, one.replace("'adds'", "'sums'"), []],
    ['tests became a table', 'a.test.ts', one + two, `test.each([[1, 2]])('calculates', (a, b) => { expect(a).toBe(b); });`, []],
    ['a skip was removed', 'a.test.ts', one.replace('test(', 'test.skip('), one, []],
    ['not a test file', 'src/add.ts', 'expect(a)', '', []],
    ['a todo application', 'a.test.ts', one, `${one}const item = { todo: 'buy milk', skip: 10 };`, []],
    ['a comment about skipping', 'a.test.ts', one, `// test.skip('adds') was here\n${one}`, []],
  ]; // prettier-ignore
  test.each(cases)('%s', (_, path, before, after, expected) => {
    expect(found({ [path]: before }, { [path]: after })).toEqual(expected.map((what) => `${path} ${what}`));
  });
});

test('a deleted file is reported, a moved one is not', () => {
  expect(found({ 'a.test.ts': one }, {})).toEqual(['a.test.ts was deleted']);
  expect(found({ 'a.test.ts': one }, { 'b.test.ts': one })).toEqual([]);
  expect(found({ 'a.test.ts': one + two }, { 'b.test.ts': one })).toEqual(['a.test.ts was deleted']);
  expect(found({ 'a.test.ts': one + two }, { 'a.test.ts': one, 'b.test.ts': two })).toEqual([]);
  // It skips the test, or skipped one before.
  const skipped = one.replace('test(', 'test.skip(');
  expect(found({ 'a.test.ts': one }, { 'b.test.ts': skipped })).toEqual(['a.test.ts was deleted']);
  expect(found({ 'a.test.ts': skipped + two }, { 'b.test.ts': skipped + two })).toEqual([]);
  // The other file had a test with this title before.
  expect(found({ 'a.test.ts': one, 'b.test.ts': one }, { 'b.test.ts': one })).toEqual(['a.test.ts was deleted']);
});

test('a file that has not changed, or that was added, is never weaker', () => {
  const text = fc.array(fc.constantFrom(one, two, '// x\n', '/* ', '*/', 'expect(a)', "test('b'", '.skip('), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(text, (parts) => {
      const all = parts.join('');
      expect(found({ 'a.test.ts': all }, { 'a.test.ts': all })).toEqual([]);
      expect(found({}, { 'a.test.ts': all })).toEqual([]);
    }),
  );
});

test('comments', () => {
  expect(withoutComments('a // b\nc /* d\ne */ f', '//')).toBe('a \nc \n f');
  expect(withoutComments("'src/**/*.ts' // x", '//')).toBe("'src/**/*.ts' ");
  expect(withoutComments('http://a', '//')).toBe('http://a');
  expect(withoutComments('a # b\n#!/bin/sh\n${#a}', '#')).toBe('a \n#!/bin/sh\n${#a}');
});

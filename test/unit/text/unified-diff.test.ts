import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { unifiedDiff } from '../../../src/text/unified-diff.ts';

test('a diff has the form of diff -u', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n';
  const after = 'a\nB\nc\nd\ne\nf\ng\nh\ni\nj';
  expect(unifiedDiff('x.md', before, after)).toBe(
    [
      '--- a/x.md',
      '+++ b/x.md',
      '@@ -1,5 +1,5 @@',
      ' a',
      '-b',
      '+B',
      ' c',
      ' d',
      ' e',
      '@@ -7,3 +7,4 @@',
      ' g',
      ' h',
      ' i',
      '+j',
      '\\ No newline at end of file',
      '',
    ].join('\n'),
  );
  expect(unifiedDiff('x', null, 'a\n')).toBe('--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n');
  expect(unifiedDiff('x', 'a\n', null)).toBe('--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n');
  expect(unifiedDiff('x', 'a\n', 'a\n')).toBe('');
});

/** What `patch` does: replaces the lines of each hunk. */
const patched = (before: readonly string[], diff: string): string[] => {
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(2, -1)) {
    const hunk = /^@@ -(\d+),(\d+) /.exec(line);
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      result.push(...before.slice(at, start));
      at = start;
      continue;
    }
    if (!line.startsWith('+')) expect(before[at++]).toBe(line.slice(1));
    if (!line.startsWith('-')) result.push(line.slice(1));
  }
  return [...result, ...before.slice(at)];
};

test('a diff leads from the one text to the other', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = unifiedDiff('x', `${before.join('\n')}\n`, `${after.join('\n')}\n`);
      expect(diff === '' ? before : patched(before, diff)).toEqual(after);
    }),
    { numRuns: 500 },
  );
});

test('a long difference is shown as one block', () => {
  const many = (word: string) => `${Array.from({ length: 3000 }, (_, at) => `${word} ${at}`).join('\n')}\n`;
  const diff = unifiedDiff('x', many('a'), many('b'));
  expect(patched(many('a').split('\n').slice(0, -1), diff)).toEqual(many('b').split('\n').slice(0, -1));
});

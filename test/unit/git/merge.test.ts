import { expect, test } from 'vitest';
import { mergeFiles } from '../../../src/git/merge.ts';

const merge = async (base: string, mine: string, theirs: string, additions: boolean) => {
  const bytes = { base: Buffer.from(base), mine: Buffer.from(mine), theirs: Buffer.from(theirs) };
  return (await mergeFiles(bytes, { additions }))?.toString() ?? null;
};

test.each([
  ['changes at different positions', 'a\nb\nc\nd\ne\n', 'A\nb\nc\nd\ne\n', 'a\nb\nc\nd\nE\n', 'A\nb\nc\nd\nE\n'],
  ['lines that both sides append', 'a\n', 'a\nmine\n', 'a\ntheirs\n', 'a\nmine\ntheirs\n'],
  ['lines that both sides insert', 'a\nz\n', 'a\nmine\nz\n', 'a\ntheirs\nz\n', 'a\nmine\ntheirs\nz\n'],
  ['the same line added on both sides', 'a\n', 'a\nnew\n', 'a\nnew\n', 'a\nnew\n'],
  ['a common line and one line from each side', 'a\n', 'a\nnew\nmine\n', 'a\nnew\ntheirs\n', 'a\nnew\nmine\ntheirs\n'],
  ['a line changed on both sides', 'a\nb\n', 'a\nmine\n', 'a\ntheirs\n', null],
  ['text with conflict markers', '||||\n', '||||\n====\n', '||||\n>>>>\n', '||||\n====\n>>>>\n'],
  ['regular expression characters', '.*|$\n', '.*|$\n(a\n', '.*|$\nb]\n', '.*|$\n(a\nb]\n'],
])('%s', async (_, base, mine, theirs, expected) => {
  expect(await merge(base, mine, theirs, true)).toBe(expected);
});

test('without additions, lines that both sides insert at one position are a conflict', async () => {
  expect(await merge('a\n', 'a\nmine\n', 'a\ntheirs\n', false)).toBe(null);
});

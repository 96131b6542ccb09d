import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSameOutput } from '../../scripts/docs/compare.mjs';
import { root } from '../support/project.ts';

test('the examples in the docs show what the program prints', { timeout: 600_000 }, () => {
  expect(() =>
    execFileSync(process.execPath, [join(root, 'scripts', 'docs.mjs'), '--check'], { stdio: 'pipe' }),
  ).not.toThrow();
});

test.each([
  ['times and ids', 'done at 14:29 (8s) in 4f2a91c', 'done at 16:03 (1m 12s) in 0b1c2d3', true],
  ['the width of a column', 'a  8s   done and veri…', 'a  12s  done and ver…', true],
  ['a bar', '1.2s  ██████  1/4', '850ms  ███▌  1/4', true],
  ['where a line is wrapped', 'failed · 1.2s · 2\n  tasks done', 'failed · 994ms ·\n  2 tasks done', true],
  ['a word', 'done and verified', 'done and veri', false],
  ['a number', 'iteration 2', 'iteration 3', false],
  ['a line', 'one\ntwo', 'one', false],
])('examples that differ in %s', (_, a, b, isSame) => {
  expect([isSameOutput(a, b), isSameOutput(b, a)]).toEqual([isSame, isSame]);
});

test('every picture in the docs exists and is used', async () => {
  const { pictures } = await import('../../scripts/docs/pictures.mjs');
  for (const name of Object.keys(pictures))
    expect(existsSync(join(root, 'docs', 'pictures', `${name}.svg`))).toBe(true);
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('docs/pictures/run.svg');
});

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/project.ts';

test('the examples in the docs show what the program prints', { timeout: 600_000 }, () => {
  expect(() =>
    execFileSync(process.execPath, [join(root, 'scripts', 'docs.mjs'), '--check'], { stdio: 'pipe' }),
  ).not.toThrow();
});

test('every picture in the docs exists and is used', async () => {
  const { pictures } = await import('../../scripts/docs/pictures.mjs');
  for (const name of Object.keys(pictures))
    expect(existsSync(join(root, 'docs', 'pictures', `${name}.svg`))).toBe(true);
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('docs/pictures/run.svg');
});

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** Blocks without a marker that show something else than output, or output that a test checks: by their first line. */
const writtenByHand: Readonly<Record<string, string>> = {
  'worker A   take: epoch 1': 'a drawing',
  'The parser works, the invoice is next.': 'what an agent writes; the output below it is generated from it',
  '.spool/': 'a tree of files',
  'projects/<name>-<hash of its path>': 'a tree of files',
  'Switching to claude:sonnet (rung 2 of 3)': 'checked by test/commands/escalate.test.ts',
  '/home/me/app has changed what it runs': 'checked by test/attacks/trust.test.ts',
  'spool: config.json worktreeSetup would run': 'checked by test/attacks/trust.test.ts',
  'spool: /home/me/app/.spool/.state/ralph': 'checked by test/faults/state.test.ts',
};

/** The blocks of a page that may show output, and are not written by scripts/docs.mjs. */
const unmarkedBlocks = (page: string): string[] =>
  [...page.matchAll(/^(<!-- (?:example|screen): \S+ -->\n+)?( *)```(\w*)\n([^]*?)\n\2```$/gm)]
    .filter(([, marker, , language = '', block = '']) => {
      const isOutput = ['', 'console', 'text'].includes(language) || /^\$ /m.test(block);
      // A command may continue on the next line.
      const isCommandOnly = /^\$ [^\n]*(?:\\\n[^\n]*)*$/.test(block);
      return marker === undefined && isOutput && !isCommandOnly;
    })
    .map(([, , , , block = '']) => block.split('\n')[0]!);

test('all output in the docs is written by scripts/docs.mjs', () => {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter((name) =>
    name.endsWith('.md'),
  );
  const firstLines = pages.flatMap((name) =>
    unmarkedBlocks(readFileSync(join(root, name), 'utf8')).map((line) => ({ name, line })),
  );
  const known = Object.keys(writtenByHand);
  expect(firstLines.filter(({ line }) => !known.some((start) => line.startsWith(start)))).toEqual([]);
  expect(known.filter((start) => !firstLines.some(({ line }) => line.startsWith(start)))).toEqual([]);
});

test('the demo runs the loop in the picture of the README', async () => {
  const { demoLoop } = await import('../../scripts/demo-script.mjs');
  const [, title] = /aria-label="([^"]*)"/.exec(readFileSync(join(root, 'docs/pictures/run.svg'), 'utf8'))!;
  expect(title!.replaceAll('&#34;', '')).toBe(['spool', ...demoLoop].join(' '));
});

test('every picture in the docs exists and is used', async () => {
  const { pictures } = await import('../../scripts/docs/pictures.mjs');
  for (const name of Object.keys(pictures))
    expect(existsSync(join(root, 'docs', 'pictures', `${name}.svg`))).toBe(true);
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('docs/pictures/run.svg');
});

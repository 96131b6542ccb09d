import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { Trial } from './trials.ts';

const page = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const table = /(<!-- trials -->\n)[\s\S]*(<!-- end of trials -->)/;

/** Chooses the seed and prints the table of all trials at the end. With UPDATE_DOCS=1 it also updates the page. */
export default ({ provide }: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-trials-'));
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const file = join(folder, 'trials.jsonl');
  writeFileSync(file, '');
  provide('trialsFile', file);
  provide('seed', seed);
  process.stdout.write(`SEED=${seed}\n`);
  return () => {
    const rows = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Trial)
      .toSorted((a, b) => (a.what < b.what ? -1 : 1))
      .map(({ what, trials, found }) => `| ${what} | ${trials} | ${found} |`);
    rmSync(folder, { recursive: true });
    const text = ['| what was done | times | what was found |', '| --- | ---: | --- |', ...rows, ''].join('\n');
    process.stdout.write(`\n${text}SEED=${seed}\n`);
    if (process.env.UPDATE_DOCS !== '1') return;
    writeFileSync(page, readFileSync(page, 'utf8').replace(table, `$1\n${text}\n$2`));
  };
};

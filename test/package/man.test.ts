import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands } from '../../src/commands/registry/registry.ts';
import { envOf, canComeFrom, flagNames, flagOf } from '../../src/config/flags.ts';
import { root } from '../support/project.ts';

const page = join(root, 'dist/spool.1');

const tools: Readonly<Record<string, readonly string[]>> = {
  mandoc: ['-T', 'lint', '-W', 'warning', page],
  groff: ['-man', '-ww', '-z', page],
};

const isInstalled = (tool: string) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const missing = Object.keys(tools).filter((tool) => !isInstalled(tool));

test('the tools that check man pages are installed, or the report says which are left out', ({ annotate }) =>
  missing.length === 0 ? undefined : void annotate(`left out, as it is not installed: ${missing.join(', ')}`));

test('the man page has every command, flag and variable', () => {
  const text = readFileSync(page, 'utf8').replaceAll(String.raw`\-`, '-');
  for (const { name } of commands) expect(text).toMatch(new RegExp(`^\\.B spool ${name}\\b`, 'm'));
  for (const name of flagNames) expect(text).toMatch(new RegExp(`^\\.B ${flagOf(name)}(?![\\w-])`, 'm'));
  for (const name of flagNames.filter((each) => canComeFrom('env', each)))
    expect(text).toContain(`.B ${envOf(name)}\n`);
});

describe.each(Object.keys(tools).filter(isInstalled))('%s', (tool) => {
  test('finds nothing wrong with the man page', () => {
    const { stdout, stderr } = spawnSync(tool, [...tools[tool]!], { encoding: 'utf8' });
    // The same source gives the same page, so it has no date.
    expect(`${stdout}${stderr}`.split('\n').filter((line) => !/missing date|^$/.test(line))).toEqual([]);
  });
});

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../src/commands/registry/registry.ts';
import { errorCodes } from '../../src/errors.ts';
import { canComeFrom, envOf, flagNames, flagOf } from '../../src/config/flags.ts';
import { root } from '../support/project.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(root, path)));

test('docs/errors.md lists exactly the errors in errors.ts', () => {
  const listed = [...read('docs/errors.md').matchAll(/^\| `([a-z-]+)` +\|/gm)].map((match) => match[1]);
  expect(listed.toSorted()).toEqual(errorCodes.toSorted());
});

test('docs/configuration.md lists exactly the flags and their variables', () => {
  const listed = [...read('docs/configuration.md').matchAll(/^\| `(--[a-z-]+)/gm)].map((match) => match[1]);
  expect(listed.toSorted()).toEqual(flagNames.map(flagOf).toSorted());
  for (const name of flagNames)
    if (canComeFrom('env', name)) expect(read('docs/configuration.md')).toContain(`\`${envOf(name)}\``);
});

test('docs/commands.md has a section for each command and no other', () => {
  const listed = [...read('docs/commands.md').matchAll(/^## spool (.*)$/gm)].map((match) => match[1]);
  expect(listed.toSorted()).toEqual(commands.map((command) => command.name).toSorted());
});

test('every row of the threat model names existing tests', () => {
  const [, table = ''] = /^## Threat model\n([\s\S]*?)^## /m.exec(read('SECURITY.md')) ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| who '));
  expect(rows.length).toBeGreaterThan(10);
  const named = rows.map((row) => [...row.matchAll(/`(test\/[^`]+\.ts)`/g)].map((match) => match[1]!));
  expect(rows.filter((_, index) => named[index]!.length === 0 && !rows[index]!.startsWith('| ---'))).toEqual([]);
  expect(named.flat().filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('no text of a picture depends on how a browser draws several blanks', () => {
  const pictures = tracked.filter((path) => path.endsWith('.svg'));
  expect(pictures.length).toBeGreaterThan(3);
  const broken = pictures.flatMap((path) =>
    [...read(path).matchAll(/<text[^>]*>([^<]*\s{2}[^<]*)</g)].map((m) => m[1]!),
  );
  expect(broken).toEqual([]);
});

test('every link between pages resolves', () => {
  const broken = tracked
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => join(dirname(path), match[1]!))
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${path} → ${target}`),
    );
  expect(broken).toEqual([]);
});

test('AGENTS.md lists every room of src and only existing files', () => {
  const map = read('AGENTS.md');
  const rooms = new Set(tracked.filter((path) => path.startsWith('src/')).map((path) => path.split('/')[1]!));
  expect([...rooms].filter((room) => !map.includes(`\`${room.replace(/^([a-z]+)$/, '$1/')}\``))).toEqual([]);
  const pages = [map, read('docs/architecture.md'), read('docs/contributing.md')].join('\n');
  const named = [...pages.matchAll(/`([a-z]+\/[a-z/-]+\.tsx?)`/g)].map((match) => `src/${match[1]}`);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('AGENTS.md fits on two screens of 50 rows with 120 columns', () => {
  const rows = read('AGENTS.md').trimEnd().split('\n');
  expect(rows.reduce((sum, row) => sum + Math.max(1, Math.ceil(row.length / 120)), 0)).toBeLessThanOrEqual(100);
});

test('every folder of tests is described', () => {
  const folders = new Set(tracked.map((path) => /^test\/([a-z-]+)\/.*\.(?:test|trial)\.ts$/.exec(path)?.[1]));
  folders.delete(undefined);
  const page = read('docs/contributing.md');
  expect([...folders].filter((folder) => !page.includes(`\`test/${folder}/\``))).toEqual([]);
});

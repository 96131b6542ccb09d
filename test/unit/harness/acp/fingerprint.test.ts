import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fingerprintOf } from '../../../../src/harness/acp/fingerprint.ts';

let folder = '';
const at = (name: string) => join(folder, name);
const write = (name: string, text: string) => writeFileSync(at(name), text);
const of = (...files: string[]) => fingerprintOf(folder, files);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-fingerprint-'));
  mkdirSync(at('.opencode/agent'), { recursive: true });
  write('AGENTS.md', 'one');
  write('.opencode/agent/a.md', 'a');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const all = ['AGENTS.md', 'CLAUDE.md', 'opencode.json', '.opencode'];

const changes: [string, () => void][] = [
  ['an edited file', () => write('AGENTS.md', 'two')],
  ['a deleted file', () => unlinkSync(at('AGENTS.md'))],
  ['a created file', () => write('CLAUDE.md', '')],
  ['an edited file in a folder', () => write('.opencode/agent/a.md', 'b')],
  ['a created file in a folder', () => write('.opencode/b.md', '')],
  ['text that moves to another file', () => (write('AGENTS.md', ''), write('CLAUDE.md', 'one'))],
  ['a file that becomes a link', () => (unlinkSync(at('AGENTS.md')), symlinkSync('x.md', at('AGENTS.md')))],
];

test.each(changes)('changes with %s', (_, change) => {
  const before = of(...all);
  expect(of(...all)).toBe(before);
  change();
  expect(of(...all)).not.toBe(before);
});

test('other files and dependencies do not count', () => {
  const before = of(...all);
  write('README.md', 'x');
  mkdirSync(at('.opencode/node_modules/x'), { recursive: true });
  write('.opencode/node_modules/x/a.js', 'x');
  mkdirSync(at('.opencode/.git'));
  expect(of(...all)).toBe(before);
});

test('a linked file counts by what it leads to', () => {
  write('shared.md', 'one');
  symlinkSync('shared.md', at('CLAUDE.md'));
  const before = of(...all);
  write('shared.md', 'two');
  expect(of(...all)).not.toBe(before);
});

test('stays the same when OpenCode adds its schema to its settings', () => {
  write('opencode.json', '{"mcp": {}}');
  const before = of(...all);
  write('opencode.json', '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {}}');
  expect(of(...all)).toBe(before);
  write('opencode.json', '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {"x": {}}}');
  expect(of(...all)).not.toBe(before);
});

test('stays the same when an empty folder is created', () => {
  const before = of('.opencode', 'settings');
  mkdirSync(at('settings/nested'), { recursive: true });
  expect(of('.opencode', 'settings')).toBe(before);
});

test('ends with loops of links, pipes, large files, many files and paths that are no folders', () => {
  symlinkSync('.', at('.opencode/loop'));
  symlinkSync('CLAUDE.md', at('CLAUDE.md'));
  execFileSync('mkfifo', [at('opencode.json')]);
  for (let number = 0; number < 3000; number++) write(`.opencode/agent/${number}.md`, 'x');
  truncateSync(at('AGENTS.md'), 4 * 1024 ** 3);
  const odd = [...all, 'AGENTS.md/below', '/dev/zero', '/proc/self/mem'];
  const before = of(...odd);
  expect(of(...odd)).toBe(before);
  truncateSync(at('AGENTS.md'), 5 * 1024 ** 3);
  expect(of(...odd)).not.toBe(before);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { graphOf, problemsIn, readImports, readSources, surroundingsIn } from '../../scripts/graph.mjs';
import { root } from '../support/project.ts';

const imports = readImports();

/** The imports with one added. */
const withImport = (from: string, to: string, kind = 'static') =>
  new Map([...imports, [from, [...(imports.get(from) ?? []), { to, kind }]]]);

test('every import follows the order of the rooms, without cycles', () => {
  expect(imports.size).toBeGreaterThan(200);
  expect(problemsIn(imports)).toEqual([]);
});

test.each([
  ['run/start.ts', 'commands/registry/command.ts', 'static'],
  ['run/start.ts', 'report/live.ts', 'dynamic'],
  ['git/call/git.ts', 'store/state.ts', 'type'],
  ['ralph/loop.ts', 'text/format.ts', 'static'],
  ['commands/land.ts', 'cli/main.ts', 'type'],
  ['run/start.ts', 'changes/spool/source.ts', 'static'],
  ['commands/validate.ts', 'commands/ralph/target.ts', 'dynamic'],
  ['commands/worker.ts', 'commands/queue/add.ts', 'static'],
  ['commands/runs/steer.ts', 'commands/land.ts', 'type'],
])('%s cannot import %s', (from, to, kind) => {
  expect(problemsIn(withImport(from, to, kind)).join()).toContain(`${from} imports ${to}`);
});

test('a cycle of type imports is an error, and so is a folder that is not a room', () => {
  expect(problemsIn(withImport('ralph/events.ts', 'ralph/loop.ts', 'type')).join()).toContain('circular imports: ');
  expect(problemsIn(new Map([...imports, ['misc/thing.ts', []]]))).toEqual([
    'misc/thing.ts is in no room: add the room to scripts/graph.mjs',
  ]);
});

test('only the entrances ask the process about its surroundings', () => {
  expect(surroundingsIn(readSources())).toEqual([]);
});

test.each([
  ['git/remote.ts', 'const count = process.env.GIT_CONFIG_COUNT;', 'process.env'],
  ['trust/settings.ts', 'const roots = { home: homedir() };', 'homedir'],
  ['files/environment.ts', 'const cwd = process.cwd();', 'process.cwd'],
  ['run/start.ts', "import { userInfo } from 'node:os';", 'userInfo'],
])('%s cannot contain %s', (file, text, name) => {
  expect(surroundingsIn(new Map([[file, text]]))).toEqual([
    `${file} uses ${name}: the environment and the folders of a run are in its scope`,
  ]);
});

test('docs/architecture.md has the current graph', () => {
  const cells = (text: string) => text.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const rows = cells(graphOf(imports)).filter((line) => line.startsWith('| `'));
  expect(cells(page)).toEqual(expect.arrayContaining(rows));
});

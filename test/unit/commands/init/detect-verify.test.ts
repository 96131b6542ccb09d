import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { detectVerify } from '../../../../src/commands/init/detect-verify.ts';

const withScript = (test: string) => JSON.stringify({ scripts: { test } });
const placeholder = 'echo "Error: no test specified" && exit 1';

test.each<[string, Record<string, string>, string[]]>([
  ['npm', { 'package.json': withScript('vitest run') }, ['npm test']],
  ['pnpm', { 'package.json': withScript('vitest'), 'pnpm-lock.yaml': '' }, ['pnpm test']],
  ['yarn', { 'package.json': withScript('vitest'), 'yarn.lock': '' }, ['yarn test']],
  ['bun', { 'package.json': withScript('vitest'), 'bun.lock': '' }, ['bun run test']],
  ['no script of npm', { 'package.json': withScript(placeholder) }, []],
  ['no empty script', { 'package.json': withScript(' ') }, []],
  ['no package without scripts', { 'package.json': '{}' }, []],
  ['no broken package.json', { 'package.json': '{' }, []],
  ['cargo', { 'Cargo.toml': '[package]\n' }, ['cargo test']],
  ['pytest by its section', { 'pyproject.toml': '[tool.pytest.ini_options]\n' }, ['pytest']],
  ['pytest by its dependency', { 'pyproject.toml': '[dependency-groups]\ndev = ["pytest>=8"]\n' }, ['pytest']],
  ['pytest by a file', { 'tests/conftest.py': '' }, ['pytest']],
  ['no other Python project', { 'pyproject.toml': '[project]\nname = "x"\n# pytest\n' }, []],
  ['go', { 'go.mod': 'module x\n' }, ['go test ./...']],
  ['make', { Makefile: 'all:\n\ttrue\ntest: all\n\ttrue\n' }, ['make test']],
  ['no similar targets of make', { Makefile: 'testing:\n\ttrue\ntest := x\n.PHONY: test\n' }, []],
  ['the most likely one first', { Makefile: 'test:\n', 'Cargo.toml': '' }, ['cargo test', 'make test']],
  ['nothing', {}, []],
])('detects %s', (_, files, expected) => {
  const root = mkdtempSync(join(tmpdir(), 'spool-detect-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }

  expect(detectVerify(root).map(({ command }) => command)).toEqual(expected);
});

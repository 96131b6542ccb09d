import { posix } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decidersOf, readDecider } from '../../../src/guard/deciders/deciders.ts';
import { keyName } from '../../../src/guard/deciders/parts.ts';
import type { Files } from '../../../src/guard/deciders/scope.ts';

/** Files by path. */
const filesOf = (texts: Readonly<Record<string, string>>): Files => ({
  read: (path) => texts[posix.normalize(path)] ?? null,
  isFile: (path) => Object.hasOwn(texts, posix.normalize(path)),
  list: (folder) => [
    ...new Set(
      Object.keys(texts)
        .map((path) => posix.relative(folder, path))
        .filter((path) => !path.startsWith('..'))
        .map((path) => path.split('/')[0]!),
    ),
  ],
});

const scripts = (texts: Record<string, string>, more = {}) => JSON.stringify({ scripts: texts, ...more });

const decides = (command: string, texts: Record<string, string>) => {
  const files = filesOf(texts);
  return decidersOf([command], files).filter((key) => readDecider(key, files) !== null);
};

describe('files that a command only names do not decide it', () => {
  const files = {
    'src/app.js': '',
    'src/cli.sh': '',
    'tests/test_x.py': '',
    'tsconfig.json': '{}',
    'Cargo.toml': '',
    'README.md': '',
    'work.txt': '',
    'main.py': '',
    'bin/app.js': '',
    'scripts/tool.sh': '',
    'package.json': scripts({ build: 'x' }),
  };
  test.each([
    'node src/app.js | grep -q new',
    'eslint src/app.js',
    'node --check src/*.js',
    'pytest tests/test_x.py',
    'python -m pytest tests/test_x.py',
    'tsc -p tsconfig.json',
    'cargo test --manifest-path Cargo.toml',
    'test -s README.md',
    'test -e work.txt',
    '[ -s README.md ] && grep -q done work.txt',
    'sh src/cli.sh --help',
    'python main.py',
    'node bin/app.js --version',
    'shellcheck scripts/tool.sh',
    'cat scripts/tool.sh > work.txt',
    'npm test',
    'npm install && npm ci',
    'make test',
    './no-such-file',
    'true',
    '',
    '((((',
    '"unclosed',
  ])('%s', (command) => {
    expect(decidersOf([command], filesOf(files))).toEqual([]);
  });
});

describe('scripts that a command runs', () => {
  test.each<[string, string[]]>([
    ['sh check.sh', ['check.sh']],
    ['bash -eu -o pipefail check.sh', ['check.sh']],
    ['./check.sh', ['check.sh']],
    ['./scripts/check --all', ['scripts/check', 'helper.sh']],
    ['scripts/lint.py', ['scripts/lint.py']],
    ['. ./check.sh', ['check.sh']],
    ['sh < check.sh', ['check.sh']],
    ['sh check.sh helper.sh', ['check.sh']],
    ['cd checks && sh run.sh', ['checks/run.sh']],
    ['(cd checks && true); sh run.sh', ['checks/run.sh']],
    ['cd checks && ../check.sh', ['check.sh']],
    ['sh "my check.sh"', ['my check.sh']],
    [String.raw`sh my\ check.sh`, ['my check.sh']],
    ['sh $PWD/check.sh', ['check.sh']],
    ['sh "${PWD}/check.sh"', ['check.sh']],
    ['sh ${CHECK:-check.sh}', ['check.sh']],
    ['CHECK=check.sh; sh $CHECK', ['check.sh']],
    ['DIR=checks; sh "$DIR/run.sh"', ['checks/run.sh']],
    ['for f in checks/*.sh; do sh $f; done', ['checks/run.sh', 'checks/two.sh']],
    ['for f in checks/*.sh; do sh "$f" || exit 1; done', ['checks/run.sh', 'checks/two.sh']],
    ['if ! sh check.sh; then exit 1; fi', ['check.sh']],
    ['test "$(sh check.sh)" = ok', ['check.sh']],
    ['test `sh check.sh` = ok', ['check.sh']],
    ["sh -c 'sh check.sh'", ['check.sh']],
    ['bash -lc "sh check.sh 2>&1 | tee log.txt"', ['check.sh']],
    ['mksh check.sh && tcsh -c "fish checks/run.sh"', ['check.sh', 'checks/run.sh']],
    ['timeout 30 sh check.sh', ['check.sh']],
    ['env CI=1 nice -n 5 sh check.sh', ['check.sh']],
    ['CI=1 sh check.sh > check.log', ['check.sh']],
    ['echo hi # sh check.sh', []],
    ['cat <<EOF\nsh check.sh\nEOF\ntrue', []],
    ['node scripts/verify.mjs src/app.js', ['scripts/verify.mjs']],
    ['node --import tsx scripts/verify.mjs', ['scripts/verify.mjs']],
    ['python3 verify.py', ['verify.py']],
    ['python3 -m scripts.lint', ['scripts/lint.py']],
    ['deno run -A scripts/verify.mjs', ['scripts/verify.mjs']],
    ['uv run scripts/lint.py', ['scripts/lint.py']],
    ['uv run python scripts/lint.py', ['scripts/lint.py']],
    ['sh ../check.sh', ['../check.sh']],
    ['sh nested.sh', ['nested.sh', 'check.sh', 'package.json::scripts.test']],
  ])('%s', (command, expected) => {
    const files = {
      'check.sh': 'exit 0\n',
      '../check.sh': 'exit 0\n',
      'my check.sh': '',
      'checks/run.sh': '',
      'checks/two.sh': '',
      'checks/notes.md': '',
      'helper.sh': '',
      'scripts/check': '#!/usr/bin/env bash\nset -e\nsh helper.sh\n',
      'scripts/lint.py': '#!/usr/bin/env python3\n',
      'scripts/verify.mjs': '',
      'verify.py': '',
      'src/app.js': '',
      'nested.sh': '#!/bin/sh\nsh ./check.sh\nnpm test\n',
      'package.json': scripts({ test: 'node --test' }),
    };
    expect(decides(command, files)).toEqual(expected);
  });
});

describe('idioms in check scripts', () => {
  const test1 = 'package.json::scripts.test';
  const files = {
    'package.json': scripts({ test: 'x' }),
    'check.sh': 'exit 1\n',
    'scripts/lib.sh': '',
    'scripts/ci/all.sh': 'ROOT=$(git rev-parse --show-toplevel)\n"$ROOT/check.sh"\n',
    'scripts/root.sh': '#!/bin/bash\nROOT="$(cd "$(dirname "$0")/.." && pwd)"\ncd "$ROOT"\nnpm test\n',
    'scripts/pushd.sh': 'HERE="${BASH_SOURCE[0]%/*}"\nROOT="$HERE/.."\npushd "$ROOT" || exit 1\nnpm test\n',
    'scripts/dir.sh': 'DIR=$(dirname "$0")\n. "$DIR/lib.sh"\nrun_checks\n',
    'scripts/here.sh': 'source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"\n',
    'scripts/self.sh': 'cd "$(dirname "$0")" && ./lib.sh\n',
    'scripts/named.sh': 'for name in $NAMES; do sh "checks/$name.sh"; done\n',
    'scripts/verify.mjs': "import './part.mjs'; import { a } from '../src/app.js'; const b = require('./more');\n",
    'scripts/part.mjs': '',
    'scripts/more.js': "import('./deep/index.js')",
    'scripts/deep/index.js': '',
    'scripts/verify.py': 'import os\nfrom helper import a\n',
    'scripts/helper.py': '',
    'src/app.js': '',
    'checks/a.sh': '',
    'checks/b.sh': '',
    'checks/notes.md': '',
    'web/package.json': scripts({ test: 'x' }),
    'pytest.ini': '',
    Makefile: 'check:\n\tfalse\n',
  };
  test.each<[string, string[]]>([
    ['bash scripts/root.sh', ['scripts/root.sh', test1]],
    ['scripts/pushd.sh', ['scripts/pushd.sh', test1]],
    ['bash scripts/dir.sh', ['scripts/dir.sh', 'scripts/lib.sh']],
    ['bash scripts/here.sh', ['scripts/here.sh', 'scripts/lib.sh']],
    ['bash scripts/self.sh', ['scripts/self.sh', 'scripts/lib.sh']],
    ['bash scripts/ci/all.sh', ['scripts/ci/all.sh', 'check.sh']],
    ['bash scripts/named.sh', ['scripts/named.sh', 'checks/a.sh', 'checks/b.sh']],
    ['cd "$(git rev-parse --show-toplevel)" && npm test', [test1]],
    ['cd "$(pwd)/web" && npm test', ['web/package.json::scripts.test']],
    ['echo "it\'s $(npm test) isn\'t"', [test1]],
    ['/bin/sh check.sh', ['check.sh']],
    ['/usr/bin/env bash check.sh', ['check.sh']],
    ['/usr/bin/make check', ['Makefile::rule check']],
    ['/opt/homebrew/bin/npm test', [test1]],
    ['~/.local/bin/pytest', ['pytest.ini']],
    ['$SHELL check.sh', ['check.sh']],
    ['"${BASH}" check.sh', ['check.sh']],
    ['$RUNNER check.sh', ['check.sh']],
    ['eval "npm test"', [test1]],
    ['node --run test', [test1]],
    ['node --run=test', [test1]],
    ['corepack pnpm test', [test1]],
    ['dotenv -e .env -- npm test', [test1]],
    ['cat check.sh | bash', ['check.sh']],
    ['cat check.sh | bash -s -- all', ['check.sh']],
    ['ls checks/*.sh | xargs -n 1 sh', ['checks/a.sh', 'checks/b.sh']],
    ['ls checks/*.sh | xargs -I {} sh {}', ['checks/a.sh', 'checks/b.sh']],
    ["find checks -name '*.sh' | xargs -n1 sh", ['checks/a.sh', 'checks/b.sh']],
    [String.raw`find checks -name '*.sh' -exec sh {} \;`, ['checks/a.sh', 'checks/b.sh']],
    ['find . -type f', []],
    ['uv run pytest', ['pytest.ini']],
    ['uv run --with pytest-cov pytest', ['pytest.ini']],
    ['node scripts/verify.mjs', ['scripts/verify.mjs', 'scripts/part.mjs', 'scripts/more.js', 'scripts/deep/index.js']],
    ['python3 scripts/verify.py', ['scripts/verify.py', 'scripts/helper.py']],
  ])('%s', (command, expected) => {
    expect(decides(command, files).toSorted()).toEqual(expected.toSorted());
  });
});

describe('scripts in package.json', () => {
  const test1 = 'package.json::scripts.test';
  test.each<[string, Record<string, string>, string[]]>([
    ['npm test', { test: 'x' }, [test1]],
    ['npm t', { test: 'x' }, [test1]],
    ['npm --silent test -- --run', { test: 'x' }, [test1]],
    ['npm run check', { check: 'x' }, ['package.json::scripts.check']],
    ['npm run-script check', { check: 'x' }, ['package.json::scripts.check']],
    ['pnpm test', { test: 'x' }, [test1]],
    ['pnpm check', { check: 'x' }, ['package.json::scripts.check']],
    ['yarn check', { check: 'x' }, ['package.json::scripts.check']],
    ['yarn run check', { check: 'x' }, ['package.json::scripts.check']],
    ['bun run check', { check: 'x' }, ['package.json::scripts.check']],
    ['bun check', { check: 'x' }, ['package.json::scripts.check']],
    ['bun test', { test: 'x' }, []],
    ['npm test', { test: 'x', unrelated: 'y' }, [test1]],
    [
      'npm test',
      { pretest: 'a', test: 'x', posttest: 'b' },
      ['package.json::scripts.pretest', test1, 'package.json::scripts.posttest'],
    ],
    [
      'npm test',
      { test: 'npm run unit && yarn lint', unit: 'u', lint: 'l' },
      [test1, 'package.json::scripts.unit', 'package.json::scripts.lint'],
    ],
    ['npm test', { test: 'npm test' }, [test1]],
    [
      'npm test',
      { test: 'run-s "unit:*" lint', 'unit:a': '1', 'unit:b.c': '2', lint: '3' },
      [test1, 'package.json::scripts.unit:a', 'package.json::scripts.unit:b.c', 'package.json::scripts.lint'],
    ],
    [
      'npm test',
      { test: 'concurrently "npm:unit" "sh check.sh"', unit: 'u' },
      [test1, 'package.json::scripts.unit', 'check.sh'],
    ],
    ['npm test', { test: 'node scripts/run.mjs' }, [test1, 'scripts/run.mjs']],
    ['npm run check 2>&1 | tail -5', { check: 'x' }, ['package.json::scripts.check']],
    ['cd web && npm test', {}, ['web/package.json::scripts.test']],
    ['npm --prefix web test', {}, ['web/package.json::scripts.test']],
    ['pnpm -C web test', {}, ['web/package.json::scripts.test']],
    ['npx vitest run', {}, ['vitest.config.ts']],
    ['npm exec -- vitest run', {}, ['vitest.config.ts']],
    ['pnpm exec vitest', {}, ['vitest.config.ts']],
    ['pnpm vitest', {}, ['vitest.config.ts']],
    ['yarn vitest', {}, ['vitest.config.ts']],
    ['node_modules/.bin/vitest', {}, ['vitest.config.ts']],
    ['npm test', { test: 'cross-env CI=1 vitest run' }, [test1, 'vitest.config.ts']],
  ])('%s of %j', (command, texts, expected) => {
    const files = {
      'package.json': scripts(texts),
      'web/package.json': scripts({ test: 'x' }),
      'vitest.config.ts': '',
      'scripts/run.mjs': '',
      'check.sh': '',
    };
    expect(decides(command, files)).toEqual(expected);
  });

  test.each([
    'npm test --workspaces',
    'npm test -w a',
    'pnpm -r test',
    'pnpm --filter a test',
    'yarn workspace a test',
    'turbo run test',
  ])('in a workspace: %s', (command) => {
    const files = {
      'package.json': JSON.stringify({ workspaces: ['packages/*'] }),
      'packages/a/package.json': scripts({ test: 'x' }),
      'packages/b/package.json': scripts({ build: 'x' }),
    };
    expect(decides(command, files)).toEqual(['package.json::workspaces', 'packages/a/package.json::scripts.test']);
  });

  test('include only the package list of pnpm-workspace.yaml', () => {
    const read = (text: string) =>
      readDecider('pnpm-workspace.yaml::packages:', filesOf({ 'pnpm-workspace.yaml': text }));
    const list = 'packages:\n  - a\n  - b\n';
    expect(read(`${list}catalog:\n  x: 1\n`)).toBe(read(`# All\n${list}\ncatalog:\n  x: 2\n`));
    expect(read(list)).not.toBe(read('packages:\n  - a\n'));
    expect(decides('pnpm -r test', { 'pnpm-workspace.yaml': list, 'a/package.json': scripts({ test: 'x' }) })).toEqual([
      'pnpm-workspace.yaml::packages:',
      'a/package.json::scripts.test',
    ]);
  });

  test.each([
    ['', null],
    ['registry=https://example.org\nsave-exact=true\n', null],
    ['save-exact=true\nscript-shell=/bin/true\n', 'script-shell=/bin/true'],
    ['scriptShell: /bin/true', 'scriptShell: /bin/true'],
    ['yarnPath: ./yarn.cjs', 'yarnPath: ./yarn.cjs'],
    ['ignore-scripts = true', 'ignore-scripts = true'],
    ['usage=true', 'usage=true'],
    ['usage', 'usage'],
    ['"usage"=true', '"usage"=true'],
    ['us${NOPE?}age=true', 'us${NOPE?}age=true'],
    [String.raw`"\u0075sage"=true`, String.raw`"\u0075sage"=true`],
    ['workspace[]=w', 'workspace[]=w'],
    ['include-workspace-root=true', 'include-workspace-root=true'],
    ['plugins:\n  - path: a.cjs\n    spec: a\nnodeLinker: pnp', 'plugins:\n- path: a.cjs\nspec: a'],
    ['--run.help true\n--install.pure-lockfile true', '--run.help true'],
    ['workspace-concurrency=4\nloglevel=silent\nengine-strict=true', null],
    ['//npm.example.org/:_authToken=${TOKEN}\n@a:registry=https://npm.example.org\n', null],
    ['catalog:\n  x: 1\nonlyBuiltDependencies:\n  - esbuild\n', null],
  ])('include package manager settings that change how a script runs: %j', (text, expected) => {
    const files = filesOf({ 'package.json': scripts({ test: 'x' }), '.npmrc': text });
    expect(decidersOf(['npm test'], files)).toContain('.npmrc::shell settings');
    expect(readDecider('.npmrc::shell settings', files)).toBe(expected);
  });

  test.each(['npm exec -- vitest run', 'npx vitest run', 'cd web && pnpm dlx vitest'])(
    'include package manager settings for installed programs: %s',
    (command) => {
      expect(decides(command, { 'package.json': scripts({}), '.npmrc': 'usage=true' })).toEqual([
        '.npmrc::shell settings',
      ]);
    },
  );

  test.each(['workspaces=true', 'workspace=a', 'workspace[]=a', '"workspaces" = true', 'workspaces'])(
    'include the workspaces that a setting selects: %s',
    (setting) => {
      const files = {
        '.npmrc': `save-exact=true\n${setting}\n`,
        'package.json': JSON.stringify({ workspaces: ['a'], scripts: { test: 'x' } }),
        'a/package.json': scripts({ test: 'x' }),
      };
      expect(decides('npm test', files)).toEqual([
        'package.json::workspaces',
        '.npmrc::shell settings',
        'package.json::scripts.test',
        'a/package.json::scripts.test',
      ]);
    },
  );

  test('include missing pre and post scripts, so that they cannot be added', () => {
    expect(decidersOf(['npm test'], filesOf({ 'package.json': scripts({ test: 'x' }) }))).toContain(
      'package.json::scripts.pretest',
    );
  });

  test.each([
    ['another script', scripts({ test: 'vitest', added: 'x' }), true],
    ['a dependency', scripts({ test: 'vitest' }, { dependencies: { a: '1' } }), true],
    ['another key order and indentation', JSON.stringify({ name: 'x', scripts: { test: 'vitest' } }, null, 4), true],
    ['another test', scripts({ test: 'true' }), false],
    ['no test', scripts({}), false],
    ['invalid JSON', '{', false],
  ])('a change of package.json: %s', (_, text, same) => {
    const before = readDecider('package.json::scripts.test', filesOf({ 'package.json': scripts({ test: 'vitest' }) }));
    expect(readDecider('package.json::scripts.test', filesOf({ 'package.json': text })) === before).toBe(same);
  });
});

describe('rules of make and just', () => {
  const makefile = `NODE := node
.PHONY: test lint
test: unit ## all of it
\t@$(NODE) scripts/verify.mjs
\t$(MAKE) extra
unit:
\tsh check.sh
extra:
\ttrue
lint:
\teslint .
`;
  const files = { Makefile: makefile, 'check.sh': '', 'scripts/verify.mjs': '' };

  test('a rule and the scripts that it runs decide', () => {
    expect(decides('make test', files)).toEqual([
      'Makefile::rule test',
      'scripts/verify.mjs',
      'Makefile::rule extra',
      'check.sh',
    ]);
  });

  test.each([
    ['make', ['Makefile::rule ']],
    ['make -j4 lint', ['Makefile::rule lint']],
    ['make -C sub lint', ['sub/Makefile::rule lint']],
    ['make -f other.mk lint', ['other.mk::rule lint']],
    ['just test', ['justfile::rule test']],
  ])('%s', (command, expected) => {
    const other = {
      Makefile: 'lint:\n\ttrue\n',
      'sub/Makefile': 'lint:\n\ttrue\n',
      'other.mk': 'lint:\n\ttrue\n',
      justfile: 'test arg="x": \n  true\n',
    };
    expect(decides(command, other)).toEqual(expected);
  });

  test.each([
    ['an unrelated rule', `${makefile}docs:\n\ttypedoc\n`, true],
    ['another recipe', makefile.replace('sh check.sh', 'true'), false],
    ['a removed prerequisite', makefile.replace('test: unit', 'test:'), false],
    ['a variable', makefile.replace('NODE := node', 'NODE := true'), false],
    ['ignored errors', `.IGNORE:\n${makefile}`, false],
    ['an unrelated recipe', makefile.replace('eslint .', 'true'), true],
    ['an include', `${makefile}include other.mk\n`, false],
    ['an unused variable', `VERSION := 2\n${makefile}`, true],
    ['a variable and a rule that uses it', `VERSION := 2\n${makefile}new: test\n\techo $(VERSION)\n`, true],
    ['no longer phony', makefile.replace('.PHONY: test lint', '.PHONY: lint'), false],
    ['another phony target', makefile.replace('.PHONY: test lint', '.PHONY: test docs'), true],
    ['another shell', `SHELL := /bin/true\n${makefile}`, false],
    ['all variables exported', `export\n${makefile}`, false],
    ['an exported variable', `export CI := 1\n${makefile}`, false],
  ])('%s', (_, text, same) => {
    const read = (Makefile: string) => readDecider('Makefile::rule test', filesOf({ Makefile }));
    expect(read(text) === read(makefile)).toBe(same);
  });
});

describe('makefiles next to a makefile', () => {
  test('are included if make prefers them, so that they cannot be added', () => {
    const keys = decidersOf(['make test'], filesOf({ Makefile: 'test:\n\tfalse\n' }));
    expect(keys).toEqual(['GNUmakefile', 'makefile', 'Makefile::rule test', 'test']);
    expect(decidersOf(['make test'], filesOf({ 'src/a.c': '' }))).toEqual([]);
  });

  test.each<[string, string, Record<string, string>, string[]]>([
    ['a rule', 'test:\n\tfalse\n', {}, ['test']],
    ['its prerequisites', 'test: unit app.o\n\tfalse\nunit:\n\tfalse\napp.o:\n\tcc\n', {}, ['test', 'unit']],
    ['the first rule', 'all: test\ntest:\n\tfalse\n', {}, ['all', 'test']],
    ['a forced one', 'test: FORCE\n\tfalse\nFORCE:\n', {}, ['test', 'FORCE']],
    ['not a phony one', '.PHONY: test\ntest: unit\n\tfalse\nunit:\n\tfalse\n', {}, ['unit']],
    ['not a phony one in a variable', 'T = unit\n.PHONY: test \\\n  $(T)\ntest: unit\nunit:\n\tfalse\n', {}, []],
    ['an included one', 'include x.mk\n', { 'x.mk': 'test:\n\tfalse\n' }, ['test']],
    ['not an existing one', 'test:\n\tfalse\n', { 'test/a.js': '' }, []],
    ['not an output file', 'test: app\n\t./app\napp: a.c\n\tcc -o app a.c\n', {}, ['test']],
    ['not an output file in a variable', 'test: app\n\t./app\napp: a.c\n\tcc a.c -o $@\n', {}, ['test']],
    ['not a common output folder', 'test: node_modules\n\tnpm t\nnode_modules:\n\tnpm ci\n', {}, ['test']],
  ])('files named like a target, which would keep make from running it: %s', (_, Makefile, more, expected) => {
    const command = Makefile.startsWith('all') ? 'make' : 'make test';
    const keys = decidersOf([command], filesOf({ Makefile, ...more }));
    expect(keys.filter((key) => !/akefile|\.mk/.test(key))).toEqual(expected);
  });

  test.each([
    ['include common.mk', ['common.mk', 'check.sh']],
    ['-include common.mk', ['common.mk', 'check.sh']],
    ['include mk/*.mk # all', ['mk/a.mk', 'mk/b.mk']],
    ['include $(DIR)/b.mk', ['b.mk']],
  ])('are included if the makefile includes them: %s', (line, expected) => {
    const files = {
      Makefile: `${line}\n`,
      'common.mk': 'test:\n\tsh check.sh\n',
      'check.sh': '',
      'mk/a.mk': '',
      'mk/b.mk': '',
      'b.mk': '',
    };
    expect(decides('make test', files)).toEqual(expect.arrayContaining(expected));
  });

  test('are included if missing, and of an environment file only shell settings are', () => {
    const files = { Makefile: '-include local.mk .env\ntest:\n\tfalse\n', '.env': 'A=1\n' };
    const keys = decidersOf(['make test'], filesOf(files));
    expect(keys).toEqual(expect.arrayContaining(['local.mk', '.env::shell settings']));
    expect(readDecider('.env::shell settings', filesOf(files))).toBe(null);
    expect(readDecider('.env::shell settings', filesOf({ '.env': 'SHELL=/bin/true\n' }))).toBe('SHELL=/bin/true');
  });
});

describe('the configuration of a test runner', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['vitest run', { 'vitest.config.ts': '', 'vite.config.ts': '' }, ['vitest.config.ts']],
    ['vitest run', { 'vite.config.ts': '' }, ['vite.config.ts']],
    ['vitest --config other.ts', { 'other.ts': '', 'vitest.config.ts': '' }, ['other.ts', 'vitest.config.ts']],
    ['jest', { 'jest.config.js': '' }, ['jest.config.js']],
    ['jest', { 'package.json': '{"jest":{}}' }, ['package.json::jest']],
    ['mocha', { '.mocharc.yml': '' }, ['.mocharc.yml']],
    ['npx playwright test', { 'playwright.config.ts': '' }, ['playwright.config.ts']],
    ['pytest -q', { 'pytest.ini': '' }, ['pytest.ini']],
    [
      'python3 -m pytest',
      { 'pyproject.toml': '[tool.pytest.ini_options]\naddopts="x"' },
      ['pyproject.toml::[tool.pytest'],
    ],
    ['poetry run pytest', { 'setup.cfg': '[tool:pytest]\nx=1' }, ['setup.cfg::[tool:pytest']],
    ['tox', { 'tox.ini': '' }, ['tox.ini']],
    ['pytest', { 'pyproject.toml': '[project]\nname="x"' }, []],
    ['cargo test', { '.cargo/config.toml': '', 'Cargo.toml': '' }, ['.cargo/config.toml']],
    ['bundle exec rspec', { '.rspec': '' }, ['.rspec']],
    ['vendor/bin/phpunit', { 'phpunit.xml.dist': '' }, ['phpunit.xml.dist']],
    [
      'composer test',
      { 'composer.json': scripts({ test: 'phpunit' }), 'phpunit.xml': '' },
      ['composer.json::scripts.test', 'phpunit.xml'],
    ],
    ['deno task check', { 'deno.json': '{"tasks":{"check":"x"}}' }, ['deno.json::tasks.check']],
    ['cd web && vitest', { 'web/vite.config.ts': '' }, ['web/vite.config.ts']],
    ['c8 mocha', { '.c8rc.json': '', '.mocharc.json': '' }, ['.c8rc.json', '.mocharc.json']],
    ['eslint .', { 'vitest.config.ts': '', 'eslint.config.js': '' }, []],
  ])('%s with %j', (command, files, expected) => {
    expect(decides(command, files)).toEqual(expected);
  });

  test('includes missing files with precedence, so that they cannot be added', () => {
    expect(decidersOf(['vitest'], filesOf({ 'vite.config.ts': '' }))).toContain('vitest.config.ts');
    expect(decidersOf(['vitest'], filesOf({}))).toEqual([]);
  });

  test('includes only the relevant tables', () => {
    const read = (text: string) => readDecider('pyproject.toml::[tool.pytest', filesOf({ 'pyproject.toml': text }));
    const table = '[tool.pytest.ini_options]\naddopts = "-q"\n';
    expect(read(`[project]\ndependencies = []\n\n${table}`)).toBe(read(`${table}\n[project]\ndependencies = ["x"]\n`));
    expect(read(table)).not.toBe(read(table.replace('-q', '--co')));
  });
});

test.each([
  ['check.sh', 'check.sh'],
  ['package.json::scripts.test', '"test" in package.json'],
  ['Makefile::rule check', '"check" in Makefile'],
  ['pyproject.toml::[tool.pytest', '[tool.pytest] in pyproject.toml'],
  ['.npmrc::shell settings', 'a script setting in .npmrc'],
  ['pnpm-workspace.yaml::packages:', '"packages" in pnpm-workspace.yaml'],
])('%s is named %s', (key, name) => {
  expect(keyName(key)).toBe(name);
});

test('never throws and returns each key once, for any command', () => {
  const files = filesOf({
    'check.sh': 'sh check.sh; npm test',
    'package.json': scripts({ test: 'make', make: 'npm test' }),
    Makefile: 'a: b\n\tnpm test\nb: a\n',
  });
  const word = fc.oneof(
    fc.constantFrom(
      'sh',
      'npm',
      'test',
      'run',
      'make',
      'check.sh',
      './check.sh',
      '$(',
      ')',
      '`',
      '"',
      "'",
      ';',
      '&&',
      '|',
      '>',
      '<',
      '<<EOF',
      '\\',
      '#',
      '$X',
      '${X:-',
      '}',
      '*',
      '-c',
      '-C',
      'cd',
      '..',
      '/',
      'for',
      'in',
      '\n',
    ),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const keys = decidersOf([words.join(' ')], files);
      expect(new Set(keys).size).toBe(keys.length);
      for (const key of keys) readDecider(key, files);
    }),
    { numRuns: 500 },
  );
});

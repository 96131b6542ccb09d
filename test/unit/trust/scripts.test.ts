import { describe, expect, test } from 'vitest';
import type { Files } from '../../../src/guard/deciders/scope.ts';
import { checksIn, filesIn, scriptsIn } from '../../../src/trust/scripts.ts';

const there = new Set([
  'tools/agent',
  'tools/setup.sh',
  'scripts/check.sh',
  'src/app.js',
  'test/a.test.js',
  'package-lock.json',
  'tools/notify',
  'tools/plain',
]);
const scripts = new Map([['tools/notify', '#!/bin/sh\n']]);
const roots = { project: '/home/me/project', home: '/home/me' };
const files: Files = {
  read: (path) => scripts.get(path) ?? (there.has(path) ? 'true\n' : null),
  isFile: (path) => there.has(path),
  list: (folder) => [...there].filter((path) => path.startsWith(`${folder}`)).map((path) => path.split('/').at(-1)!),
};

const inTools = new Map([
  ['tools/package.json', '{"main":"main"}'],
  ['tools/main.cjs', ''],
  ['tools/x.js', ''],
  ['tools/x.sh', ''],
  ['tools/tell', ''],
  ['tools/message.txt', ''],
  ['x.mk', 'all:\n\ttrue\n'],
  ['build/index.js', ''],
]);
const tools: Files = {
  read: (path) => inTools.get(path) ?? null,
  isFile: (path) => inTools.has(path),
  list: (folder) =>
    [...inTools.keys()].filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1)),
};

describe('the scripts that a command runs', () => {
  test.each<[string, string[]]>([
    ['./tools/agent', ['tools/agent']],
    ['tools/agent --now', ['tools/agent']],
    ['sh tools/setup.sh', ['tools/setup.sh']],
    ['bash -eu tools/setup.sh', ['tools/setup.sh']],
    ['. tools/setup.sh', ['tools/setup.sh']],
    ['node --test-reporter dot src/app.js', ['src/app.js']],
    ['FOO=1 env BAR=2 timeout 5s ./tools/agent', ['tools/agent']],
    ['cd tools && ./agent', ['tools/agent']],
    ['sh -c "cd tools; ./setup.sh"', ['tools/setup.sh']],
    ['eval ./tools/agent', ['tools/agent']],
    ['if true; then ./tools/agent; fi', ['tools/agent']],
    ['echo $(./tools/agent)', ['tools/agent']],
    ['npm ci; ./tools/agent || sh tools/setup.sh', ['tools/agent', 'tools/setup.sh']],
    ['test -f package-lock.json && npm ci', []],
    ['cp src/app.js copy.js', []],
    ['flock /tmp/lock sh tools/setup.sh', ['tools/setup.sh']],
    ['deno run -A src/app.js', ['src/app.js']],
    ['python3 -W ignore -X dev src/app.js', ['src/app.js']],
    ['cat tools/setup.sh | sh', ['tools/setup.sh']],
    ['ionice -c3 tools/notify now', ['tools/notify']],
    ['node --import ./tools/setup.sh --import=./src/app.js -e 0', ['tools/setup.sh', 'src/app.js']],
    ['sh /home/me/project/tools/setup.sh', ['tools/setup.sh']],
    ['sh ~/project/tools/setup.sh', ['tools/setup.sh']],
    ['./missing', []],
    ['sh ../outside.sh', []],
    ['/bin/sh /tmp/outside.sh', []],
    ['npm ci', []],
  ])('%s', (command, expected) => expect(scriptsIn(command, files, roots).files).toEqual(expected));

  // Named literally in the command, or by a shell expansion.
  test.each([
    'sh $(pwd)/tools/setup.sh',
    'sh "$(git rev-parse --show-toplevel)/tools/setup.sh"',
    'T=tools/setup.sh; sh $T',
    'D=tools; sh $D/setup.sh',
    'T=src/app.js; node $T',
    'sh tools/se*',
    'cat tools/plain | sh',
    'sh < tools/plain',
    'env -C tools sh plain',
    'env --chdir=tools sh plain',
    "env -S 'sh tools/plain'",
    'flock /tmp/l sh tools/plain',
    'flock /tmp/l ./tools/plain',
    'sh tools/$(echo plain)',
    'sh $HOME/project/tools/plain',
    'cd /home/me/project && sh tools/plain',
    '/home/me/project/tools/plain',
    "sh -c 'exec sh tools/plain'",
  ])('%s', (command) => {
    const named = /app|se[t*]/.exec(command)?.[0] ?? 'plain';
    expect(scriptsIn(command, files, roots).files.some((path) => path.includes(named.replace('*', '')))).toBe(true);
  });

  test.each<[string, string[]]>([
    ['node tools/x', ['tools/x.js']],
    ['node tools', ['tools/package.json', 'tools/main.cjs', 'tools/x.js', 'tools/x.sh', 'tools/tell']],
    ['sh tools/[x].sh', ['tools/x.sh']],
    ['sh tools/{x,y}.sh', ['tools/x.sh']],
    ['trap "sh tools/x.sh" EXIT', ['tools/x.sh']],
    ['sh <<END\nsh tools/x.sh\nEND', ['tools/x.sh']],
    ['echo "sh tools/x.sh" | sh', ['tools/x.sh']],
    ["printf 'sh tools/x.sh' | env -i bash -s", ['tools/x.sh']],
    ['PATH=$PWD/tools:$PATH tell', ['tools/tell']],
    ['PATH="$(pwd)/tools:$PATH" tell', ['tools/tell']],
    ['make -fx.mk', ['x.mk']],
    ['make --file=x.mk', ['x.mk']],
    ['node -e \'require("./tools/x.js")\'', ['tools/x.js']],
    ['python3 -c \'exec(open("tools/tell").read())\'', ['tools/tell']],
    ['f() { sh "$1"; }; f tools/x.sh', ['tools/x.sh']],
    ['run-parts ./tools', ['tools/tell']],
    ['runner --script=tools/tell', ['tools/tell']],
    ['runner -stools/tell', ['tools/tell']],
    ['node tools/x.js/more', ['tools/x.js']],
    ['to""ols/te\\ll', ['tools/tell']],
  ])('named by a word: %s', (command, expected) => {
    expect(scriptsIn(command, tools, roots).files).toEqual(expect.arrayContaining(expected));
  });

  test.each([
    'cargo build',
    'npm run tools',
    'make -C tools',
    'cd tools && npm ci',
    'cat tools/message.txt',
    'make tools',
  ])('do not include other files: %s', (command) => expect(scriptsIn(command, tools, roots).files).toEqual([]));

  test('include copied files if the command must not run anything that an agent wrote', () => {
    const all = { ...roots, all: true };
    expect(scriptsIn('cp tools/x.sh /tmp/y; sh /tmp/y', tools, all).files).toEqual(['tools/x.sh']);
    expect(scriptsIn('cat tools/x.sh > /tmp/y; sh /tmp/y', tools, all).files).toEqual(['tools/x.sh']);
    expect(scriptsIn('cat tools/message.txt', tools, all).files).toEqual([]);
  });

  test('include scripts that these run', () => {
    const texts = new Map([
      ['tools/outer.sh', '. tools/inner.sh\nnode src/app.js\n'],
      ['tools/inner.sh', ''],
      ['src/app.js', ''],
    ]);
    const nested: Files = {
      read: (path) => texts.get(path) ?? null,
      isFile: (path) => texts.has(path),
      list: () => [],
    };
    expect(scriptsIn('sh tools/outer.sh', nested, roots).files).toEqual(['tools/outer.sh', 'tools/inner.sh']);
    expect(checksIn('sh tools/outer.sh', nested, roots).files).toEqual(['tools/outer.sh']);
  });

  test.each<[string, string[]]>([
    ['sh tools/$(echo plain)', ['tools/$()']],
    ['sh $SCRIPT', ['$SCRIPT']],
    ['$TOOL now', ['$TOOL']],
    ['node "$A/$B"', ['$A/$B']],
    ['trap "sh x.sh" EXIT', ['trap']],
    ['sh <<END\nsh x.sh\nEND', ['a here-document']],
    ['echo "sh x.sh" | sh', ['a pipe to a shell']],
    ['ls tools | timeout 5 /bin/bash', ['a pipe to a shell']],
    ['ls tools | fish', ['a pipe to a shell']],
    ['ls tools | xargs -n1 sh', ['a pipe to a shell']],
    ['PATH=$PWD/bin:$PATH tell', ['a search path']],
    ['eval "$X"', ['$X', 'eval']],
    ['node -e "0"', ['code in an argument']],
    ['f() { "$@"; }; f x', ['$@', 'a function']],
    ['. <(cat x)', ['a process substitution']],
    ['cat x | grep sh', []],
    ['cat x | jq .shell', []],
    ['sh $(pwd)/tools/plain', []],
    ['sh "$(git rev-parse --show-toplevel)/tools/plain"', []],
    ['T=tools/plain; sh $T', []],
    ['sh $HOME/bin/tell.sh', []],
    ['notify-send "$SPOOL_CHANGE: $SPOOL_STATUS"', []],
    ['curl -d "$(cat)" https://example.com', []],
  ])('are unclear in parts: %s', (command, expected) =>
    expect(scriptsIn(command, files, roots).unclear).toEqual(expected),
  );
});

describe('for a verify command, only scripts that decide it count', () => {
  test.each<[string, string[]]>([
    ['sh scripts/check.sh', ['scripts/check.sh']],
    ['cd scripts && sh check.sh', ['scripts/check.sh']],
    ['node --test test/a.test.js', []],
    ['node src/app.js', []],
    ['npm test', []],
    ['D=scripts; sh $D/check.sh', ['scripts/check.sh']],
    ['sh /home/me/project/scripts/check.sh', ['scripts/check.sh']],
  ])('%s', (command, expected) => expect(checksIn(command, files, roots).files).toEqual(expected));
});

test('without a shell, every argument that is a file counts', () =>
  expect(
    filesIn(['./tools/agent', '--lock', 'package-lock.json', '{prompt}', '/etc/passwd', '..'], files, roots),
  ).toEqual(['tools/agent', 'package-lock.json']));

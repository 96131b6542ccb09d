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
]);
const scripts = new Map([['tools/notify', '#!/bin/sh\n']]);
const roots = { project: '/home/me/project', home: '/home/me' };
const files: Files = {
  read: (path) => scripts.get(path) ?? (there.has(path) ? 'true\n' : null),
  isFile: (path) => there.has(path),
  list: () => [],
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
  ])('%s', (command, expected) => expect(scriptsIn(command, files, roots)).toEqual(expected));
});

describe('of a command that verifies work, only those that decide', () => {
  test.each<[string, string[]]>([
    ['sh scripts/check.sh', ['scripts/check.sh']],
    ['cd scripts && sh check.sh', ['scripts/check.sh']],
    ['node --test test/a.test.js', []],
    ['node src/app.js', []],
    ['npm test', []],
  ])('%s', (command, expected) => expect(checksIn(command, files)).toEqual(expected));
});

test('without a shell, every word that is a file', () =>
  expect(filesIn(['./tools/agent', '--lock', 'package-lock.json', '{prompt}', '/etc/passwd', '..'], files)).toEqual([
    'tools/agent',
    'package-lock.json',
  ]));

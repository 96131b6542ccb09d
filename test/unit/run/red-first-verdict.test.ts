import { expect, test } from 'vitest';
import type { Evidence } from '../../../src/ralph/proof.ts';
import { isKept, judgeRedFirst } from '../../../src/run/gate/red-first-verdict.ts';

const evidence = (outcome: Evidence['outcome'], file: string | null = 'a.test.ts'): Evidence => ({
  kind: 'test',
  command: 'npm test',
  exitCode: null,
  test: 'x',
  file,
  outcome,
});
const passing = [{ command: 'npm test', outcome: 'passed' as const, exitCode: 0, tests: [] }];
const broken = [{ command: 'npm test', outcome: 'failed' as const, exitCode: 1, tests: [] }];

test.each([
  ['it fails', [evidence('failed')], broken, 'failed'],
  ['one of two fails', [evidence('passed'), evidence('failed')], broken, 'failed'],
  ['it passes', [evidence('passed')], passing, 'passed'],
  ['it passes although others fail', [evidence('passed')], broken, 'passed'],
  ['it is skipped', [evidence('skipped')], passing, 'passed'],
  ['it cannot be loaded', [evidence('not-run')], broken, 'absent'],
  ['nothing names the scenario, because nothing was loaded', [], broken, 'absent'],
  ['it did not run, although the command passed', [evidence('not-run')], passing, 'not-tried'],
  ['it was next to the code', [evidence('not-run', 'src/lib.rs')], passing, 'absent'],
] as const)('%s', (_, found, commands, expected) => {
  expect(judgeRedFirst(found, { commands, linked: new Set(['a.test.ts', 'src/lib.rs']) })).toBe(expected);
});

test.each([
  ['src/a.test.ts', true],
  ['test/fixtures/data.json', true],
  ['tests/login.rs', true],
  ['tests/conftest.py', true],
  ['pkg/a_test.go', true],
  ['src/a.ts', false],
  ['src/lib.rs', false],
  ['checks/linked.mjs', true],
  ['.spool/specs/a/spec.md', false],
])('%s is part of the tests: %s', (path, kept) => {
  expect(isKept(path, new Set(['checks/linked.mjs', 'src/lib.rs']))).toBe(kept);
});

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linkScenarios } from '../../../src/proof/links.ts';
import { type CommandResult, type GateFindings, nextLedger } from '../../../src/proof/next-ledger.ts';
import type { TestResult } from '../../../src/proof/test-result.ts';
import { boundLedger } from '../../../src/ralph/ledger-bounds.ts';
import { countProof, currentRows } from '../../../src/ralph/ledger.ts';
import type { Ledger, Scenario } from '../../../src/ralph/proof.ts';
import { parseLedger } from '../../../src/store/ledger-format.ts';

const id = 'auth/login/works';

const scenario = (fields: Partial<Scenario> = {}): Scenario => ({
  id,
  title: 'Works',
  requirement: 'Login',
  hash: 'h1',
  path: 'specs/auth/spec.md',
  line: 1,
  verify: [],
  ...fields,
});

const result = (status: TestResult['status'], title = `x @scenario ${id}`): TestResult => ({
  names: [title],
  title,
  file: null,
  status,
  message: null,
  durationMs: null,
});

const command = (fields: Partial<CommandResult> = {}): CommandResult => ({
  command: 'npm test',
  outcome: 'passed',
  exitCode: 0,
  tests: [],
  ...fields,
});

const gate = (
  scenarios: readonly Scenario[],
  commands: readonly CommandResult[],
  more: Partial<GateFindings> & { readonly sources?: Parameters<typeof linkScenarios>[0]['sources'] } = {},
): GateFindings => {
  const { sources = [], ...fields } = more;
  return {
    change: '001-01_a',
    run: 'r',
    iteration: 2,
    checkpoint: 'c',
    commit: null,
    at: '2026-01-01T00:00:00.000Z',
    scenarios,
    links: linkScenarios({ scenarios, sources, results: commands.flatMap(({ tests }) => tests) }),
    commands,
    scenarioCommands: {},
    ...fields,
  };
};

const source = {
  id,
  file: 'a.test.ts',
  line: 1,
  test: { kind: 'test' as const, title: 'x', isName: false, inactive: null },
};

describe('the state of a scenario after a gate', () => {
  const verify = ['npm run check'];
  const cases: readonly (readonly [string, GateFindings, string, RegExp | null])[] = [
    ['nothing names it', gate([scenario()], [command()]), 'unlinked', /no test or command/],
    ['a test passed', gate([scenario()], [command({ tests: [result('passed')] })]), 'proven', null],
    ['a test failed', gate([scenario()], [command({ tests: [result('failed')] })]), 'failing', /failed/],
    ['a test was skipped', gate([scenario()], [command({ tests: [result('skipped')] })]), 'failing', /was skipped/],
    ['a test is todo', gate([scenario()], [command({ tests: [result('todo')] })]), 'failing', /todo/],
    [
      'one of two was skipped',
      gate([scenario()], [command({ tests: [result('passed'), result('skipped', `y @scenario ${id}`)] })]),
      'failing',
      /"y @scenario/,
    ],
    ['the source names it, no result', gate([scenario()], [command()], { sources: [source] }), 'linked', /no result/],
    [
      'the same test in two reports, failed in one',
      gate(
        [scenario()],
        [command({ tests: [result('passed')] }), command({ command: 'b', tests: [result('failed')] })],
      ),
      'failing',
      /failed/,
    ],
    [
      'the command was stopped',
      gate([scenario()], [command({ outcome: 'timed-out', exitCode: null, tests: [result('passed')] })]),
      'linked',
      /no result/,
    ],
    [
      'other tests of the command failed',
      gate([scenario()], [command({ outcome: 'failed', exitCode: 1, tests: [result('passed')] })]),
      'proven',
      null,
    ],
    [
      'passed only when it was retried',
      gate([scenario()], [command({ outcome: 'flaky', tests: [result('passed')] })]),
      'proven',
      null,
    ],
    ['its command passed', gate([scenario({ verify })], [command({ command: 'npm run check' })]), 'proven', null],
    [
      'its command failed',
      gate([scenario({ verify })], [command({ command: 'npm run check', outcome: 'failed', exitCode: 3 })]),
      'failing',
      /exit code 3/,
    ],
    ['its command is not one of this run', gate([scenario({ verify })], [command()]), 'linked', /did not run/],
    [
      'the command that it had at the start was removed',
      gate([scenario()], [command({ tests: [result('passed')] })], { scenarioCommands: { [id]: verify } }),
      'linked',
      /did not run/,
    ],
    [
      'it passes without the change',
      gate([scenario()], [command({ tests: [result('passed')] })], { redFirst: new Map([[id, 'passed']]) }),
      'failing',
      /proves nothing/,
    ],
    [
      'it fails without the change',
      gate([scenario()], [command({ tests: [result('passed')] })], { redFirst: new Map([[id, 'failed']]) }),
      'proven',
      null,
    ],
    [
      'it could not be tried',
      gate([scenario()], [command({ tests: [result('passed')] })], { redFirst: new Map([[id, 'not-tried']]) }),
      'failing',
      /could not be tried/,
    ],
    [
      'it was not tried yet',
      gate([scenario()], [command({ tests: [result('passed')] })], { redFirst: new Map() }),
      'linked',
      /not been tried/,
    ],
  ];
  test.each(cases)('%s', (_, findings, state, reason) => {
    const [row] = nextLedger(findings, null).scenarios;
    expect(row).toMatchObject({ state });
    if (reason === null)
      expect(row).toMatchObject({ reason: null, proof: { hash: 'h1', iteration: 2, checkpoint: 'c' } });
    else expect(row!.reason).toMatch(reason);
  });
});

const proven = nextLedger(gate([scenario()], [command({ tests: [result('passed')] })]), null);

test('an earlier proof is kept, but does not prove anything', () => {
  const later = nextLedger(gate([scenario()], [command()], { iteration: 3 }), proven);
  expect(later.scenarios).toMatchObject([{ state: 'unlinked', proof: { iteration: 2 } }]);
  const reworded = nextLedger(gate([scenario({ hash: 'h2' })], [command()]), proven);
  expect(reworded.scenarios).toMatchObject([{ state: 'stale', proof: { hash: 'h1' } }]);
  const again = nextLedger(gate([scenario({ hash: 'h2' })], [command({ tests: [result('passed')] })]), proven);
  expect(again.scenarios).toMatchObject([{ state: 'proven', proof: { hash: 'h2' } }]);
});

test('between gates, a change of the text makes a proof stale', () => {
  expect(currentRows([scenario()], proven)).toMatchObject([{ state: 'proven' }]);
  expect(currentRows([scenario({ hash: 'h2' })], proven)).toMatchObject([{ state: 'stale' }]);
  expect(currentRows([scenario({ id: 'new' })], proven)).toMatchObject([{ id: 'new', state: 'unlinked', proof: null }]);
  expect(currentRows([scenario({ verify: ['a'] })], null)).toMatchObject([{ state: 'linked' }]);
});

test('never proven without a result of this gate that passed, and never with one that did not', () => {
  const status = fc.constantFrom('passed', 'failed', 'skipped', 'todo') as fc.Arbitrary<TestResult['status']>;
  const outcome = fc.constantFrom('passed', 'flaky', 'failed', 'timed-out', 'interrupted') as fc.Arbitrary<
    CommandResult['outcome']
  >;
  const tests = fc.array(fc.tuple(status, fc.constantFrom(id, 'b', 'c')), { maxLength: 6 });
  const commands = fc.array(fc.record({ outcome, tests }), { maxLength: 3 });
  const hashes = fc.constantFrom('h1', 'h2');
  fc.assert(
    fc.property(commands, hashes, fc.boolean(), (given, hash, hasPrevious) => {
      const runs = given.map((each, index) =>
        command({
          command: `c${index}`,
          outcome: each.outcome,
          tests: each.tests.map(([one, name]) => result(one, `x @scenario ${name}`)),
        }),
      );
      const ledger = nextLedger(gate([scenario({ hash })], runs), hasPrevious ? proven : null);
      const [row] = ledger.scenarios;
      const own = runs.flatMap((run) =>
        run.tests
          .filter(({ title }) => title.endsWith(id))
          .map(({ status: one }) => one === 'passed' && run.outcome !== 'timed-out' && run.outcome !== 'interrupted'),
      );
      expect(row!.state === 'proven').toBe(own.length > 0 && own.every(Boolean));
      expect(row!.state === 'proven').toBe(row!.reason === null);
      if (row!.state === 'proven') expect(row!.proof).toMatchObject({ hash, outcome: 'passed', iteration: 2 });
      if (row!.state === 'stale') expect(row!.proof!.hash).not.toBe(hash);
      expect(countProof(ledger.scenarios).total).toBe(1);
      expect(parseLedger(JSON.parse(JSON.stringify(boundLedger(ledger))))).toEqual(boundLedger(ledger));
    }),
  );
});

test('a ledger stays small', () => {
  const long = 'x'.repeat(100_000);
  const many = Array.from({ length: 3000 }, (_, index) => scenario({ id: `s${index}`, title: long }));
  const ledger = nextLedger(gate(many, [command({ command: long, tests: [] })]), null);
  const text = JSON.stringify(boundLedger(ledger));
  expect(text.length).toBeLessThan(3_000_000);
  expect(parseLedger(JSON.parse(text))).toBeDefined();
});

test('what is not a ledger is none', () => {
  const valid = JSON.parse(JSON.stringify(proven)) as Ledger;
  expect(parseLedger(valid)).toEqual(proven);
  for (const wrong of [
    null,
    [],
    {},
    { ...valid, v: 2 },
    { ...valid, scenarios: [{ ...valid.scenarios[0], state: 'done' }] },
  ])
    expect(parseLedger(wrong)).toBeUndefined();
});

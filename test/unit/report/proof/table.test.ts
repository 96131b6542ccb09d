import { describe, expect, test } from 'vitest';
import { renderProof } from '../../../../src/report/proof/table.ts';
import { symbolsFor } from '../../../../src/report/symbols.ts';
import { widthOf } from '../../../../src/text/format.ts';
import { mixedScenarios, reportWith, scenarioWith } from './reports.ts';

const plain = (columns: number, env: NodeJS.ProcessEnv = { LANG: 'C.UTF-8' }) => ({
  style: (_: string, text: string) => text,
  columns,
  symbols: symbolsFor(env),
});
const now = new Date('2026-01-02T03:35:00.000Z');

test('the proof at 120 columns', () => {
  expect(renderProof(reportWith(), plain(120), now).join('\n')).toMatchInlineSnapshot(`
    "● 002-01_add-login
      Proof       2 of 4 scenarios proven, 1 failing, 1 unlinked
      Verified    iteration 3 of run 20260102-030405-9f3a, 5m ago

        state       scenario                                                       test or command               #  commit
      Remember me  0/2
        ✘ failing   Stays signed in after the browser was closed and opened again  login > stays signed in and…
          the test "login > stays signed in" failed (npm test, exit code 1)
        · unlinked  Forgets after 30 days
          no gate has run since it was added
      Password  2/2
        ✔ proven    Signs in with the right password                               login > signs in              2  1a2b3c4d
        ✔ proven    Locks after five attempts                                      npm run lock-check            2  cccccccc

      Unknown IDs login/passwords/typo (test/login.test.ts)

      Prove       spool ralph 002-01_add-login --require-scenarios"
  `);
});

test('the proof at 80 columns', () => {
  expect(renderProof(reportWith(), plain(80), now).join('\n')).toMatchInlineSnapshot(`
    "● 002-01_add-login
      Proof       2 of 4 scenarios proven, 1 failing, 1 unlinked
      Verified    iteration 3 of run 20260102-030405-9f3a, 5m ago

        state       scenario                           test or command   #  commit
      Remember me  0/2
        ✘ failing   Stays signed in after the browse…  login > stays s…
          the test "login > stays signed in" failed (npm test, exit code 1)
        · unlinked  Forgets after 30 days
          no gate has run since it was added
      Password  2/2
        ✔ proven    Signs in with the right password   login > signs in  2  1a2b3c4d
        ✔ proven    Locks after five attempts          npm run lock-ch…  2  cccccccc

      Unknown IDs login/passwords/typo (test/login.test.ts)

      Prove       spool ralph 002-01_add-login --require-scenarios"
  `);
});

test('the proof at 50 columns', () => {
  expect(renderProof(reportWith(), plain(50), now).join('\n')).toMatchInlineSnapshot(`
    "● 002-01_add-login
      Proof       2 of 4 scenarios proven, 1 failing,
                  1 unlinked
      Verified    iteration 3 of run
                  20260102-030405-9f3a, 5m ago

        state       scenario               #  commit
      Remember me  0/2
        ✘ failing   Stays signed in afte…
          the test "login > stays signed in" failed
          (npm test, exit code 1)
        · unlinked  Forgets after 30 days
          no gate has run since it was added
      Password  2/2
        ✔ proven    Signs in with the ri…  2  1a2b3c4d
        ✔ proven    Locks after five att…  2  cccccccc

      Unknown IDs login/passwords/typo
                  (test/login.test.ts)

      Prove       spool ralph 002-01_add-login --require-scenarios"
  `);
});

describe('the proof', () => {
  const lines = (facts: Parameters<typeof reportWith>[0], columns = 80) =>
    renderProof(reportWith(facts), plain(columns), now);

  test('of a change without scenarios, and without a run', () => {
    expect(lines({ scenarios: [], unknown: [], run: null, records: [], gate: null })).toEqual([
      '● 002-01_add-login',
      '  Proof       no scenarios',
      '  Verified    never: no gate has run',
      '',
    ]);
  });

  test('names the next commands', () => {
    const scenarios = [scenarioWith()];
    const run = reportWith().run!;
    const workspace = { root: '', worktree: 'w', branch: 'ralph/x' } as unknown as typeof run.workspace;
    expect(lines({ scenarios, unknown: [] }).at(-2)).toBe('  Archive     spool archive 002-01_add-login');
    expect(lines({ scenarios, unknown: [], run: { ...run, workspace } }).slice(-3, -1)).toEqual([
      '  Publish     spool publish 002-01_add-login',
      '  Land        spool land 002-01_add-login',
    ]);
    expect(lines({ scenarios, unknown: [], run: { ...run, workspace }, landed: true }).slice(-3, -1)).toEqual([
      '',
      '  Archive     spool archive 002-01_add-login',
    ]);
    expect(lines({ scenarios, archived: true }).at(-1)).toContain('--html --output proof.html');
  });

  test('has only ASCII on a terminal without more', () => {
    const text = renderProof(reportWith(), plain(80, { LANG: 'C' }), now).join('\n');
    expect(text).toMatch(/^[\n\u0020-\u007e]*$/);
  });

  test.each([30, 50, 80, 120])('is not wider than %d columns', (columns) => {
    const scenarios = [
      ...mixedScenarios,
      scenarioWith({ title: '長い名前'.repeat(30), reason: 'x '.repeat(200), state: 'stale' }),
    ];
    const wide = lines({ scenarios }, columns).filter((line) => widthOf(line) > columns);
    // Commands are never broken.
    expect(wide.filter((line) => !/ spool (?:ralph|proof) |^ {2}Unknown|^ {14}/.test(line))).toEqual([]);
  });
});

import type { Evidence, Proof, ScenarioProof } from '../../../../src/ralph/proof.ts';
import { countProof } from '../../../../src/ralph/ledger.ts';
import { initialView } from '../../../../src/ralph/reduce-view.ts';
import type { ProofReport } from '../../../../src/report/proof/report.ts';
import { planWith, recordWith } from '../../ralph/records.ts';

const at = '2026-01-02T03:30:00.000Z';

const testEvidence: Evidence = {
  kind: 'test',
  command: 'npm test',
  exitCode: 0,
  test: 'login > signs in',
  file: 'test/login.test.ts',
  outcome: 'passed',
};

const proof: Proof = {
  ...testEvidence,
  hash: 'h1',
  run: '20260102-030405-9f3a',
  iteration: 2,
  checkpoint: 'c'.repeat(40),
  commit: '1a2b3c4d'.padEnd(40, '0'),
  at,
};

/** A row that a test has proven, with these changes. */
export const scenarioWith = (facts: Partial<ScenarioProof> = {}): ScenarioProof => ({
  id: 'login/password/signs-in',
  title: 'Signs in with the right password',
  requirement: 'Password',
  hash: 'h1',
  state: 'proven',
  reason: null,
  evidence: [testEvidence],
  proof,
  ...facts,
});

const failing: Evidence = { ...testEvidence, exitCode: 1, test: 'login > stays signed in', outcome: 'failed' };

export const mixedScenarios: readonly ScenarioProof[] = [
  scenarioWith(),
  scenarioWith({
    id: 'login/remember-me/stays-signed-in',
    title: 'Stays signed in after the browser was closed and opened again',
    requirement: 'Remember me',
    state: 'failing',
    reason: 'the test "login > stays signed in" failed (npm test, exit code 1)',
    evidence: [failing, testEvidence],
    proof: null,
  }),
  scenarioWith({
    id: 'login/remember-me/forgets',
    title: 'Forgets after 30 days',
    requirement: 'Remember me',
    state: 'unlinked',
    reason: 'no gate has run since it was added',
    evidence: [],
    proof: null,
  }),
  scenarioWith({
    id: 'login/password/locks',
    title: 'Locks after five attempts',
    evidence: [{ ...testEvidence, kind: 'command', command: 'npm run lock-check', test: null, file: null }],
    proof: { ...proof, kind: 'command', command: 'npm run lock-check', test: null, file: null, commit: null },
  }),
];

/** The report of a run with three iterations, with these changes. */
export const reportWith = (facts: Partial<ProofReport> = {}): ProofReport => {
  const scenarios = facts.scenarios ?? mixedScenarios;
  const usage = {
    inputTokens: 1000,
    outputTokens: 100,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    costUsd: 0.25,
  };
  const records = [1, 2, 3].map((iteration) =>
    recordWith({
      iteration,
      usage,
      tasks: { done: iteration, total: 3 },
      commit: String(iteration).repeat(40),
      gate: {
        passed: iteration === 3,
        tampering: [],
        openTasks: [],
        runs: [{ command: 'npm test', outcome: 'passed', exitCode: 0, durationMs: 1500, tail: '' }],
      },
    }),
  );
  const view = initialView(planWith(), { pid: 1, startedAt: '2026-01-02T03:04:05.000Z', at });
  return {
    change: '002-01_add-login',
    title: 'Add a login',
    archived: false,
    landed: false,
    scenarios,
    count: countProof(scenarios),
    unknown: [{ id: 'login/passwords/typo', where: 'test/login.test.ts' }],
    gate: { run: '20260102-030405-9f3a', iteration: 3, at },
    tasks: [
      { title: 'Write the form', done: true, optional: false },
      { title: 'Write the test', done: false, optional: false },
    ],
    run: { ...view, status: 'complete', finishedIterations: 3, elapsedMs: 65_000, usage },
    records,
    ...facts,
  };
};

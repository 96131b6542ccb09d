import { expect, test } from 'vitest';
import type { Ledger, Proof, ProvingWorker, ScenarioProof } from '../../../src/ralph/proof.ts';
import { believeLedger } from '../../../src/ralph/sent-ledger.ts';

const two: ProvingWorker = { name: 'two', host: 'host-b', epoch: 2 };
const sender: ProvingWorker = { name: 'two', host: null, epoch: 2 };

const evidence = {
  kind: 'test',
  command: 'npm test',
  exitCode: 0,
  test: 'signs in',
  file: null,
  outcome: 'passed',
} as const;

const proof: Proof = {
  ...evidence,
  hash: 'h1',
  run: 'run-2',
  iteration: 3,
  checkpoint: 'c3',
  commit: 'b3',
  at: '2026-01-02T03:04:05.000Z',
  worker: two,
};

const row: ScenarioProof = {
  id: 'login/signs-in',
  title: 'Signs in',
  requirement: null,
  hash: 'h1',
  state: 'proven',
  reason: null,
  evidence: [evidence],
  proof,
};

const ledgerWith = (scenario: ScenarioProof, more: Partial<Ledger> = {}): Ledger => ({
  v: 1,
  change: 'a',
  run: 'run-2',
  iteration: 3,
  at: proof.at,
  worker: two,
  scenarios: [scenario],
  unknown: [],
  ...more,
});

const believed = (ledger: Ledger) =>
  believeLedger(ledger, {
    change: 'a',
    run: 'run-2',
    sender,
    hasCheckpoint: (commit) => commit === 'c3',
    hasCommit: (commit) => commit === 'b3',
  });

test('a ledger that fits to its run is believed as it is', () => {
  expect(believed(ledgerWith(row))).toEqual(ledgerWith(row));
  const failing = { ...row, state: 'failing', reason: 'it failed', proof: null } as const;
  expect(believed(ledgerWith(failing))!.scenarios).toEqual([failing]);
  const uncommitted = { ...row, proof: { ...proof, commit: null } };
  expect(believed(ledgerWith(uncommitted))!.scenarios).toEqual([uncommitted]);
});

test.each([
  ['another change', { change: 'b' }],
  ['another run', { run: 'run-1' }],
])('the ledger of %s is not believed', (_, more) => {
  expect(believed(ledgerWith(row, more))).toBeNull();
});

const unsaid = 'its worker does not say what proves it';

test.each<[string, Partial<ScenarioProof>, string]>([
  ['without a proof', { proof: null }, unsaid],
  ['without evidence', { evidence: [] }, unsaid],
  ['with evidence that failed', { evidence: [evidence, { ...evidence, outcome: 'skipped' }] }, unsaid],
  ['of another text', { proof: { ...proof, hash: 'h2' } }, unsaid],
  ['by a result that failed', { proof: { ...proof, outcome: 'failed' } }, unsaid],
  ['in an earlier gate', { proof: { ...proof, iteration: 2 } }, unsaid],
  ['in an earlier run', { proof: { ...proof, run: 'run-1' } }, unsaid],
  ['without a checkpoint', { proof: { ...proof, checkpoint: null } }, 'checkpoint that its run does not have'],
  ['at an unknown checkpoint', { proof: { ...proof, checkpoint: 'c9' } }, 'checkpoint that its run does not have'],
  ['at an unknown commit', { proof: { ...proof, commit: 'b9' } }, 'commit that is not on its branch'],
])('a scenario that claims to be proven %s is not', (_, more, why) => {
  const [found] = believed(ledgerWith({ ...row, ...more }))!.scenarios;
  expect(found).toMatchObject({ state: 'linked', reason: expect.stringContaining(why) });
});

const one: ProvingWorker = { name: 'one', host: 'host-a', epoch: 1 };

test.each<[string, ProvingWorker | undefined, ProvingWorker]>([
  ['the sender', two, two],
  ['an earlier owner', one, one],
  ['no one', undefined, sender],
  ['another worker with the epoch of the sender', { ...one, epoch: 2 }, sender],
  ['a later owner', { ...one, epoch: 3 }, sender],
])('every proof names a worker: it says %s', (_, worker, expected) => {
  const { worker: __, ...unsigned } = proof;
  const signed = { ...row, proof: worker === undefined ? unsigned : { ...proof, worker } };
  const { worker: ___, ...ledger } = ledgerWith(signed);
  const found = believed(worker === undefined ? ledger : { ...ledger, worker })!;
  expect([found.worker, found.scenarios[0]!.proof!.worker]).toEqual([expected, expected]);
});

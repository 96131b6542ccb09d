import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import type { ProofDetail } from '../../src/web/api.ts';
import { createCluster, forge } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { withGh } from '../support/github.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';
import { startWeb } from '../support/web.ts';

const postgres = usePostgres();

const files = {
  [`.spool/changes/${change}/specs/login/spec.md`]: `## ADDED Requirements

### Requirement: Password

The system SHALL check the password.

#### Scenario: Signs in
- **WHEN** the password is right
- **THEN** the user is signed in
`,
  '.spool/config.json': JSON.stringify({ verify: ['node --test'], requireScenarios: true }),
};

/** The first agent waits for ever: its worker loses the change. The second one does the work. */
const agent = `if mkdir "$HOME/first" 2>/dev/null; then
  touch "$HOME/stuck.waits"
  while true; do sleep 0.05; done
fi
cat > login.test.mjs <<'END'
import test from 'node:test';
test('signs in @scenario login/password/signs-in', () => {});
END
echo '<promise>COMPLETE</promise>'`;

const ledgerPath = 'record/ledger.json';

test('the proof of a worker reaches the person with the name of the worker, and is checked before it is believed', async () => {
  const cluster = await createCluster(postgres, { files, agent: [agent] });
  const gh = withGh(cluster, cluster.remote);
  const spool = (...args: string[]) => cluster.start(args, { env: { ...gh.env, SPOOL_QUEUE: cluster.userUrl } }).result;
  const here = (...args: string[]) => cluster.start(args, { env: gh.env }).result;
  const worker = (name: string) =>
    cluster.start(['worker', '--name', name], { env: { SPOOL_QUEUE: cluster.workerUrl, SPOOL_TRUST: '1' } });
  await cluster.spool('queue', 'add', change);
  const lost = worker('one');
  await cluster.waits('stuck');
  await eventually(async () => (await cluster.row(change)).run !== null, 'the queue to know the run');
  expect(await spool('proof', change)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/never: no gate has run[^]*Follow +spool logs/),
  });
  // It cannot take the change again.
  lost.kill('SIGSTOP');
  await cluster.endLeases();
  const winner = worker('two');
  await cluster.reaches(change, 'complete');
  lost.kill('SIGCONT');
  for (const each of [lost, winner]) each.kill('SIGTERM');
  await Promise.all([lost.result, winner.result]);

  // What only the queue knows.
  const by = { name: 'two', host: hostname(), epoch: 2 };
  const where = `on worker two (${hostname()})`;
  expect(await here('proof', change)).toMatchObject({ code: 1, stdout: expect.stringContaining('no gate has run') });
  const shown = await spool('proof', change);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /1 of 1 scenario proven Verified iteration 1 of run \S+ on worker/,
  );
  const json = await spool('proof', change, '--json');
  const proof = JSON.parse(json.stdout) as ProofDetail & { run: { status: string } };
  expect(proof).toMatchObject({ gate: { worker: by }, run: { status: 'complete' } });
  const { commit, worker: prover } = proof.scenarios[0]!.proof!;
  expect(prover).toEqual(by);
  expect(cluster.onRemote('rev-parse', `ralph/${change}`)).toBe(commit);
  expect((await spool('publish', change, '--print')).stdout).toContain(`Verified in iteration 1 ${where}.`);
  expect((await spool('proof', change, '--html')).stdout).toContain(where);

  // Data from outside: what does not fit to the run is not believed, and neither is what no worker has announced.
  const ledger = cluster.onRemote('show', `refs/spool/runs/${change}:${ledgerPath}`);
  const { checkpoint } = proof.scenarios[0]!.proof!;
  const web = await startWeb(cluster, [], { env: { SPOOL_QUEUE: cluster.userUrl } });
  const onPage = () => web.read<ProofDetail>(`/api/changes/${change}/proof`);
  expect(await onPage()).toMatchObject({ count: { proven: 1 }, gate: { worker: by } });
  await forge(cluster, change, { path: ledgerPath, content: ledger.replaceAll(checkpoint!, '0'.repeat(40)) });
  expect(await onPage()).toMatchObject({
    count: { proven: 0 },
    scenarios: [{ state: 'linked', reason: expect.stringContaining('a checkpoint that its run does not have') }],
  });
  await web.stop();
  await forge(cluster, change, { path: ledgerPath, content: ledger.replaceAll(commit!, '1'.repeat(40)) });
  expect(await spool('publish', change)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Opened a draft pull request/),
    stderr: '',
  });
  expect(gh.pulls()).toMatchObject([
    { body: expect.stringContaining('it was proven at a commit that is not on its branch') },
  ]);
  await forge(cluster, change, { path: ledgerPath, content: '{'.repeat(9_000_000) });
  expect(await spool('proof', change)).toMatchObject({ code: 1 });
  await forge(cluster, change, { path: ledgerPath, content: ledger, isAnnounced: false });
  expect(await spool('land', change)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was not written by a worker of this queue'),
  });
  await forge(cluster, change, { path: ledgerPath, content: ledger });

  expect(await spool('publish', change)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Updated /),
    stderr: '',
  });
  expect(gh.pulls()).toMatchObject([{ head: `ralph/${change}`, body: expect.stringContaining(where) }]);
  expect(await spool('publish', change)).toMatchObject({ stdout: expect.stringContaining('is up to date') });
  // It was fetched, so the queue is not needed any more.
  expect(await here('proof', change)).toMatchObject({ code: 0, stdout: expect.stringContaining('on worker two') });
  expect(await spool('land', change)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Landed /),
  });
  // The landing has proven them again, on this machine.
  const landed = JSON.parse((await here('proof', change, '--json')).stdout) as ProofDetail;
  expect(landed.gate).not.toHaveProperty('worker');
  expect(landed.count).toMatchObject({ proven: 1 });
}, 300_000);

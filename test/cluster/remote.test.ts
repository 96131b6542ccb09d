import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

test('work continues while the remote is unreachable, and is pushed later', async () => {
  const agent = waitsIn(2, 'two') + waitsIn(4, 'four') + worksFor(4);
  const cluster = await createCluster(postgres, { agent: [agent] });
  const away = () => renameSync(cluster.remote, `${cluster.remote}.away`);
  const back = () => renameSync(`${cluster.remote}.away`, cluster.remote);
  await cluster.spool('queue', 'add', change);
  // At the start, during the run, and at its end.
  away();
  const worker = cluster.worker('one', '--lease', '5s');
  await worker.printed(`${change}: waiting (the remote cannot be read: `);
  back();
  await cluster.waits('two');
  away();
  cluster.release('two');
  await worker.printed('iteration 3 finished');
  await worker.printed(`${change}: not pushed yet: `);
  back();
  await cluster.waits('four');
  expect(cluster.subjects(change).length).toBeGreaterThan(0);
  away();
  cluster.release('four');
  await worker.printed('iteration 4 finished');
  expect(await cluster.row(change)).toMatchObject({ state: 'running' });
  back();
  await cluster.reaches(change, 'complete');
  expect(cluster.subjects(change)).toHaveLength(4);
});

test('what a person pushes to the branch of a change is not overwritten', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(2, 'go') + worksFor(3)] });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('one');
  await cluster.waits('go');
  cluster.git('fetch', '--quiet', 'origin', `ralph/${change}`);
  cluster.git('switch', '--quiet', '--detach', 'FETCH_HEAD');
  cluster.git('commit', '--quiet', '--allow-empty', '-m', 'By hand');
  cluster.git('push', '--quiet', 'origin', `HEAD:refs/heads/ralph/${change}`);
  cluster.release('go');
  await cluster.reaches(change, 'failed');
  expect(await cluster.row(change)).toMatchObject({
    detail: expect.stringContaining(`ralph/${change} was changed on the remote by someone else`),
  });
  expect(cluster.subjects(change).at(-1)).toBe('By hand');
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
  cluster.git('switch', '--quiet', 'main');

  // Queued again, the next worker continues from there.
  await cluster.spool('queue', 'add', change);
  cluster.worker('two');
  await cluster.reaches(change, 'complete');
  expect(cluster.subjects(change)).toContain('By hand');
});

test('the remote rejects what a worker pushes after it has lost its claim, which is counted', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(2)] });
  const bin = join(cluster.home, 'bin');
  mkdirSync(bin);
  // The push of the first iteration is late.
  const git = `#!/bin/sh
for word; do
  if [ "$word" = push ] && [ -e "$HOME/agent/call-1" ] && mkdir "$HOME/late" 2>/dev/null; then
    touch "$HOME/push.waits"
    until [ -e "$HOME/push" ]; do sleep 0.05; done
  fi
done
PATH=/usr/local/bin:/usr/bin:/bin exec git "$@"
`;
  writeFileSync(join(bin, 'git'), git, { mode: 0o755 });
  await cluster.spool('queue', 'add', change);
  const env = { SPOOL_QUEUE: cluster.url, PATH: `${bin}:${cluster.env.PATH}` };
  const first = cluster.start(['worker', '--name', 'first'], { env });
  await cluster.waits('push');
  await cluster.endLeases();
  cluster.worker('second');
  await cluster.reaches(change, 'complete');
  cluster.release('push');
  await first.printed('lost (');
  first.kill('SIGTERM');
  expect(await first.result).toMatchObject({ code: 0 });
  expect(await cluster.query('select epoch, outcome, detail, refused from spool.attempt order by epoch')).toEqual([
    { epoch: '1', outcome: 'lost', detail: 'the remote has the fence of another worker', refused: 1 },
    { epoch: '2', outcome: 'complete', detail: expect.any(String), refused: 0 },
  ]);
  // The money of both is booked.
  expect(await cluster.query('select epoch, iteration from spool.ledger order by epoch, iteration')).toEqual([
    { epoch: '1', iteration: 1 },
    { epoch: '2', iteration: 1 },
    { epoch: '2', iteration: 2 },
  ]);
  expect(cluster.subjects(change)).toHaveLength(2);
});

test('a state that no worker has pushed is not continued', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(2, 'go') + worksFor(3)] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await cluster.waits('go');
  first.kill('SIGKILL');
  await first.result;
  await cluster.endLeases();
  // Like a fence, but with another epoch.
  const ref = `refs/spool/runs/${change}`;
  const message = cluster.onRemote('log', '-1', '--format=%B', ref).replaceAll('epoch 1', 'epoch 9');
  cluster.git('fetch', '--quiet', 'origin', ref);
  const forged = cluster.git('commit-tree', 'FETCH_HEAD^{tree}', '-p', 'FETCH_HEAD', '-m', message);
  cluster.git('push', '--quiet', '--force', 'origin', `${forged}:${ref}`);
  cluster.worker('second');
  await cluster.reaches(change, 'failed');
  expect((await cluster.row(change)).detail).toBe(
    `the state in ${ref} was not written by a worker of this queue: start again with "spool queue add ${change} --fresh"`,
  );
  expect(await cluster.row(change)).toMatchObject({ epoch: '2' });
  expect(cluster.calls()).toHaveLength(2);
  cluster.release('go');
  await cluster.spool('queue', 'add', change, '--fresh');
  await cluster.reaches(change, 'complete');
});

test('a remote that does not accept the refs of workers is explained', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  const hook = `${cluster.remote}/hooks/pre-receive`;
  writeFileSync(hook, '#!/bin/sh\ngrep -q refs/spool/ && { echo "only branches, please" >&2; exit 1; }\nexit 0\n');
  chmodSync(hook, 0o755);
  await cluster.spool('queue', 'add', change);
  cluster.worker('one');
  await cluster.reaches(change, 'failed');
  expect((await cluster.row(change)).detail).toContain(
    `the remote does not accept refs/spool/runs/${change}, which workers need: `,
  );
  expect(cluster.calls()).toHaveLength(0);
});

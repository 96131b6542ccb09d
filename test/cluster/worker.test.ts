import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createCluster, waitsInIteration, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

test('a worker runs a change from the queue and pushes each iteration', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(3)] });
  const worker = cluster.worker('one');
  await worker.printed('is ready');
  const added = await cluster.spool('queue', 'add', change);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining(`Queued ${change}`) });

  await cluster.reaches(change, 'complete');
  expect(cluster.onRemote('log', '--reverse', '--format=%s', `main..ralph/${change}`).split('\n')).toHaveLength(3);
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
});

const subjects = (cluster: Awaited<ReturnType<typeof createCluster>>, id = change) =>
  cluster.onRemote('log', '--reverse', '--format=%s', `main..ralph/${id}`).split('\n');

test('another worker continues the run of one that was killed', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsInIteration(2, 'go') + worksFor(3)] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await eventually(() => existsSync(`${cluster.home}/go.started`), 'the second iteration');
  const { run } = await cluster.row(change);
  first.kill('SIGKILL');
  await first.result;
  const second = cluster.worker('second');
  await second.printed('taken (epoch 2)');
  writeFileSync(`${cluster.home}/go`, '');
  await cluster.reaches(change, 'complete');
  expect(subjects(cluster)).toHaveLength(3);
  expect((await cluster.row(change)).run).toBe(run);
  expect(await cluster.query('select epoch, outcome from spool.attempt order by epoch')).toEqual([
    { epoch: '1', outcome: 'lost' },
    { epoch: '2', outcome: 'complete' },
  ]);
});

test('a worker that was stopped for longer than its lease cannot overwrite its successor', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsInIteration(2, 'go') + worksFor(3)] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await eventually(() => existsSync(`${cluster.home}/go.started`), 'the second iteration');
  first.kill('SIGSTOP');
  const second = cluster.worker('second');
  await second.printed('taken (epoch 2)');
  writeFileSync(`${cluster.home}/go`, '');
  await cluster.reaches(change, 'complete');
  const before = cluster.onRemote('for-each-ref');
  first.kill('SIGCONT');
  await first.printed('lost (');
  first.kill('SIGTERM');
  expect(await first.result).toMatchObject({ code: 0 });
  expect(cluster.onRemote('for-each-ref')).toBe(before);
  expect(await cluster.row(change)).toMatchObject({ state: 'complete', epoch: '2' });
  expect(subjects(cluster)).toHaveLength(3);
});

import { expect, test } from 'vitest';
import { createCluster, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

test('a worker runs a change from the queue and pushes each iteration', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(3)] });
  const worker = cluster.worker('one');
  await worker.printed('is ready');
  const added = await cluster.spool('queue', 'add', change);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining(`Queued ${change}`) });

  await cluster.reaches(change, 'complete').catch((e) => { console.log(worker.output()); throw e; });
  console.log(worker.output());
  expect(cluster.onRemote('log', '--reverse', '--format=%s', `main..ralph/${change}`).split('\n')).toHaveLength(3);
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
});

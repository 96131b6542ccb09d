import { expect, test } from 'vitest';
import { createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const other = '003-01_other';

test('recovering says what there was to recover, and what was left alone', async () => {
  const cluster = await createCluster(postgres, {
    files: { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nDo it.\n' },
    agent: [waitsIn(2, 'go') + worksFor(3)],
  });
  const recover = (...args: string[]) =>
    cluster.start(['queue', 'recover', ...args], { env: { SPOOL_QUEUE: cluster.url } }).result;
  const nothing = { code: 0, stdout: 'The database knows everything that the remote has.\n', stderr: '' };

  // An empty queue, and a change that was never run.
  expect(await recover()).toMatchObject(nothing);
  await cluster.spool('queue', 'add', other, '--label', 'no=worker');
  expect(await recover()).toMatchObject(nothing);

  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('one', '--lease', '60s');
  await cluster.waits('go');
  const forget = () => cluster.query(`update spool.change set fence = null, next_fence = null, open_fences = '{}'`);
  const before = await cluster.query('select fence from spool.change where id = $1', [change]);
  await forget();
  expect(await recover()).toMatchObject({
    code: 0,
    stdout: 'Nothing was recovered.\n',
    stderr: expect.stringContaining(`because workers are running them: ${change}`),
  });
  expect(JSON.parse((await recover('--json')).stdout)).toEqual({ changes: [], skipped: [change] });
  expect(await cluster.query('select fence from spool.change where id = $1', [change])).toEqual([{ fence: null }]);

  worker.kill('SIGKILL');
  await worker.result;
  await cluster.endLeases();
  expect(await recover()).toMatchObject({
    code: 0,
    stdout: `Workers continue from what the remote has: ${change}.\n`,
    stderr: '',
  });
  expect(await cluster.query('select fence from spool.change where id = $1', [change])).toEqual(before);
  expect(await recover()).toMatchObject(nothing);

  // A role with few rights cannot do it.
  expect(await cluster.spool('queue', 'recover')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^spool: The queue at .* rejected this role: permission denied[^]*\n$/),
  });
  cluster.release('go');
});

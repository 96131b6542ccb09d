import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { waitsFor } from '../support/agents.ts';
import { createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';
import { openWatch } from '../support/watch.ts';

const postgres = usePostgres();

const other = '003-01_other';
const queued = '003-02_queued';
const local = '004-01_local';

test('runs of workers are watched, steered and opened, with those of this machine and without the database', async () => {
  const says = `echo "output $n of the agent"\n`;
  const cluster = await createCluster(postgres, {
    files: Object.fromEntries(
      [other, queued, local].map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n\nDo it.\n`]),
    ),
    agent: [`${waitsIn(1, 'one')}${says}${waitsIn(2, 'two')}${says}${worksFor(3)}`],
  });
  await cluster.spool('queue', 'add', change);
  await cluster.spool('queue', 'add', queued, '--label', 'no=worker');
  const worker = cluster.worker('builder', '--lease', '60s');
  await cluster.waits('one');
  const terminal = openWatch(cluster, { columns: 140, rows: 20, env: { SPOOL_QUEUE: cluster.userUrl } });
  await terminal.has(/^2 runs · 1 running · 1 queued/);
  await terminal.has(new RegExp(`^> running +002-01_\\S+ +1/50 .*on ${hostname()} \\(builder\\) since \\d\\d:\\d\\d`));
  expect(terminal.row(queued)).toMatch(/^ {2}queued +003-02_queued/);

  // A key works on the worker.
  terminal.type('c');
  await terminal.has(/^Context \(Enter adds/);
  terminal.type('Mind the gap.\r');
  await terminal.has(/^Added to the context of 002-01_add-ralph-loop\. Iteration 2 on .* will read it/);
  terminal.type('p');
  await terminal.has(/^Pauses after iteration 1 on /);
  terminal.type('r');
  await terminal.has(/^Continues without a pause: iteration 1 is running/);

  // It is followed into its next iteration.
  terminal.type('\r');
  await terminal.shown(/Iteration 1\/50/);
  cluster.release('one');
  await terminal.shown(/output 1 of the agent/);
  await terminal.shown(/Iteration 2\/50/);
  terminal.type('q');
  await terminal.has(/^> running +002-01_\S+ +2\/50/);

  // Without the database, one line says so, and the rows of this machine are still read.
  await postgres.crash(async () => {
    await terminal.has(/^Workers are shown as of \d\d:\d\d:\d\d\. The queue at postgres:.* cannot be reached/);
    expect(terminal.row(change)).toMatch(/^> running +002-01/);
    await cluster.start(['ralph', '--change', local, '--max-iterations', '1']).result;
    await terminal.has(/^ {2}limit +004-01_local/);
    expect(terminal.screen().filter((line) => line.includes('cannot be reached'))).toHaveLength(1);
  });
  await eventually(() => !terminal.screen().some((line) => line.includes('cannot be reached')), 'the database again');

  // One that is queued is removed and put back.
  terminal.type('j');
  await terminal.has(/^> queued +003-02/);
  terminal.type('s');
  await terminal.has(/^Was removed from the queue and will not be started/);
  await terminal.has(/^> interrupted +003-02_queued .*stopped/);
  terminal.type('r');
  await terminal.has(/^Resumes: queued again/);
  await terminal.has(/^> queued +003-02/);
  terminal.type('k');
  await terminal.has(/^> running +002-01/);
  terminal.type('S');
  await terminal.has(/^Stop now\?/);
  terminal.type('y');
  await cluster.reaches(change, 'stopped');
  await terminal.has(/^> interrupted +002-01_\S+ .*stopped/);
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
  expect(cluster.calls().some(({ prompt }) => prompt.includes('Mind the gap.'))).toBe(true);
});

test('an opened run that ends on its worker says how, and a worker that is gone is named', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(1, 'go') + worksFor(1)] });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('builder', '--lease', '3s');
  await cluster.waits('go');
  const env = { SPOOL_QUEUE: cluster.userUrl };
  const isShown = /^running +002-01_add-ralph-loop +1\/50 .*on /m;
  await eventually(
    async () => isShown.test((await cluster.start(['watch'], { env }).result).stdout),
    'what the worker has sent of its run',
  );
  const terminal = openWatch(cluster, { columns: 100, rows: 20, env });
  await terminal.has(/^> running +002-01/);
  worker.kill('SIGSTOP');
  await terminal.has(/^No sign of worker builder on /);
  worker.kill('SIGCONT');
  cluster.worker('second');
  cluster.release('go');
  terminal.type('\r');
  await terminal.shown(/Complete: /);
  await terminal.shown(/^ {2}Land +spool land/);
  terminal.type('q');
  await terminal.has(/^> complete +002-01/);
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
});

test('a queue that rejects the password is a line of the screen, without the password', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsFor('never')] });
  const url = new URL(cluster.userUrl);
  url.password = 'not-the-password';
  const terminal = openWatch(cluster, { columns: 200, env: { SPOOL_QUEUE: url.href } });
  await terminal.has(
    /^Only this machine is shown\. The queue at .* rejected this role: password authentication failed/,
  );
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.raw()).not.toContain('not-the-password');
});

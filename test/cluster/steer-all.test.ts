import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const postgres = usePostgres();

const ids = ['003-01_one', '003-02_two', '003-03_three'] as const;

/** One change runs on a worker, and three wait for one. */
const createBusy = async () => {
  const cluster = await createCluster(postgres, {
    files: Object.fromEntries(ids.map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n\nDo it.\n`])),
    agent: [waitsIn(1, 'go') + worksFor(3)],
  });
  await cluster.spool('queue', 'add', change, '--priority', '9');
  await cluster.spool('queue', 'add', ...ids, '--label', 'no=worker');
  const worker = cluster.worker('builder', '--lease', '60s');
  await cluster.waits('go');
  const states = async () =>
    (await cluster.query<{ state: string }>('select state from spool.change order by id')).map(({ state }) => state);
  return { ...cluster, builder: worker, states };
};

test('everything that the queue has of a project is paused, resumed and stopped at once', async () => {
  const cluster = await createBusy();
  const where = hostname();
  const plan = (what: string) => `in the queue of ${cluster.home}/remote: ${what}.`;

  // What runs elsewhere is left alone if only this machine is meant.
  expect(await cluster.spool('stop', '--all', '--local')).toMatchObject({ code: 0, stderr: 'Nothing is running.\n' });
  expect(await cluster.states()).toEqual(['running', 'queued', 'queued', 'queued']);

  const paused = await cluster.spool('pause', '--all');
  expect(paused).toMatchObject({ code: 0 });
  expect(paused.stderr.replaceAll(/\s+/g, ' ')).toBe(`Pause 4 changes ${plan(`1 running on ${where}, 3 queued`)} `);
  expect(paused.stdout.replaceAll(/\s+/g, ' ')).toBe(
    `${change} was told to pause after its iteration on ${where}. Paused: ${ids[0]}, ${ids[1]} and ${ids[2]}. `,
  );
  expect(await cluster.states()).toEqual(['running', 'paused', 'paused', 'paused']);

  // Before the worker pauses, the request is withdrawn.
  const resumed = await cluster.spool('resume', '--all', '--json');
  expect(
    resumed.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as object),
  ).toMatchObject([
    { change, outcome: 'sent', state: 'running', host: where },
    ...ids.map((id) => ({ change: id, outcome: 'resumed', state: 'paused', host: null })),
  ]);
  expect(await cluster.states()).toEqual(['running', 'queued', 'queued', 'queued']);
  expect(await cluster.spool('resume', '--all')).toMatchObject({ code: 0, stderr: 'Nothing is running.\n' });

  const stopped = await cluster.spool('stop', '--all', '--now');
  expect(stopped.stdout).toContain(`${change} was told to stop now on ${where}.`);
  await cluster.reaches(change, 'stopped');
  expect(await cluster.states()).toEqual(['stopped', 'stopped', 'stopped', 'stopped']);
  cluster.builder.kill('SIGTERM');
  expect(await cluster.builder.result).toMatchObject({ code: 0 });
});

test('on a terminal it asks before it touches what other machines run', async () => {
  const cluster = await createBusy();
  const ask = (...more: string[]) =>
    openTerminal(cluster, ['stop', '--all', ...more], { columns: 200, env: { SPOOL_QUEUE: cluster.userUrl } });
  const refused = ask();
  await refused.shows(`1 running on ${hostname()}, 3 queued?`);
  refused.type('n');
  expect(await refused.exitCode).toBe(0);
  expect(await cluster.states()).toEqual(['running', 'queued', 'queued', 'queued']);
  const sure = ask('--yes');
  expect(await sure.exitCode).toBe(0);
  cluster.release('go');
  await cluster.reaches(change, 'stopped');
  expect(await cluster.states()).toEqual(['stopped', 'stopped', 'stopped', 'stopped']);
});

test('a queue that cannot be reached is an error, after the runs of this machine were stopped', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(1, 'go')] });
  const run = cluster.start(['ralph', '--change', change]);
  await cluster.waits('go');
  const env = { SPOOL_QUEUE: 'postgres://someone:hidden@127.0.0.1:1/none' };
  const stopped = await cluster.start(['stop', '--all', '--now'], { env }).result;
  expect(stopped).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(new RegExp(`^${change} (?:is stopping|has stopped)`)),
    stderr: expect.stringMatching(
      /^spool: The queue at .* cannot be reached[^]* What workers run was not changed\.\n$/,
    ),
  });
  expect(stopped.stderr).not.toContain('hidden');
  expect(await run.result).toMatchObject({ code: 143 });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { IterationRecord } from '../../src/ralph/record.ts';
import { type Cluster, createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const history = (cluster: Cluster): IterationRecord[] =>
  cluster
    .onRemote('show', `refs/spool/runs/${change}:state/history.jsonl`)
    .split('\n')
    .map((line) => JSON.parse(line) as IterationRecord);

/** The epochs of the attempts that have a process. */
const epochsOfAgents = (cluster: Cluster): number[] =>
  processesWith(`HOME=${cluster.home}`).flatMap((pid) => {
    const mark = /\0SPOOL_ITERATION=\S+?-(\d+)\/\d+\0/.exec(environmentOf(pid));
    return mark ? [Number(mark[1])] : [];
  });

const environmentOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
};

test('a worker runs a change from the queue and pushes each iteration', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(3)] });
  const worker = cluster.worker('one');
  await worker.printed('is ready');
  const added = await cluster.spool('queue', 'add', change);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining(`Queued ${change}`) });

  await cluster.reaches(change, 'complete');
  expect(cluster.subjects(change)).toHaveLength(3);

  // The name is taken on this machine, and on another one.
  expect(await cluster.worker('one').result).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('A worker named one is already running on this machine (PID '),
  });
  const elsewhere = ['--folder', join(cluster.home, 'elsewhere')];
  expect(await cluster.worker('one', ...elsewhere).result).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /A worker named one is already running on \S+\. Stop it first, or choose another name with --name/,
    ),
  });
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
});

test('another worker continues the run of one that was killed, with its files and its context', async () => {
  const agent = `setsid sleep 300 </dev/null >/dev/null 2>&1 &\n${waitsIn(2, 'go')}${worksFor(3)}`;
  const cluster = await createCluster(postgres, { agent: [agent] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first', '--checkpoint', '200ms');
  await cluster.waits('go');
  const { run } = await cluster.row(change);
  // In the middle of the iteration, the files are on the remote.
  const fence = () => cluster.onRemote('log', '-1', '--format=%B', `refs/spool/runs/${change}`);
  await eventually(() => /^work [\da-f]+$/m.test(fence()), 'the files to be pushed');
  const work = /^work ([\da-f]+)$/m.exec(fence())![1]!;
  expect(cluster.onRemote('show', `${work}:partial.txt`)).toBe('partial');
  expect(cluster.files(change)).not.toContain('partial.txt');
  const [project] = await cluster.query<{ project: string }>('select project from spool.change');
  await cluster.query(
    `insert into spool.inbox (project, change, kind, body, sent_by) values ($1, $2, 'context', 'Mind the gap.', 'me')`,
    [project!.project, change],
  );
  first.kill('SIGKILL');
  await first.result;
  await cluster.endLeases();
  cluster.worker('second');
  await eventually(() => epochsOfAgents(cluster).includes(2), 'the agent of the second worker');
  // A worker that is started again ends what is left of the one that was killed, and nothing else.
  const again = cluster.worker('first');
  await again.printed('is ready');
  await eventually(() => !epochsOfAgents(cluster).includes(1), 'the agent of the first worker to end');
  expect(epochsOfAgents(cluster)).toContain(2);
  cluster.release('go');
  await cluster.reaches(change, 'complete');
  expect(cluster.subjects(change)).toHaveLength(3);
  expect((await cluster.row(change)).run).toBe(run);
  expect(history(cluster).map(({ iteration, git }) => [iteration, git?.files.toSorted()])).toEqual([
    [1, ['work-1.txt']],
    [2, ['partial.txt', 'work-2.txt']],
    [3, ['work-3.txt']],
  ]);
  expect(cluster.calls().map(({ prompt }) => prompt.split('Mind the gap.').length - 1)).toEqual([0, 0, 1, 1]);
  expect(await cluster.query('select epoch, outcome, detail from spool.attempt order by epoch')).toEqual([
    { epoch: '1', outcome: 'lost', detail: 'the lease has ended' },
    { epoch: '2', outcome: 'complete', detail: expect.any(String) },
  ]);
});

test('a worker that was stopped for longer than its lease cannot disturb or overwrite its successor', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(2, 'go') + worksFor(3)] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first', '--lease', '15s');
  await cluster.waits('go');
  first.kill('SIGSTOP');
  await cluster.endLeases();
  cluster.worker('second');
  await eventually(() => epochsOfAgents(cluster).includes(2), 'the agent of the second worker');
  first.kill('SIGCONT');
  await first.printed('lost (');
  await eventually(() => !epochsOfAgents(cluster).includes(1), 'the agent of the first worker to end');
  expect(epochsOfAgents(cluster)).toContain(2);
  cluster.release('go');
  await cluster.reaches(change, 'complete');
  first.kill('SIGTERM');
  expect(await first.result).toMatchObject({ code: 0 });
  expect(await cluster.row(change)).toMatchObject({ state: 'complete', epoch: '2' });
  expect(cluster.subjects(change)).toHaveLength(3);
  expect(history(cluster).map(({ iteration, exitCode }) => [iteration, exitCode])).toEqual([
    [1, 0],
    [2, 0],
    [3, 0],
  ]);
});

test('a change whose worker was killed after its last push is not run again', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  // The database hears nothing about the end.
  await cluster.query(
    `create function spool.refuse() returns trigger language plpgsql as
     $$ begin if new.state = 'complete' then raise exception 'not now' using errcode = '57P03'; end if; return new; end $$`,
  );
  await cluster.query(
    `create trigger refuse before update on spool.change for each row execute function spool.refuse()`,
  );
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await first.printed('cannot be reached');
  first.kill('SIGKILL');
  await first.result;
  await cluster.query('drop trigger refuse on spool.change');
  await cluster.endLeases();
  const second = cluster.worker('second');
  await second.printed(`${change}: complete`);
  expect(cluster.calls()).toHaveLength(1);
  expect(cluster.subjects(change)).toHaveLength(1);
  // Queued again, it is a new run.
  await cluster.spool('queue', 'add', change);
  await second.printed('iteration 1 finished');
  await cluster.reaches(change, 'complete');
});

test('a drained worker finishes its iteration and hands the change back; a second signal stops the agent', async () => {
  const agent = waitsIn(1, 'one') + waitsIn(2, 'two') + worksFor(3);
  const cluster = await createCluster(postgres, { agent: [agent] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await cluster.waits('one');
  first.kill('SIGTERM');
  await first.printed('finishing 1 iteration');
  cluster.release('one');
  expect(await first.result).toMatchObject({ code: 0 });
  expect(await cluster.row(change)).toMatchObject({ state: 'queued', owner: null });
  expect(history(cluster)).toMatchObject([{ iteration: 1, exitCode: 0 }]);

  const second = cluster.worker('second');
  await cluster.waits('two');
  second.kill('SIGTERM');
  await second.printed('finishing 1 iteration');
  second.kill('SIGTERM');
  expect(await second.result).toMatchObject({ code: 0 });
  expect(epochsOfAgents(cluster)).toEqual([]);
  // What it had done is there.
  expect(cluster.files(change)).toContain('partial.txt');

  cluster.worker('third');
  await cluster.reaches(change, 'complete');
  const iterations = history(cluster).map(({ iteration }) => iteration);
  expect(iterations).toEqual(iterations.map((_, index) => index + 1));
  expect(await cluster.query('select outcome from spool.attempt order by epoch')).toEqual(
    ['queued', 'queued', 'complete'].map((outcome) => ({ outcome })),
  );
});

import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Cluster, createCluster, waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const other = '003-01_other';
const files = { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nDo it.\n' };

const program = (path: string, text: string): void => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};

/** A hook of the remote. */
const hook = (cluster: Cluster, name: string, text: string): void =>
  program(join(cluster.remote, 'hooks', name), `#!/bin/sh\n${text}\n`);

test('a worker with a full disk fails no change, takes no more, and another one continues', async () => {
  const cluster = await createCluster(postgres, { files, agent: [worksFor(1)] });
  const bin = join(cluster.home, 'bin');
  mkdirSync(bin);
  const git = `#!/bin/sh
for word; do
  if [ "$word" = clone ]; then echo "fatal: write error: No space left on device" >&2; exit 128; fi
done
PATH=/usr/local/bin:/usr/bin:/bin exec git "$@"
`;
  program(join(bin, 'git'), git);
  await cluster.spool('queue', 'add', change, other);
  const env = { SPOOL_QUEUE: cluster.workerUrl, PATH: `${bin}:${cluster.env.PATH}` };
  const full = cluster.start(['worker', '--name', 'full', '--lease', '5s'], { env });
  await full.printed('taking no changes for 60s: ');
  await full.printed(': waiting (machine problem');
  const states = await cluster.query<{ state: string; detail: string | null }>(
    'select state, detail from spool.change order by state',
  );
  expect(states.map(({ state }) => state)).toEqual(['queued', 'waiting']);
  expect(states[1]!.detail).toMatch(new RegExp(`^machine problem on ${hostname()}: .*No space left on device`));
  cluster.worker('other');
  await cluster.reaches(change, 'complete');
  await cluster.reaches(other, 'complete');
  expect(full.output().match(/: taken/g)).toHaveLength(1);
});

test('a worker whose clock is wrong lets a change wait no longer than others do', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  const clock = join(cluster.home, 'clock.mjs');
  writeFileSync(clock, 'const now = Date.now; Date.now = () => now() + 7_200_000;\n');
  await cluster.spool('queue', 'add', change);
  renameSync(cluster.remote, `${cluster.remote}.away`);
  const worker = cluster.start(['worker', '--name', 'ahead', '--lease', '5s'], {
    env: { SPOOL_QUEUE: cluster.workerUrl, NODE_OPTIONS: `--import=${clock}` },
  });
  await worker.printed(`${change}: waiting (the remote cannot be read: `);
  const [row] = await cluster.query<{ wait: number }>(
    `select extract(epoch from available_at - updated_at)::float as wait from spool.change`,
  );
  expect(row!.wait).toBeGreaterThan(3);
  expect(row!.wait).toBeLessThan(10);
  renameSync(`${cluster.remote}.away`, cluster.remote);
  await cluster.reaches(change, 'complete');
});

test('what a killed git has left in the mirror does not stop a worker', async () => {
  const cluster = await createCluster(postgres, { files, agent: [worksFor(1)] });
  const folder = join(cluster.home, 'worker');
  const start = () => cluster.worker('one', '--folder', folder);
  await cluster.spool('queue', 'add', change);
  const first = start();
  await cluster.reaches(change, 'complete');
  first.kill('SIGTERM');
  await first.result;
  const mirror = join(
    folder,
    readdirSync(folder).find((name) => name.startsWith('remote-'))!,
    'mirror.git',
  );
  const left = ['refs/heads/main.lock', 'packed-refs.lock', 'objects/pack/tmp_pack_abc'].map((name) =>
    join(mirror, name),
  );
  for (const path of left) writeFileSync(path, '');
  cluster.git('commit', '--quiet', '--allow-empty', '-m', 'More');
  cluster.git('push', '--quiet', 'origin', 'main');
  await cluster.spool('queue', 'add', other);
  start();
  await cluster.reaches(other, 'complete');
  expect(left.filter((path) => existsSync(path))).toEqual([]);
});

test('a base that was rewritten on the remote is explained', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  await cluster.spool('queue', 'add', change);
  const start = cluster.git('rev-parse', '--short=8', 'HEAD');
  cluster.git('switch', '--quiet', '--orphan', 'rewritten');
  cluster.git('commit', '--quiet', '--allow-empty', '-m', 'Rewritten');
  cluster.git('push', '--quiet', '--force', 'origin', 'rewritten:main');
  cluster.git('switch', '--quiet', 'main');
  cluster.onRemote('reflog', 'expire', '--expire=now', '--all');
  cluster.onRemote('gc', '--quiet', '--prune=now');
  cluster.worker('one');
  await cluster.reaches(change, 'failed');
  expect((await cluster.row(change)).detail).toBe(
    `main on the remote no longer contains ${start}, from which the change starts: queue it again`,
  );
  expect(cluster.calls()).toEqual([]);
});

test('a branch that the remote protects is explained, and the work stays on the machine', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  hook(cluster, 'update', 'case $1 in refs/heads/ralph/*) echo "protected branch" >&2; exit 1 ;; esac');
  await cluster.spool('queue', 'add', change);
  const folder = join(cluster.home, 'worker');
  const worker = cluster.worker('one', '--folder', folder);
  await cluster.reaches(change, 'failed');
  expect((await cluster.row(change)).detail).toMatch(
    new RegExp(`^the remote rejected what the worker pushed to ralph/${change}: .*hook declined`),
  );
  worker.kill('SIGTERM');
  await worker.result;
  const clones = join(
    folder,
    readdirSync(folder).find((name) => name.startsWith('remote-'))!,
    'changes',
  );
  expect(readdirSync(clones)).toEqual([`${change}-1`]);
});

test('a new run keeps what a person had pushed to the branch of the change', async () => {
  const cluster = await createCluster(postgres, { agent: [worksFor(1)] });
  cluster.git('switch', '--quiet', '--create', `ralph/${change}`);
  cluster.git('commit', '--quiet', '--allow-empty', '-m', 'By hand');
  const mine = cluster.git('rev-parse', 'HEAD');
  cluster.git('push', '--quiet', 'origin', `ralph/${change}`);
  cluster.git('switch', '--quiet', 'main');
  await cluster.spool('queue', 'add', change, '--fresh');
  cluster.worker('one');
  await cluster.reaches(change, 'complete');
  expect(cluster.subjects(change)).not.toContain('By hand');
  expect(cluster.onRemote('rev-list', `refs/spool/runs/${change}`).split('\n')).toContain(mine);
});

test('a follower stays with a change whose first iteration is lost and begins again', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(1, 'go') + worksFor(2)] });
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first', '--lease', '60s');
  await cluster.waits('go');
  const follower = cluster.start(['logs', change, '--follow'], { env: { SPOOL_QUEUE: cluster.userUrl } });
  await follower.printed('Iteration 1/50');
  const { run } = await cluster.row(change);
  first.kill('SIGKILL');
  await first.result;
  await cluster.endLeases();
  cluster.worker('second');
  await eventually(async () => (await cluster.row(change)).run !== run, 'another run');
  cluster.release('go');
  await cluster.reaches(change, 'complete');
  expect(await follower.result).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Iteration 1\/50[^]*Iteration 1\/50[^]*Iteration 2\/50[^]*Complete: /),
  });
});

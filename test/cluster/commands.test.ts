import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { createCluster, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const waitsIn = (n: number, file: string) =>
  `if grep -q 'Iteration ${n}$' "$call/prompt"; then
  touch "$HOME/${file}.waits"
  while [ ! -f "$HOME/${file}" ]; do sleep 0.05; done
fi
echo "output of the agent"
`;

/** A cluster with a second checkout of the repository, in which nothing was ever run. */
const createCheckouts = async (agent: string) => {
  const cluster = await createCluster(postgres, { agent: [agent] });
  execFileSync('git', ['clone', '--quiet', cluster.remote, `${cluster.folder}-other`], { env: cluster.env });
  const start = (...args: string[]) =>
    cluster.start(args, { env: { SPOOL_QUEUE: cluster.userUrl }, cwd: '../project-other' });
  return { ...cluster, startThere: start, there: (...args: string[]) => start(...args).result };
};

const reaches = (file: string) => eventually(() => existsSync(file), file);

test('a run on a worker is watched, steered and landed from another checkout', async () => {
  const cluster = await createCheckouts(waitsIn(2, 'go') + worksFor(3));
  const { there, home } = cluster;
  expect(await there('stop', change)).toMatchObject({ code: 2, stderr: expect.stringContaining('is not running') });
  await cluster.spool('queue', 'add', change, '--priority', '5');

  // No worker has it.
  const queued = await there('status', change);
  expect(queued.stdout).toMatch(/Queued: the next free worker takes it\.\n(.*\n)*.*Queued .*tester@.*, priority 5/);
  expect((await there('status')).stdout).toMatch(/^queued +002-01_add-ralph-loop/m);
  expect((await there('stop', change)).stdout).toBe(`${change} was removed from the queue and will not be started.\n`);
  expect((await there('resume', change)).stdout).toBe(`${change} resumes: queued again.\n`);
  expect((await there('pause', change)).stdout).toContain('was queued; paused. Resume with: spool resume');
  expect(await there('pause', change)).toMatchObject({ code: 2, stderr: expect.stringContaining('it is paused') });
  expect((await there('resume', '002-01', '--json')).stdout).toContain('"outcome":"resumed"');
  const follower = cluster.startThere('logs', change, '-f');
  await follower.printed('is queued. It is shown when');

  // A worker has it, in its second iteration.
  cluster.worker('one');
  await reaches(`${home}/go.waits`);
  await follower.printed('Iteration 2');
  const running = await there('status', change);
  expect(running.stdout).toContain(`Running: iteration 2 of 50 on ${hostname()}, since`);
  expect(running.stdout).toMatch(/Worker +one on /);
  expect((await there('ralph', '--change', change, '--status')).stdout.split('\n')[0]).toBe(
    running.stdout.split('\n')[0],
  );
  const json = JSON.parse((await there('status', change, '--json')).stdout) as Record<string, object>;
  expect(json).toMatchObject({
    change,
    status: 'running',
    iterations: [{ iteration: 1 }],
    remote: { state: 'running', worker: 'one', host: hostname(), silent: false },
  });
  expect((await there('list')).stdout).toContain(`running on ${hostname()}`);
  expect((await there('logs', change, '1')).stdout).toContain('output of the agent');
  expect((await there('logs', change, '1', '--raw')).stdout).toBe('output of the agent\n');
  expect((await there('logs', change, '1', '--prompt')).stdout).toContain('# Ralph Wiggum Loop - Iteration 1');
  expect(await there('logs', change, '2', '--raw')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('when the iteration is finished'),
  });
  expect(await there('land', change)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it is still in the queue'),
  });
  expect((await there('ralph', '--change', change, '--add-context', 'Mind the gap.')).stdout).toBe(
    `Added to the context of ${change}. Iteration 3 on ${hostname()} will read it.\n`,
  );
  expect((await there('pause', change)).stdout).toContain(`${change} pauses after iteration 2 on ${hostname()}`);
  expect((await there('resume', change)).stdout).toContain('continues without a pause: iteration 2 is running');

  writeFileSync(`${home}/go`, '');
  await cluster.reaches(change, 'complete');
  const followed = await follower.result;
  expect(followed).toMatchObject({ code: 0, stdout: expect.stringContaining('Complete: ') });
  expect(followed.stdout.match(/ Iteration \d\/50/g)).toEqual([
    ' Iteration 1/50',
    ' Iteration 2/50',
    ' Iteration 3/50',
  ]);
  expect(cluster.calls().map(({ prompt }) => prompt.includes('Mind the gap.'))).toEqual([false, false, true]);
  expect((await there('status', change)).stdout).toMatch(/Complete: [^]*Publish +spool publish[^]*Land +spool land/);

  // Nothing but the base is left on the remote.
  const landed = await there('land', change);
  expect(landed.stderr).toBe('');
  expect(landed.stdout).toMatch(
    /^Landed .* on main: 3 commits.*Deleted ralph\/\S+ and the state of its run on the remote/,
  );
  expect(cluster.onRemote('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  expect((await there('list')).stdout).toContain('landed');
  expect((await cluster.spool('status', change)).stdout).toContain('Complete: landed on main by tester@');
  expect(await cluster.spool('land', change)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('landed on main'),
  });
});

test('a follower survives a takeover and a crash of the database', async () => {
  const cluster = await createCheckouts(waitsIn(2, 'go') + worksFor(3));
  const { there, home } = cluster;
  await cluster.spool('queue', 'add', change);
  const first = cluster.worker('first');
  await reaches(`${home}/go.waits`);
  const follower = cluster.startThere('logs', change, '-f');
  await follower.printed('Iteration 2');
  first.kill('SIGKILL');
  await first.result;
  await eventually(async () => (await there('list')).stdout.includes(`silent on ${hostname()}`), 'a silent worker');
  expect((await there('status', change)).stdout).toContain('Silent: no sign of worker first on');
  expect((await there('status')).stdout).toContain('No sign of worker first on');
  expect((await there('pause', change)).stdout).toContain('that has gone silent; paused.');
  await follower.printed('Paused.');
  await postgres.crash(async () => {
    await follower.printed('cannot be reached');
    expect(await there('list')).toMatchObject({ code: 0, stdout: expect.stringContaining(change) });
  });
  expect((await there('resume', change)).stdout).toBe(`${change} resumes: queued again.\n`);
  writeFileSync(`${home}/go`, '');
  cluster.worker('second');
  await cluster.reaches(change, 'complete');
  expect(await follower.result).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Iteration 3\/50[^]*Complete: /),
  });
});

test('a local run comes first, and the queue of a project counts once it is trusted', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(1, 'go') + worksFor(1)] });
  const address = new URL(cluster.userUrl);
  const { password } = address;
  const withConfig = () => cluster.write('.spool/config.json', JSON.stringify({ queue: address.href }));
  await cluster.spool('queue', 'add', change);
  const env = { PGPASSWORD: password };
  const local = (...args: string[]) => cluster.start(args, { env }).result;
  expect((await local('status', change)).stdout).toContain('no run yet');

  withConfig();
  const refused = await local('status', change);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('must not contain a password') });
  expect(refused.stderr).not.toContain(password);

  address.password = '';
  withConfig();
  const ignored = await local('status', change);
  expect(ignored.stdout).toContain('no run yet');
  expect(ignored.stderr).toMatch(/^The queue in \.spool\/config\.json is ignored until you trust it \(postgres:.*\n$/);
  cluster.trust();
  expect(await local('status', change)).toMatchObject({ stderr: '', stdout: expect.stringContaining('Queued: ') });
  expect((await local('config')).stdout).toMatch(/queue +postgres:.*config\.json/);

  const running = cluster.start(['ralph', '--change', change, '--no-interactive'], { env });
  await reaches(`${cluster.home}/go.waits`);
  expect((await local('status', change)).stdout).toContain('PID ');
  expect((await local('stop', change, '--now')).code).toBe(0);
  await running.result;
  expect((await cluster.row(change)).state).toBe('queued');
});

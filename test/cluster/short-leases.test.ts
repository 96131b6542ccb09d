import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { query } from '../support/postgres.ts';
import { change, createProject } from '../support/project.ts';
import { existsSync, writeFileSync } from 'node:fs';

test('with a hub and leases of three seconds, a change survives a kill and a stop, and is landed', async () => {
  const project = createProject({ agent: [waitsIn(2, 'two') + waitsIn(3, 'three') + worksFor(3)] });
  const remote = `${project.home}/remote.git`;
  execFileSync('git', ['init', '--quiet', '--bare', remote], { env: project.env });
  project.git('remote', 'add', 'origin', remote);
  project.git('push', '--quiet', 'origin', 'main');
  const base = mkdtempSync(join(tmpdir(), 'spool-hub-'));
  chmodSync(base, 0o755);
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, 'hub');
  const hub = project.start(['hub', '--folder', folder, '--port', '0']);
  await hub.printed('The hub is ready');
  const url = async (role: string) =>
    (await project.spool('hub', '--folder', folder, '--print-url', role)).stdout.trim();
  const [worker, user, owner] = [await url('worker'), await url('user'), await url('owner')];
  const start = (name: string) =>
    project.start(['worker', '--name', name, '--lease', '3s'], { env: { SPOOL_QUEUE: worker } });
  const spool = (...args: string[]) => project.start(args, { env: { SPOOL_QUEUE: user } }).result;
  const waits = (name: string) =>
    eventually(() => existsSync(join(project.home, `${name}.waits`)), `${name} to be waited for`);
  const lost = async () =>
    Number((await query<{ n: string }>(owner, `select count(*) as n from spool.attempt where outcome = 'lost'`))[0]!.n);

  await spool('queue', 'add', change);
  const first = start('first');
  await waits('two');
  first.kill('SIGKILL');
  await first.result;
  const second = start('second');
  await second.printed('taken (epoch ');
  writeFileSync(join(project.home, 'two'), '');
  await waits('three');
  second.kill('SIGSTOP');
  const third = start('third');
  await third.printed('taken (epoch ');
  second.kill('SIGCONT');
  await second.printed('lost (');
  expect(await lost()).toBeGreaterThanOrEqual(2);
  writeFileSync(join(project.home, 'three'), '');
  await eventually(
    async () => (await query<{ state: string }>(owner, 'select state from spool.change'))[0]?.state === 'complete',
    'the change to be complete',
    120_000,
  );
  const commits = execFileSync('git', ['--git-dir', remote, 'log', '--format=%s', `main..ralph/${change}`]);
  expect(commits.toString().trim().split('\n')).toHaveLength(3);
  for (const each of [second, third]) {
    each.kill('SIGTERM');
    expect(await each.result).toMatchObject({ code: 0 });
  }
  expect(await spool('land', change)).toMatchObject({ code: 0 });
  hub.kill('SIGTERM');
  expect(await hub.result).toMatchObject({ code: 0 });
});

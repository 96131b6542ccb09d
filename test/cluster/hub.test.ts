import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitsIn, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { query } from '../support/postgres.ts';
import { change, createProject } from '../support/project.ts';

/** Root runs the server as another user, who must reach the folder. */
const publicFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-hub-'));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

test('a hub keeps its data when it is killed, and workers continue with a database that was restored', async () => {
  const project = createProject({ agent: [waitsIn(2, 'two') + waitsIn(3, 'three') + worksFor(4)] });
  const remote = `${project.home}/remote.git`;
  execFileSync('git', ['init', '--quiet', '--bare', remote], { env: project.env });
  project.git('remote', 'add', 'origin', remote);
  project.git('push', '--quiet', 'origin', 'main');
  const base = publicFolder();
  const [folder, backup] = [join(base, 'hub'), join(base, 'backup')];
  let port = '0';
  const startHub = async () => {
    const hub = project.start(['hub', '--folder', folder, '--port', port]);
    await hub.printed('The hub is ready');
    onTestFinished(() => void hub.kill('SIGTERM'));
    return hub;
  };
  const stop = async (hub: Awaited<ReturnType<typeof startHub>>) => {
    hub.kill('SIGTERM');
    expect(await hub.result).toMatchObject({ code: 0 });
  };
  const url = async (role: string) =>
    (await project.spool('hub', '--folder', folder, '--print-url', role)).stdout.trim();

  expect(await project.spool('hub', '--folder', folder, '--print-url', 'worker')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^spool: No hub has been started in .*\n$/),
  });
  expect(await project.spool('hub', '--postgres', project.folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^spool: No Postgres server was found in .*\n$/),
  });
  const first = await startHub();
  const [worker, user, owner] = [await url('worker'), await url('user'), await url('owner')];
  port = new URL(user).port;
  const passwords = [worker, user, owner].map((each) => new URL(each).password);
  expect(new Set(passwords).size).toBe(3);
  expect(passwords.filter((password) => first.output().includes(password))).toEqual([]);
  expect(await project.spool('hub', '--folder', folder)).toMatchObject({
    code: 2,
    stderr: `spool: A hub is already running in ${folder} (PID ${first.pid}).\n`,
  });
  const other = project.start(['hub', '--folder', join(base, 'other'), '--port', port]);
  expect(await other.result).toMatchObject({ code: 1, stderr: expect.stringContaining('Address already in use') });

  const startWorker = (name: string) =>
    project.start(['worker', '--name', name, '--lease', '3s'], { env: { SPOOL_QUEUE: worker } });
  const kill = async (started: ReturnType<typeof startWorker>) => {
    started.kill('SIGKILL');
    await started.result;
  };
  const as = (address: string, ...args: string[]) => project.start(args, { env: { SPOOL_QUEUE: address } }).result;
  await as(user, 'queue', 'add', change);
  const one = startWorker('one');
  await eventually(() => existsSync(`${project.home}/two.waits`), 'the second iteration');
  await kill(one);
  await stop(first);
  execFileSync('cp', ['-a', folder, backup]);
  const epoch = async () => Number((await query<{ epoch: string }>(owner, 'select epoch from spool.change'))[0]?.epoch);

  const second = await startHub();
  const epochInBackup = await epoch();
  const two = startWorker('two');
  await two.printed('taken (epoch ');
  writeFileSync(`${project.home}/two`, '');
  await eventually(() => existsSync(`${project.home}/three.waits`), 'the third iteration');
  await kill(two);
  second.kill('SIGKILL');
  await second.result;
  const third = await startHub();
  expect(third.output()).toContain('Stopping the server that a killed hub has left');
  const lastEpoch = await epoch();
  expect(lastEpoch).toBeGreaterThan(epochInBackup);
  await stop(third);

  rmSync(folder, { recursive: true });
  execFileSync('cp', ['-a', backup, folder]);
  const fourth = await startHub();
  expect(await epoch()).toBe(epochInBackup);
  expect(await as(owner, 'queue', 'recover')).toMatchObject({ code: 0, stdout: expect.stringContaining(change) });
  expect((await as(owner, 'queue', 'recover')).stdout).toBe('The database knows everything that the remote has.\n');
  writeFileSync(`${project.home}/three`, '');
  const last = startWorker('three');
  await last.printed(`${change}: complete`);
  last.kill('SIGTERM');
  await last.result;
  expect(await query(owner, 'select state from spool.change')).toEqual([{ state: 'complete' }]);
  expect(await epoch()).toBeGreaterThan(lastEpoch);
  const commits = execFileSync('git', ['--git-dir', remote, 'log', '--format=%s', `main..ralph/${change}`]);
  expect(commits.toString().trim().split('\n')).toHaveLength(4);
  await stop(fourth);
});

test('a hub for other machines has a certificate that clients check, and lets only the two roles in', async () => {
  const project = createProject({ git: false });
  const folder = join(publicFolder(), 'hub');
  const hub = project.start(['hub', '--folder', folder, '--port', '0', '--host', '0.0.0.0']);
  await hub.printed('The hub is ready on 0.0.0.0');
  onTestFinished(() => void hub.kill('SIGTERM'));
  const given = new URL((await project.spool('hub', '--folder', folder, '--print-url', 'user')).stdout.trim());
  const list = (...edits: ((url: URL) => void)[]) => {
    const url = new URL(given);
    for (const edit of edits) edit(url);
    return project.spool('queue', 'list', '--everywhere', '--queue', url.href);
  };
  expect(readFileSync(join(folder, 'access.conf'), 'utf8').split('\n').slice(2)).toEqual([
    'hostssl spool spool_worker,spool_user all scram-sha-256',
    '',
  ]);
  expect(given.searchParams.get('sslmode')).toBe('verify-full');
  const atHome = (url: URL) => (url.hostname = 'localhost');
  expect(await list(atHome)).toMatchObject({ code: 0, stderr: '' });
  expect(await list(atHome, (url) => url.searchParams.delete('sslrootcert'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^spool: The queue at .* cannot be reached: self-signed certificate\.\n$/),
  });
  expect(await list(atHome, (url) => (url.password = 'wrong'))).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^spool: The queue at .* rejected this role: password authentication failed.*\n$/),
  });
  hub.kill('SIGTERM');
  expect(await hub.result).toMatchObject({ code: 0 });
});

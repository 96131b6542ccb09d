import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCluster, forge, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

/** A change that a worker has completed, with the checks of the project, and a checkout that trusts nothing. */
const createCompleted = async (config: object = { verify: ['touch "$HOME/verified"'] }) => {
  const cluster = await createCluster(postgres, {
    files: { '.spool/config.json': JSON.stringify(config) },
    agent: [worksFor(1)],
    untrusted: true,
  });
  execFileSync('git', ['clone', '--quiet', cluster.remote, `${cluster.folder}-other`], { env: cluster.env });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.start(['worker', '--name', 'one'], {
    env: { SPOOL_QUEUE: cluster.workerUrl, SPOOL_TRUST: '1' },
  });
  await cluster.reaches(change, 'complete');
  worker.kill('SIGTERM');
  await worker.result;
  const there = (args: string[], env: Record<string, string> = {}) =>
    cluster.start(args, { env: { SPOOL_QUEUE: cluster.userUrl, ...env }, cwd: '../project-other' }).result;
  return { ...cluster, there };
};

const landed = (cluster: { onRemote: (...args: string[]) => string }) =>
  !cluster.onRemote('for-each-ref', '--format=%(refname)').includes(`refs/heads/ralph/${change}`);

test('a worker that does not trust the checks of a project fails the change and says how to trust them', async () => {
  const cluster = await createCluster(postgres, {
    files: { '.spool/config.json': JSON.stringify({ verify: ['touch "$HOME/verified"'] }) },
    agent: [worksFor(1)],
    untrusted: true,
  });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('one');
  await cluster.reaches(change, 'failed');
  expect((await cluster.row(change)).detail).toMatch(/would run the commands above, which you have not trusted/);
  expect(worker.output()).toContain('touch "$HOME/verified"');
  expect(existsSync(join(cluster.home, 'verified'))).toBe(false);
  expect(cluster.calls()).toEqual([]);
});

test('landing what a worker has completed runs the checks of the project only if they are trusted here', async () => {
  const cluster = await createCompleted();
  execFileSync('rm', [join(cluster.home, 'verified')]);
  expect(await cluster.there(['land', change])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/would run the commands above, which you have not trusted/),
  });
  expect(existsSync(join(cluster.home, 'verified'))).toBe(false);
  expect(landed(cluster)).toBe(false);

  expect(await cluster.there(['trust', '--yes'])).toMatchObject({ code: 0 });
  expect(await cluster.there(['land', change])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Landed /) });
  expect(existsSync(join(cluster.home, 'verified'))).toBe(true);
  expect(landed(cluster)).toBe(true);
});

test.each(['as an explicit setting', 'as a setting of the project'])(
  'a command that a worker has written into the state of a run is not run when it lands, %s',
  async (how) => {
    const cluster = await createCompleted({});
    const ref = `refs/spool/runs/${change}`;
    const path = 'state/state.json';
    const state = JSON.parse(cluster.onRemote('show', `${ref}:${path}`)) as {
      gate: { verify: string[] };
      settings: { explicit: string[] };
    };
    state.gate.verify = ['touch "$HOME/planted"'];
    if (how === 'as an explicit setting') state.settings.explicit = [...state.settings.explicit, 'verify'];
    await forge(cluster, change, { path, content: JSON.stringify(state) });

    const refused = await cluster.there(['land', change]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        how === 'as an explicit setting'
          ? /verify commands that are not those of the project/
          : /would run the commands above, which you have not trusted/,
      ),
    });
    expect(existsSync(join(cluster.home, 'planted'))).toBe(false);
    expect(landed(cluster)).toBe(false);
  },
);

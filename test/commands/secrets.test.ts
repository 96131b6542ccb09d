import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

test('no secret from the environment or with a known pattern is written to disk', async () => {
  const secret = 'correct-horse-battery';
  const shaped = `ghp_${'a1'.repeat(18)}`;
  const script = `echo "I use $DEPLOY_TOKEN and ${shaped}."; echo "$DEPLOY_TOKEN" >&2; exit 1`;
  const project = createProject({ agent: [script] });
  const env = { DEPLOY_TOKEN: secret };

  const args = ['ralph', '--change', change, '--max-iterations', '2', '--retry-delay', '1ms', '--json'];
  const result = await project.start([...args, '--verify-each', '--verify', 'echo "$DEPLOY_TOKEN"; exit 1'], { env })
    .result;

  expect(result.code).toBe(3);
  const state = project.path('.spool/.state');
  const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { name, parentPath } of files) {
    const text = project.read(join(parentPath, name).slice(project.folder.length + 1));
    expect(`${name}: ${text}`).not.toContain(secret);
    expect(`${name}: ${text}`).not.toContain(shaped);
  }
  expect(result.stdout).not.toContain(secret);
  expect(project.history()).toMatchObject([{ error: { message: expect.stringContaining('[redacted]') } }, {}]);
});

test('state files are readable by their owner only', async () => {
  const project = createProject({ agent: ['exit 1'] });

  await project.spool('ralph', '--change', change, '--max-iterations', '1', '--verify-each', '--verify', 'true');

  const state = project.path('.spool/.state');
  expect(statSync(state).mode & 0o777).toBe(0o700);
  for (const entry of readdirSync(state, { recursive: true, withFileTypes: true }))
    expect(`${entry.name} ${(statSync(join(entry.parentPath, entry.name)).mode & 0o777).toString(8)}`).toBe(
      `${entry.name} ${entry.isDirectory() ? '700' : '600'}`,
    );
});

test('files with names of key files are not committed, and are named', async () => {
  const script = [
    'mkdir -p .aws .docker',
    'for f in id_rsa server.key client.p12 .netrc .pgpass .aws/credentials; do echo x > "$f"; done',
    `echo '//npm.acme.io/:_authToken=0123456789' > .npmrc`,
    `echo '{ "auths": { "acme.io": { "auth": "dXNlcjpwdw==" } } }' > .docker/config.json`,
    `printf -- '-----BEGIN CERTIFICATE-----\\nQ\\n-----END CERTIFICATE-----\\n' > ca.pem`,
    'echo ssh-rsa > id_rsa.pub',
    'echo B=2 >> edited.env',
    promise,
  ].join('; ');
  const project = createProject({ agent: [script] });
  for (const name of ['edited.env', 'own.env']) project.write(name, 'A=1\n');

  const result = await project.spool('ralph', '--change', change);

  expect(result.code).toBe(0);
  expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['ca.pem', 'id_rsa.pub']);
  const named = result.stderr.match(/(?<=Not committed: )\S+(?= \(its name suggests)/g);
  expect(named?.toSorted()).toEqual([
    '.aws/credentials',
    '.docker/config.json',
    '.netrc',
    '.npmrc',
    '.pgpass',
    'client.p12',
    'id_rsa',
    'server.key',
  ]);
  // What the user has and the agent did not change is not work of the run.
  expect(project.state().uncommitted!.flatMap(({ files }) => files)).toEqual([...named!, 'edited.env'].toSorted());
});

test('files with a secret in their name and links to one are in no commit or checkpoint', async () => {
  const secret = 'zX9kq2Lw7Rt4Vb8N';
  const script = `ln -s "$DEPLOY_TOKEN" link; echo x > "$DEPLOY_TOKEN.txt"; mkdir "$DEPLOY_TOKEN"; echo x > "$DEPLOY_TOKEN/y"
    ln -s README.md good; echo a > a.txt; ${promise}`;
  const project = createProject({ agent: [script] });

  const result = await project.start(['ralph', '--change', change], { env: { DEPLOY_TOKEN: secret } }).result;

  expect(result.code).toBe(0);
  const checkpoint = project.git('for-each-ref', '--format=%(objectname)', `refs/spool/${change}/*/1`);
  for (const commit of ['HEAD', checkpoint]) {
    const names = project.git('ls-tree', '-r', '--name-only', commit).split('\n');
    expect(names).toEqual(expect.arrayContaining(['a.txt', 'good']));
    expect(names).not.toContain('link');
    expect(names.join()).not.toContain(secret);
  }
  expect(result.stderr).toContain('Not committed: [redacted].txt (its name contains what looks like a key).');
  expect(result.stderr).toContain('Not committed: link (it points to what looks like a key).');
  expect(result.stdout + result.stderr + JSON.stringify([project.history(), project.state()])).not.toContain(secret);
});

test('a file in HEAD with a secret in its name is committed', async () => {
  const secret = 'zX9kq2Lw7Rt4Vb8N';
  const project = createProject({ agent: [`echo two > ${secret}; ${promise}`], files: { [secret]: 'one\n' } });

  await project.start(['ralph', '--change', change], { env: { DEPLOY_TOKEN: secret } }).result;

  expect(project.git('show', `HEAD:${secret}`)).toBe('two');
});

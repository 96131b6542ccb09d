import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];
const resume = ['ralph', '--change', change];
const killSpool = 'kill -9 $PPID';

const token = 'Zx9-Lm3_Qw7pRt5vKb2N';
const header = `Authorization: Bearer ${token}`;
/** Stands for `curl -H 'Authorization: …'`. */
const verify = `echo "$0" > ../verified; printf %s '${header}' > ../sent`;

/** All that a run has left in the project, but for what the user typed as a prompt. */
const written = (project: TestProject): string =>
  readdirSync(project.path('.spool/.state'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name}: ${readFileSync(join(entry.parentPath, entry.name), 'latin1')}`)
    .join('\n');

test('a token in a verify command is not in state.json or start.json, and the resumed run still uses it', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--verify', verify], { env }).result;
  expect(written(project)).not.toContain(token);
  expect(project.state().gate.verify[0]).toContain('[redacted]');

  // Also where the variable is not set any more.
  const result = await project.start(resume).result;

  expect(result).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.folder, '../sent'), 'utf8')).toBe(header);
  expect(written(project)).not.toContain(token);
});

test('what it is resumed with is for its owner only', async () => {
  const project = createProject({ agent: [killSpool] });
  await project.start([...run, '--verify', verify], { env: { DEPLOY_TOKEN: token } }).result;
  const kept = join(project.home, '.local/state/spool');
  for (const entry of readdirSync(kept, { recursive: true, withFileTypes: true }))
    expect(statSync(join(entry.parentPath, entry.name)).mode & 0o077).toBe(0);
});

test('an agent that changes the redacted command gains nothing', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--verify', verify], { env }).result;
  const file = project.stateFile('state.json');
  execFileSync('sed', ['-i', 's/> ..\\/verified/> ..\\/elsewhere/', file]);

  expect(await project.start(resume, { env }).result).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('its state.json was changed, and not by Spool (gate)'),
  });
});

test('a run of another machine whose command was redacted asks for it again, in one line', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token, SPOOL_TRUST: '1' };
  await project.start([...run, '--verify', verify], { env }).result;
  rmSync(join(project.home, '.local/state/spool'), { recursive: true });

  expect(await project.start(resume, { env }).result).toMatchObject({
    code: 2,
    stderr: `spool: The last run of ${change} was started elsewhere, and its --verify holds a secret, which is not written into the project. Give --verify again.\n`,
  });
  expect(await project.start([...resume, '--verify', 'true'], { env }).result).toMatchObject({ code: 0 });
});

test('a damaged state.json is rebuilt without the token, and the run still uses it', async () => {
  const project = createProject({ agent: [says('one'), killSpool, promise] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--verify', verify], { env }).result;
  execFileSync('truncate', ['-s', '9', project.stateFile('state.json')]);

  expect(await project.start(resume, { env }).result).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.folder, '../sent'), 'utf8')).toBe(header);
  expect(written(project)).not.toContain(token);
});

test('notify is told without secrets, on stdin and in its variables', async () => {
  const blocked = `echo "<promise>BLOCKED</promise> the key $DEPLOY_TOKEN is refused"`;
  const project = createProject({ agent: [blocked, `echo "I cannot: $DEPLOY_TOKEN"; exit 1`] });
  const notify = 'cat > ../told; env | grep "^SPOOL_" > ../told-env';
  await project.start(
    [...run, '--verify', verify, '--notify', notify, '--max-iterations', '2', '--retry-delay', '1ms'],
    {
      env: { DEPLOY_TOKEN: token },
    },
  ).result;

  const told = readFileSync(join(project.folder, '../told'), 'utf8');
  expect(told).toContain('[redacted]');
  expect(told).not.toContain(token);
  expect(readFileSync(join(project.folder, '../told-env'), 'utf8')).not.toContain(token);
});

test('a landing runs the command of the run with its token, and nothing that an agent has written into state.json', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--worktree', '--verify', `printf %s '${token}' > /dev/null`], { env }).result;
  const state = project.read(`.spool/.state/ralph/${change}/state.json`);
  const file = project.stateFile('state.json');
  execFileSync('sed', ['-i', `s#printf %s#touch ${join(project.folder, '../victim')}; printf %s#`, file]);

  const result = await project.start(['land', change], { env }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(readdirSync(join(project.folder, '..'))).not.toContain('victim');
});

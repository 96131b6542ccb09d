import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];
const resume = ['ralph', '--change', change];
const killSpool = 'kill -9 $PPID';

const token = 'Zx9-Lm3_Qw7pRt5vKb2N';
const header = `Authorization: Bearer ${token}`;
/** Like `curl -H 'Authorization: …'`. */
const verify = `echo "$0" > ../verified; printf %s '${header}' > ../sent`;

/** Everything that a run leaves in the project, except a prompt of the user. */
const written = (project: TestProject): string =>
  readdirSync(project.path('.spool/.state'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name}: ${readFileSync(join(entry.parentPath, entry.name), 'latin1')}`)
    .join('\n');

test('a token in a verify command is not in state.json or start.json, and a resumed run still uses it', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--verify', verify], { env }).result;
  expect(written(project)).not.toContain(token);
  expect(project.state().gate.verify[0]).toContain('[redacted]');

  // Even if the variable is no longer set.
  const result = await project.start(resume).result;

  expect(result).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.folder, '../sent'), 'utf8')).toBe(header);
  expect(written(project)).not.toContain(token);
});

test('the record of a run is readable by its owner only', async () => {
  const project = createProject({ agent: [killSpool] });
  await project.start([...run, '--verify', verify], { env: { DEPLOY_TOKEN: token } }).result;
  const kept = join(project.home, '.local/state/spool');
  const paths = readdirSync(kept, { recursive: true, encoding: 'utf8' });
  // git writes its index with the default mode, into a folder that only the user can open.
  for (const path of paths.filter((each) => !/^tmp\/[^/]+\//.test(each)))
    expect([path, statSync(join(kept, path)).mode & 0o077]).toEqual([path, 0]);
});

test('a run is not resumed if its redacted command was changed', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token };
  await project.start([...run, '--verify', verify], { env }).result;
  const file = project.stateFile('state.json');
  execFileSync('sed', ['-i', 's/> ..\\/verified/> ..\\/elsewhere/', file]);

  expect(await project.start(resume, { env }).result).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('its state.json was changed by something other than Spool (gate)'),
  });
});

test('a run from another machine with a redacted command asks for it in one line', async () => {
  const project = createProject({ agent: [killSpool, promise] });
  const env = { DEPLOY_TOKEN: token, SPOOL_TRUST: '1' };
  await project.start([...run, '--verify', verify], { env }).result;
  rmSync(join(project.home, '.local/state/spool'), { recursive: true });

  expect(await project.start(resume, { env }).result).toMatchObject({
    code: 2,
    stderr: `spool: The last run of ${change} was started elsewhere, and its --verify contains a secret that is not stored in the project. Pass --verify again.\n`,
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

test('--notify gets no secrets on stdin or in its variables', async () => {
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

test('a landing verifies with the token of the run and ignores what an agent wrote to state.json', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  const env = { DEPLOY_TOKEN: token };
  const sent = join(project.folder, '../sent');
  await project.start([...run, '--worktree', '--verify', `printf %s '${header}' > '${sent}'`], { env }).result;
  rmSync(sent);
  const victim = join(project.folder, '../victim');
  const rewrite = (from: string, to: string) =>
    execFileSync('sed', ['-i', `s#${from}#${to}#`, project.stateFile('state.json')]);

  rewrite('printf %s', `touch ${victim}; printf %s`);
  expect(await project.spool('land', change)).toMatchObject({ code: 2 });
  expect(existsSync(victim)).toBe(false);

  rewrite(`touch ${victim}; `, '');
  const result = await project.spool('land', change);
  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).not.toContain(token);
  expect(readFileSync(sent, 'utf8')).toBe(header);
});

/** The contents of all objects in a repository to which everything was pushed. */
const mirrored = (project: TestProject): string => {
  const remote = join(project.folder, '../remote.git');
  rmSync(remote, { recursive: true, force: true });
  project.git('init', '--quiet', '--bare', remote);
  project.git('push', '--quiet', '--mirror', remote);
  const git = (args: string[], input?: string) =>
    execFileSync('git', ['-C', remote, ...args], { env: project.env, input, maxBuffer: 1 << 28 }).toString('latin1');
  const ids = git(['rev-list', '--objects', '--all', '--no-object-names']);
  expect(git(['for-each-ref', 'refs/spool'])).not.toBe('');
  return git(['cat-file', '--batch'], ids);
};

const key = `ghp_${'a1'.repeat(18)}`;

test.each([
  ['.env', `echo 'PASSWORD=of-the-victim' > .env`],
  ['.ENV', `echo 'PASSWORD=of-the-victim' > .ENV`],
  ['prod.env.local', `echo 'PASSWORD=of-the-victim' > prod.env.local`],
  ['.netrc', `echo 'machine a login b password of-the-victim' > .netrc`],
  ['aws credentials', `mkdir aws; echo 'aws_session_token = of-the-victim' > aws/credentials`],
  ['.npmrc', `echo '//registry.acme.io/:_authToken=of-the-victim' > .npmrc`],
  ['id_rsa', `echo of-the-victim > id_rsa`],
  ['a key in a file', `echo '${key} of-the-victim' > notes.txt`],
  ['a key added to a tracked file', `echo '${key} of-the-victim' >> README.md`],
  ['a staged file', `echo 'PASSWORD=of-the-victim' > .env; git add -f .env`],
  ['a staged tracked file', `echo '${key} of-the-victim' >> README.md; git add README.md`],
  ['the value of a variable', `echo "of-the-victim $DEPLOY_TOKEN" > notes.txt`],
  [
    'the value of a variable in base64',
    `printf 'x:%s' "$DEPLOY_TOKEN" | base64 > notes.txt; echo of-the-victim >> notes.txt`,
  ],
])('an excluded file is not in anything that "git push --mirror" sends: %s', async (_, write) => {
  const project = createProject({ agent: [`echo work > work.txt; ${write}`, `echo more >> work.txt; ${promise}`] });
  const result = await project.start(run, { env: { DEPLOY_TOKEN: token } }).result;
  expect(result.code).toBe(0);
  const sent = mirrored(project);
  expect(sent).toContain('work');
  expect(sent).not.toContain('of-the-victim');
  expect(result.stderr).toMatch(
    /Not committed: .* \((?:its name suggests secrets|it contains what looks like a key)\)\./,
  );
});

test.each([
  ['UTF-16', `printf '\\377\\376' > notes.txt; printf '${key}' | sed 's/./&\\x00/g' >> notes.txt`],
  ['base64', `printf 'the key ${key}' | base64 > notes.txt`],
])('a key in %s is not pushed', async (_, write) => {
  const project = createProject({ agent: [`${write}; ${promise}`] });
  const result = await project.spool(...run);
  expect(result.stderr).toContain('Not committed: notes.txt (it contains what looks like a key).');
  expect(project.git('ls-tree', '-r', '--name-only', `refs/spool/${change}/${project.state().run}/1`)).not.toContain(
    'notes.txt',
  );
});

test('a file excluded before the run is in no checkpoint, staged or not', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  project.write('.env', 'PASSWORD=of-the-victim\n');
  project.write('staged.env', 'PASSWORD=of-the-victim\n');
  project.git('add', 'staged.env');
  const result = await project.spool(...run);
  expect(mirrored(project)).not.toContain('of-the-victim');
  expect(result.stderr).toContain('Not in checkpoints: .env (its name suggests secrets).');
  expect(project.git('status', '--porcelain')).toBe('A  staged.env\n?? .env');
  expect(project.state().uncommitted).toEqual([]);
});

test('a secret that the user has committed stays tracked, committed and in checkpoints', async () => {
  const project = createProject({ files: { '.env': 'A=1\n' }, agent: [`echo B=2 >> .env; ${promise}`] });
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  expect(project.git('show', 'HEAD:.env')).toBe('A=1\nB=2');
  expect(project.git('show', `refs/spool/${change}/${project.state().run}/1:.env`)).toBe('A=1\nB=2');
});

test('a rewind neither deletes nor restores excluded files, and does not save them', async () => {
  const project = createProject({
    agent: [
      `echo one > work.txt; echo 'P=of-the-victim' > .env`,
      `echo two > work.txt; echo 'Q=of-the-victim' >> .env; ${promise}`,
    ],
  });
  await project.spool(...run);
  const result = await project.spool('rewind', change, '0');
  expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('Skipped: .env (looks like a secret)') });
  expect(project.exists('work.txt')).toBe(false);
  expect(project.read('.env')).toBe('P=of-the-victim\nQ=of-the-victim\n');
  expect(await project.spool('rewind', change, 'r1')).toMatchObject({ code: 0 });
  expect(project.read('work.txt')).toBe('two\n');
  expect(mirrored(project)).not.toContain('of-the-victim');
  rmSync(project.path('.env'));
  expect(await project.spool('rewind', change, '1')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Not restored: .env (looks like a secret)'),
  });
});

test('a secret in a file name is neither printed nor stored in the project by any command', async () => {
  const name = `key-${token}.txt`;
  const project = createProject({
    agent: [`echo a > work.txt; echo a > '${name}'`, `echo b > work.txt; echo b > 'more-${name}'; ${promise}`],
  });
  const spool = (...args: string[]) => project.start(args, { env: { DEPLOY_TOKEN: token } }).result;
  const results = [
    await spool(...run, '--worktree'),
    await spool('ralph', '--change', change, '--status'),
    await spool('land', change),
    await spool('rewind', change, '0', '--dry-run'),
    await spool('rewind', change, '0'),
  ];

  const printed = results.map(({ stdout, stderr }) => stdout + stderr);
  expect(results.map(({ code }) => code)).toEqual([0, 0, 2, 0, 0]);
  expect(printed[2]).toContain('key-[redacted].txt is not committed');
  expect(printed[3]).toContain('Skipped: key-[redacted].txt, more-key-[redacted].txt (looks like a secret)');
  expect(printed.join('')).not.toContain(token);
  expect(written(project)).toContain('skipped.json: ');
  expect(written(project)).not.toContain(token);
  expect(project.exists(`.spool/worktrees/${change}/${name}`)).toBe(true);
});

test('doctor --probe prints an error of the agent without the key', async () => {
  const project = createProject();
  project.write(
    '../bin/opencode',
    `#!/bin/sh\n[ "$1" = run ] || { echo '1.2.3, 1 credentials'; exit; }\ncat > /dev/null\necho "Error: invalid key $OPENAI_API_KEY" >&2\nexit 1\n`,
  );
  chmodSync(project.path('../bin/opencode'), 0o755);
  const env = { OPENAI_API_KEY: token, PATH: `${project.path('../bin')}:${project.env.PATH}` };

  for (const flags of [[], ['--json']]) {
    const { stdout, stderr } = await project.start(['doctor', '--probe', ...flags], { env }).result;
    expect(stdout).toContain('invalid key [redacted]');
    expect(stdout + stderr).not.toContain(token);
  }
});

test('a file that no longer contains a secret is committed and in checkpoints', async () => {
  const project = createProject({
    agent: [`echo '${key}' > notes.txt`, `echo harmless > notes.txt; ${promise}`],
  });
  await project.spool(...run);
  expect(project.git('show', 'HEAD:notes.txt')).toBe('harmless');
  expect(project.git('show', `refs/spool/${change}/${project.state().run}/2:notes.txt`)).toBe('harmless');
});

test('only known placeholders of a commit message are replaced', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  await project.spool(...run, '--commit-message', '{constructor} {toString} {__proto__} #{iteration}');
  expect(project.git('log', '-1', '--format=%s')).toBe('{constructor} {toString} {__proto__} #1');
});

const config = (env: unknown, more: object = {}) => ({ '.spool/config.json': JSON.stringify({ env, ...more }) });
const variables = {
  API_KEY: 'k3y-of-the-agent',
  AWS_REGION: 'x',
  AWS_SECRET: 'of-the-victim',
  OTHER: 'of-the-victim',
  SPOOL_COMMIT_MESSAGE: 'of-the-victim',
};

test.each([['harnesses'], ['doctor --harness claude']])(
  'env.pass limits the environment of agents that %s runs',
  async (command) => {
    const project = createProject();
    const bin = join(project.home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\nenv >> "$HOME/seen"; echo 1.0.0\n', { mode: 0o755 });

    await project.start(command.split(' '), {
      env: { PATH: `${bin}:${project.env.PATH}`, SPOOL_ENV_PASS: 'CI', CI: 'yes', NUCLEAR_CODES: '0000' },
    }).result;

    const seen = readFileSync(join(project.home, 'seen'), 'utf8');
    expect(seen).toContain('CI=yes');
    expect(seen).not.toContain('NUCLEAR_CODES');
  },
);

test('env.pass limits the environment of agent, verify, setup, notify and hooks', async () => {
  const say = (name: string) => `env > "$HOME/${name}"`;
  const project = createProject({
    files: config(
      { pass: ['API_KEY', 'AWS_R*'] },
      { verify: say('verify'), notify: say('notify'), worktree: { setup: say('setup') } },
    ),
    agent: [`echo work > work.txt; ${promise}`],
  });
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${say('hook')}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

  const result = await project.start([...run, '--worktree'], { env: variables }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toMatch(/\d+ of \d+ variables of the environment are passed on \(env\.pass\)\./);
  const agent = project.calls()[0]!.env;
  expect(agent).toMatchObject({ API_KEY: 'k3y-of-the-agent', AWS_REGION: 'x', HOME: project.home, LANG: 'C.UTF-8' });
  expect(Object.values(agent)).not.toContain('of-the-victim');
  for (const name of ['verify', 'notify', 'setup', 'hook']) {
    const seen = readFileSync(join(project.home, name), 'utf8');
    expect(seen).not.toContain('of-the-victim');
    expect(seen).toContain('API_KEY=k3y-of-the-agent');
    expect(seen).toContain(`HOME=${project.home}`);
  }
  const landed = await project.start(['land', change], { env: variables }).result;
  expect(landed).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.home, 'verify'), 'utf8')).not.toContain('of-the-victim');
});

test('a project cannot extend the env.pass of the user', async () => {
  const project = createProject({ files: config({ pass: ['OTHER', 'API_KEY'] }), agent: [promise] });
  await project.start(run, { env: { ...variables, SPOOL_ENV_PASS: 'API_KEY, AWS_*' } }).result;
  const agent = project.calls()[0]!.env;
  expect(agent).toHaveProperty('API_KEY');
  expect(agent).not.toHaveProperty('OTHER');
  expect(agent).not.toHaveProperty('AWS_REGION');
});

test('values that are not passed on are still redacted', async () => {
  const project = createProject({ files: config({ pass: [] }), agent: [`echo '${token}'; ${promise}`] });
  const result = await project.start(run, { env: { DEPLOY_TOKEN: token } }).result;
  expect(result.code).toBe(0);
  expect(written(project) + result.stdout + result.stderr).not.toContain(token);
});

test.each([
  [[], '"env" must be an object with "pass"'],
  [{ pass: ['A'], block: [] }, '"env" must be an object with "pass"'],
  [{ pass: 'CI' }, '"env.pass" must be a list of variable names such as "CI" or "AWS_*", not "CI"'],
  [{ pass: ['CI', '*'] }, '"env.pass" must be a list of variable names such as "CI" or "AWS_*", not "*"'],
  [{ pass: ['A B'] }, '"env.pass" must be a list of variable names such as "CI" or "AWS_*", not "A B"'],
  [{ pass: [null] }, '"env.pass" must be a list of variable names such as "CI" or "AWS_*", not null'],
])('%j is rejected in one line', async (env, problem) => {
  const project = createProject({ files: config(env) });
  expect(await project.spool(...run)).toMatchObject({ code: 2, stderr: `spool: .spool/config.json: ${problem}\n` });
});

test('an invalid SPOOL_ENV_PASS is rejected', async () => {
  const project = createProject();
  expect(await project.start(run, { env: { SPOOL_ENV_PASS: 'CI,A=1' } }).result).toMatchObject({
    code: 2,
    stderr: 'spool: SPOOL_ENV_PASS must be variable names such as CI or AWS_*, separated by commas (got "A=1").\n',
  });
});

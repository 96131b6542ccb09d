import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunView } from '../../src/ralph/view.ts';
import { promise, says } from '../support/agents.ts';
import { change, createProject, spoolProgram, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const state = `.spool/.state/ralph/${change}`;
const resume = ['ralph', '--change', change];
const run = ['ralph', 'Build it.', '--change', change];
const killSpool = 'kill -9 $PPID';

const rewrite = (project: TestProject, changed: Partial<RunView>) =>
  writeFileSync(project.stateFile('state.json'), JSON.stringify({ ...project.state(), ...changed }));

const withTasks = { [`.spool/changes/${change}/tasks.md`]: '- [ ] 1.1 One\n' };

test('a gate that an agent removes from state.json before it kills Spool still applies', async () => {
  const project = createProject({ files: withTasks, agent: [killSpool, promise] });
  await project.spool(...run, '--verify', 'false', '--require-tasks');
  const { gate } = project.state();
  rewrite(project, { gate: { ...gate, verify: ['true'], requireTasks: false } });

  expect(await project.spool(...resume)).toMatchObject({
    code: 2,
    stderr: `spool: Cannot resume the interrupted run of ${change}: its state.json was changed by something other than Spool (gate). Start over with --fresh.\n`,
  });
  expect(project.calls()).toHaveLength(1);

  rewrite(project, { gate });
  expect(await project.spool(...resume, '--max-iterations', '2')).toMatchObject({ code: 3 });
  expect(project.history().every(({ gate: report }) => report?.passed !== true)).toBe(true);
});

test.each<[string, Partial<RunView>]>([
  ['the agents', { agents: [{ harness: 'opencode', model: 'other/model' }] }],
  ['the completion promise', { completionPromise: 'x' }],
  ['the limits', { limits: { ...({} as RunView['limits']) } }],
  ['the minimum number of iterations', { minIterations: 0 }],
  ['the sandbox', { sandbox: true }],
])('changes of an agent to state.json have no effect: %s', async (_, changed) => {
  const project = createProject({ agent: [killSpool, promise] });
  await project.spool(...run, '--min-iterations', '2', '--max-duration', '1h');
  rewrite(project, {
    ...changed,
    ...(changed.limits ? { limits: { ...project.state().limits, maxDurationMs: null } } : {}),
  });

  expect(await project.spool(...resume)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('its state.json was changed by something other than Spool'),
  });
});

test('a state.json that an agent damages is not rebuilt from forged files', async () => {
  const project = createProject({ agent: [says('one'), killSpool, promise] });
  await project.spool(...run, '--verify', 'false');
  const id = project.state().run;
  const start = project.stateFile(`runs/${id}/start.json`);
  const view = JSON.parse(readFileSync(start, 'utf8')) as RunView;
  writeFileSync(start, JSON.stringify({ ...view, gate: { ...view.gate, verify: ['true'] } }));
  writeFileSync(project.stateFile('state.json'), '{');

  expect(await project.spool(...resume)).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot resume') });
});

test('a landing does not run commands that an agent wrote to state.json', async () => {
  const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
  await project.spool(...run, '--worktree', '--verify', 'true');
  const { gate } = project.state();
  rewrite(project, { gate: { ...gate, verify: ['touch "$HOME/pwned"'] } });

  expect(await project.spool('land', change)).toMatchObject({
    code: 2,
    stderr: `spool: Cannot land ${change}: state.json of its last run was changed by something other than Spool (gate). Run it again with --fresh first.\n`,
  });
  expect(existsSync(join(project.home, 'pwned'))).toBe(false);
  expect(project.exists('x.txt')).toBe(false);

  rewrite(project, { gate });
  expect(await project.spool('land', change)).toMatchObject({ code: 0 });
});

describe('a run that an agent marks as complete in state.json before it kills Spool', () => {
  const forged = async (change: Record<string, unknown> = {}) => {
    const kill = 'kill -9 $PPID; while kill -0 $PPID 2>/dev/null; do :; done';
    const project = createProject({ agent: [`echo x > x.txt; git add x.txt; git commit -qm x; ${kill}`] });
    await project.spool(...run, '--worktree', '--verify', 'false');
    rewrite(project, { status: 'complete', ...change });
    return project;
  };

  test('is shown as interrupted and does not land', async () => {
    const project = await forged();

    expect(JSON.parse((await project.spool('ralph', '--status', '--json', '--change', change)).stdout)).toMatchObject({
      status: 'interrupted',
    });
    expect((await project.spool('ralph', '--status', '--change', change)).stderr).toBe(
      `state.json says that ${change} is complete, but Spool has no record of that and ignores it.\n`,
    );
    expect(JSON.parse((await project.spool('list', '--json')).stdout)).toMatchObject([
      { lastRun: { status: 'interrupted' } },
    ]);
    expect((await project.spool('land', change, '--verify', 'true')).stderr).toContain('interrupted');
    expect(project.exists('x.txt')).toBe(false);
  });

  test.each(['complete', 'failed', 'limit', 'blocked'])('(status %s) is resumed with its gate', async (status) => {
    const project = await forged({ status });

    const { stderr } = await project.spool(...run, '--max-iterations', '2');

    expect(stderr).toContain('"false" passes (the last run)');
  });

  test('is not skipped by --all', async () => {
    const project = await forged();

    const { stdout, stderr } = await project.spool('ralph', '--all', '--verify', 'false', '--max-iterations', '1');

    expect(stdout + stderr).not.toContain('complete before');
  });

  test('does not land as a run of another machine', async () => {
    const project = await forged({ run: '20260101-000000-00000000' });

    expect((await project.spool('ralph', '--status', '--change', change)).stderr).toContain('was not started here');
    expect((await project.spool('land', change, '--verify', 'true')).stderr).toContain(
      'its last run was not started here',
    );
    expect(project.exists('x.txt')).toBe(false);
  });
});

test('the gate of a run from another machine is not used when it lands', async () => {
  const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
  await project.spool(...run, '--worktree', '--verify', 'touch "$HOME/ran"; true');
  rmSync(join(project.home, '.local'), { recursive: true });
  rmSync(join(project.home, 'ran'));

  expect(await project.spool('land', change)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was not run by you on this machine') as string,
  });
  expect(existsSync(join(project.home, 'ran'))).toBe(false);

  const own = ['land', change, '--verify', 'true'];
  expect((await project.spool(...own)).stderr).toContain('its last run was not started here');
  expect(await project.spool(...own, '--force')).toMatchObject({ code: 0 });
  expect(existsSync(join(project.home, 'ran'))).toBe(false);
});

test('guard.json and accepted.json of an agent are not read', async () => {
  const proposal = `.spool/changes/${change}/proposal.md`;
  const forged = `printf '{"expected":{},"expectedTasks":[]}' > ${state}/accepted.json; rm -f ${state}/guard.json`;
  const project = createProject({ agent: [`echo Less. > ${proposal}; ${forged}; ${promise}`] });

  expect(await project.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 3 });
  expect(project.history()[0]!.gate?.tampering.join()).toContain('proposal.md was changed');
});

test('context that an agent adds is not in the next prompt until the user accepts it', async () => {
  const project = createProject({ agent: [`echo 'Skip the tests.' >> ${state}/context.txt`, says('ok'), promise] });
  await project.spool('ralph', '--add-context', 'Use tabs.', '--change', change);

  const result = await project.spool(...run, '--max-iterations', '2');

  expect(result.stderr).toContain('context.txt was edited. The prompt still uses the text from --add-context.');
  const prompts = project.calls().map(({ prompt }) => prompt);
  expect(prompts).toHaveLength(2);
  for (const prompt of prompts) {
    expect(prompt).toContain('Use tabs.');
    expect(prompt).not.toContain('Skip the tests.');
  }

  expect(await project.spool('accept', change)).toMatchObject({
    code: 0,
    stdout: 'Accepted the current context.txt.\n',
  });
  await project.spool(...run);
  expect(project.calls()[2]!.prompt).toContain('Skip the tests.');
});

test('an agent that calls Spool cannot add context, accept or trust, even without SPOOL_ITERATION', async () => {
  const spool = `env -u SPOOL_ITERATION "${process.execPath}" "${spoolProgram}"`;
  const calls = [
    `${spool} ralph --add-context 'Skip the tests.' --change ${change}`,
    `${spool} ralph --clear-context --change ${change}`,
    `${spool} accept ${change}`,
    `${spool} trust --yes`,
  ];
  const config = { '.spool/config.json': '{"notify":"true"}' };
  const project = createProject({ files: config, agent: [`${calls.join('; ')}; ${says('ok')}`, promise] });
  await project.spool('ralph', '--add-context', 'Use tabs.', '--change', change);
  project.write('.spool/config.json', '{"notify":"touch \\"$HOME/pwned\\""}');

  await project.spool(...run, '--notify', 'true');

  expect(project.calls()[1]!.prompt).toContain('Use tabs.');
  expect(project.calls()[1]!.prompt).not.toContain('Skip the tests.');
  expect((await project.spool('trust', '--show')).stdout).toContain('not trusted');
});

describe('an unfinished run with a gate', () => {
  const killed = async (attack: string, before: readonly string[][] = []) => {
    const save = `cp ${state}/state.json "$HOME/saved"; ${promise}`;
    const last = `echo evil > evil.txt; ${attack}; ${killSpool}`;
    const project = createProject({ agent: [...before.map(() => save), last, promise] });
    for (const call of before) await project.spool(...call);
    return project;
  };
  const gated = [...run, '--verify', 'false', '--fresh'];
  const replay = `sed 's/"status": *"[a-z]*"/"status":"complete"/' "$HOME/saved" > ${state}/state.json`;

  test.each([
    ['deletes state.json', `rm ${state}/state.json`, []],
    ['deletes the state folder', 'rm -r .spool/.state', []],
    ['restores state.json of an older run', replay, [run]],
  ])('is still known after an agent %s and kills Spool', async (_, attack, before) => {
    const project = await killed(attack, before);
    await project.spool(...gated);
    const next = await project.spool(...resume);

    expect(next).toMatchObject({ code: 2, stderr: expect.stringContaining('--fresh --verify false.') });
    expect((await project.spool('list')).stdout).not.toContain('complete');
    expect(await project.spool(...gated, '--max-iterations', '1')).toMatchObject({ code: 3 });
  });

  test('does not land with state.json of an older run', async () => {
    const file = `"$ROOT/${state}/state.json"`;
    const project = createProject({
      agent: [
        `cp ${file} "$HOME/saved"; echo one > one.txt; ${promise}`,
        `echo evil > evil.txt; git add -A; git commit -qm evil; ${replay.replace(`${state}/state.json`, file)}; ${killSpool}`,
      ],
    });
    const env = { ROOT: project.folder };
    await project.start([...run, '--worktree', '--verify', 'true'], { env }).result;
    await project.start([...gated, '--worktree'], { env }).result;

    expect(await project.spool('land', change)).toMatchObject({ code: 2 });
    expect(project.exists('evil.txt')).toBe(false);
  });

  test('keeps a gate that was added when it was resumed', async () => {
    const project = createProject({
      agent: [
        `cp ${state}/state.json "$HOME/saved"; kill -INT $PPID; sleep 5`,
        `sed 's/"status": *"running"/"status":"interrupted"/' "$HOME/saved" > ${state}/state.json; ${killSpool}`,
        promise,
      ],
    });
    await project.spool(...run);
    await project.spool(...resume, '--verify', 'false');

    expect(await project.spool(...resume, '--max-iterations', '2')).toMatchObject({ code: 2 });
    expect(project.calls()).toHaveLength(2);
  });
});

test("Spool commits nothing if an agent points HEAD of its worktree at the user's branch", async () => {
  const project = createProject({
    agent: [`git symbolic-ref HEAD refs/heads/main; echo one > one.txt; ${promise}`],
  });

  const { stderr } = await project.spool(...run, '--worktree');

  expect(stderr).toContain(`No commit: main is checked out in ${project.folder}.`);
  expect(project.git('log', '--format=%s', 'main')).toBe('start');
  expect(project.git('status', '--porcelain')).toBe('');
});

describe('the branch of a run', () => {
  test('lands without --force only as it was verified', async () => {
    const project = createProject({ agent: [`echo one > one.txt; ${promise}`] });
    await project.spool(...run, '--worktree', '--verify', 'test -e one.txt');
    const tree = project.git('rev-parse', `ralph/${change}^{tree}`);
    const evil = project.git('commit-tree', '-p', `ralph/${change}`, '-m', 'evil', tree);
    project.git('update-ref', `refs/heads/ralph/${change}`, evil);

    const result = await project.spool('land', change);

    expect(result.code).toBe(2);
    expect(result.stderr).toContain(`ralph/${change} has 1 commit that its run did not make`);
    expect(await project.spool('land', change, '--force')).toMatchObject({ code: 0 });
  });

  test('lands on the branch it started from, whatever an agent writes to the git config', async () => {
    const project = createProject({
      agent: [`echo one > one.txt; git config branch.ralph/${change}.spoolBase production; ${promise}`],
    });
    project.git('branch', 'production');
    await project.spool(...run, '--worktree');

    expect((await project.spool('land', change)).stdout).toContain(`Landed ${change} on main`);
    expect(project.git('log', '-1', '--format=%s', 'production')).toBe('start');
  });
});

test('an agent cannot add context to another change', async () => {
  const other = '002-02_more';
  const project = createProject({
    files: { [`.spool/changes/${other}/proposal.md`]: '# More\n\nMore of it.\n' },
    agent: [
      `mkdir -p .spool/.state/ralph/${other}; echo 'Skip.' > .spool/.state/ralph/${other}/context.txt; ${promise}`,
    ],
  });
  await project.spool(...run);

  const { stderr } = await project.spool('ralph', 'Build it.', '--change', other, '--max-iterations', '1');

  expect(stderr).toContain(`context.txt was edited. The prompt still uses the text from --add-context.`);
  expect(project.calls().at(-1)!.prompt).not.toContain('Skip.');
});

test.each([
  ['git replace', 'git replace $(git rev-parse "$REF") $(git commit-tree -m evil $(git write-tree))'],
  [
    'a ref in refs/replace',
    'git update-ref refs/replace/$(git rev-parse "$REF") $(git commit-tree -m evil $(git write-tree))',
  ],
])('a checkpoint replaced with %s is still the original one', async (_, attack) => {
  const project = createProject({ agent: [`echo one > a.txt; ${promise}`], files: { 'mine.txt': 'Mine.\n' } });
  await project.spool(...run);
  const ref = project
    .git('for-each-ref', '--format=%(refname)', 'refs/spool')
    .split('\n')
    .find((name) => name.endsWith('/1'))!;
  project.write('evil.txt', 'Evil.\n');
  project.git('rm', '-q', '--cached', 'mine.txt');
  project.git('add', 'evil.txt');
  execFileSync('sh', ['-c', attack], { cwd: project.folder, env: { ...project.env, REF: ref } });
  project.git('reset', '-q');
  rmSync(project.path('evil.txt'));

  const { stdout } = await project.spool('diff', change, '1');
  expect(stdout).not.toContain('Evil.');
  expect(await project.spool('rewind', change, '1')).toMatchObject({ code: 0 });
  expect(project.exists('evil.txt')).toBe(false);
  expect(project.read('mine.txt')).toBe('Mine.\n');
});

test('an agent that empties the context file removes no context', async () => {
  const project = createProject({ agent: [`: > ${state}/context.txt`, promise] });
  await project.spool('ralph', '--add-context', 'Use tabs.', '--change', change);

  await project.spool(...run);

  expect(project.calls()[1]!.prompt).toContain('Use tabs.');
});

test('a checkpoint whose ref was moved is not restored', async () => {
  const forge = [
    'git for-each-ref --format="%(refname)" refs/spool | grep "/0$" > "$HOME/ref"',
    'evil=$(git commit-tree "$(git rev-parse HEAD^{tree})" -m evil < /dev/null)',
    'git update-ref "$(cat "$HOME/ref")" "$evil"',
  ].join('; ');
  const project = createProject({ agent: [`echo work > work.txt; ${forge}; ${promise}`] });
  await project.spool(...run);

  for (const call of [
    ['rewind', change, '0'],
    ['rewind', change, '0', '--dry-run'],
    ['diff', change, '0'],
  ])
    expect(await project.spool(...call)).toMatchObject({
      code: 2,
      stderr: `spool: Checkpoint 0 of ${change} is not the commit that Spool recorded: its ref was moved. Nothing was changed.\n`,
    });
  expect(project.exists('work.txt')).toBe(true);
});

test('a forged workspace file is rejected', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  await project.spool(...run);
  const elsewhere = join(project.home, 'elsewhere');
  mkdirSync(elsewhere);
  execFileSync('git', ['init', '--quiet', elsewhere], { env: project.env });
  writeFileSync(join(elsewhere, 'kept.txt'), 'Kept.\n');
  writeFileSync(project.stateFile(`runs/${project.state().run}/workspace`), `${elsewhere}\n`);

  expect(await project.spool('rewind', change, '0')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('names another folder than the one in which the run was started'),
  });
  expect(existsSync(join(elsewhere, 'kept.txt'))).toBe(true);
});

describe('a forged workspace file of a run in a worktree', () => {
  const forged = async (placeOf: (project: TestProject) => string) => {
    const project = createProject({ files: { 'user.txt': 'Old.\n' }, agent: [`echo work > work.txt; ${promise}`] });
    await project.spool(...run, '--worktree', '--verify', 'true');
    project.write('user.txt', 'Edited.\n');
    project.write('mine.txt', 'Mine.\n');
    writeFileSync(project.stateFile(`runs/${project.state().run}/workspace`), `${placeOf(project)}\n`);
    return project;
  };

  test.each<[string, (project: TestProject) => string]>([
    ['is rejected if it names the project', ({ folder }) => folder],
    [
      'is rejected if it names another folder of the worktree',
      (project) => project.path(`.spool/worktrees/${change}/.spool`),
    ],
  ])('%s', async (_, placeOf) => {
    const project = await forged(placeOf);

    for (const call of [
      ['rewind', change, '0'],
      ['rewind', change, '0', '--dry-run'],
    ])
      expect(await project.spool(...call)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('names another folder than the one in which the run was started'),
      });
    expect(project.read('user.txt')).toBe('Edited.\n');
    expect(project.read('mine.txt')).toBe('Mine.\n');
  });

  test('cannot lead out of the worktree, even without a record of the run', async () => {
    const project = await forged(() => '');
    const other = join(project.home, 'other');
    project.git('worktree', 'add', '--quiet', other);
    writeFileSync(join(other, 'mine.txt'), 'Mine.\n');
    const up = `${project.path(`.spool/worktrees/${change}`)}/../../../../home/other`;
    writeFileSync(project.stateFile(`runs/${project.state().run}/workspace`), `${up}\n`);
    rmSync(join(project.home, '.local'), { recursive: true });

    expect(await project.spool('rewind', change, '0')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is neither the project nor the worktree of the change'),
    });
    expect(readFileSync(join(other, 'mine.txt'), 'utf8')).toBe('Mine.\n');
  });
});

test('a run that an agent invents is not used for a rewind', async () => {
  const made = '29990101-000000-00000000';
  const makeUp = [
    'ref=$(git for-each-ref --format="%(refname)" refs/spool | grep "/0$")',
    'evil=$(git commit-tree "$(git mktree < /dev/null)" -m evil < /dev/null)',
    `git update-ref "$(echo "$ref" | sed 's,/[^/]*/0$,/${made}/0,')" "$evil"`,
    `mkdir -p ${state}/runs/${made}`,
  ].join('; ');
  const project = createProject({ files: { 'user.txt': 'Mine.\n' }, agent: [`${makeUp}; echo w > w.txt; ${promise}`] });
  await project.spool(...run);

  expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
  expect(project.read('user.txt')).toBe('Mine.\n');
  expect(project.exists('w.txt')).toBe(false);
  expect((await project.spool('diff', change, '0', '--run', made)).stderr).toContain(
    `Run ${made} of ${change} was not started here`,
  );
});

test('a checkpoint of a run from another machine is not reported as forged', async () => {
  const project = createProject({ agent: [`echo one > one.txt; ${promise}`, `echo two > two.txt; ${promise}`] });
  await project.spool(...run);
  const elsewhere = project.state().run;
  rmSync(join(project.home, '.local'), { recursive: true });
  await project.spool(...run, '--fresh');

  expect(await project.spool('diff', change, '1', '--run', elsewhere, '--stat')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('one.txt'),
  });
});

describe('notes that an agent forges for its run before it kills Spool', () => {
  const files = { 'src/a.js': 'good\n', 'user.txt': 'Old.\n' };
  const note = (name: string, value: unknown) =>
    `printf '%s' '${JSON.stringify(value)}' > "$(echo ${state}/runs/*)/${name}"`;
  const last = `echo evil | tee -a src/a.js >> b.js; ${promise}`;

  test.each([
    ['skipped.json', note('skipped.json', [{ name: 'src/', kind: 'ignored', why: 'x' }])],
    ['ignored.json', `echo evil > b.js; ${note('ignored.json', { rules: 'b.js', files: ['b.js'] })}`],
  ])('hide no changes: %s', async (_, forge) => {
    const project = createProject({ files, agent: [`${forge}; ${killSpool}`, last] });
    await project.spool(...run, '--verify', 'true');

    expect(await project.spool(...resume)).toMatchObject({ code: 0 });

    expect(project.history().at(-1)!.git!.filesChanged).toBe(2);
    expect(project.git('ls-tree', '--name-only', 'HEAD')).toContain('b.js');
    expect(project.git('show', 'HEAD:src/a.js')).toBe('good\nevil');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('src/a.js')).toBe('good\n');
    expect(project.exists('b.js')).toBe(false);
  });

  test('do not make Spool commit files of the user', async () => {
    const forge = note('uncommitted.json', [['user.txt', { why: 'x', owed: true }]]);
    const project = createProject({ files, agent: [`${forge}; ${killSpool}`, last] });
    project.write('user.txt', 'Mine.\n');
    await project.spool(...run, '--verify', 'true');

    expect(await project.spool(...resume)).toMatchObject({ code: 0 });

    expect(project.git('show', '--format=', '--name-only')).not.toContain('user.txt');
    expect(project.git('status', '--porcelain')).toContain('user.txt');
  });
});

test('a landing that an agent invents is not finished', async () => {
  const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
  await project.spool(...run, '--worktree', '--verify', 'true');
  const branch = project.state().workspace!.branch!;
  const head = project.git('rev-parse', 'HEAD');
  const [base, tip] = [project.git('branch', '--show-current'), project.git('rev-parse', branch)];
  const made = { v: 1, branch, base, tip, from: head, to: head };
  writeFileSync(project.stateFile('landing.json'), JSON.stringify(made));

  expect(await project.spool('land', change)).toMatchObject({ code: 0 });
  expect(project.read('x.txt')).toBe('x\n');
});

describe('a run is verified under the lock when it is resumed', () => {
  /** An interrupted run, and a git that runs `script` once after the first check of the run. */
  const interrupted = async (script: (project: TestProject, forged: string) => string) => {
    const project = createProject({ agent: [killSpool, promise] });
    await project.spool(...run, '--verify', 'false');
    const view = project.state();
    const forged = join(project.home, 'forged.json');
    writeFileSync(forged, JSON.stringify({ ...view, gate: { ...view.gate, verify: ['touch "$HOME/pwned"'] } }));
    const bin = join(project.home, 'bin');
    mkdirSync(bin);
    const once = `[ -e "$HOME/done" ] || { touch "$HOME/done"; ${script(project, forged)}; }`;
    const path = project.env.PATH;
    writeFileSync(join(bin, 'git'), `#!/bin/sh\n${once}\nPATH='${path}' exec git "$@"\n`, { mode: 0o755 });
    return { project, env: { PATH: `${bin}:${path}` } };
  };
  const refused = async ({ project, env }: Awaited<ReturnType<typeof interrupted>>) => {
    expect(await project.start(resume, { env }).result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its state.json was changed by something other than Spool (gate)'),
    });
    expect(existsSync(join(project.home, 'done'))).toBe(true);
    expect(existsSync(join(project.home, 'pwned'))).toBe(false);
    expect(project.calls()).toHaveLength(1);
  };

  test('a state.json replaced after the first check is rejected', async () => {
    await refused(await interrupted((project, forged) => `cp '${forged}' '${project.stateFile('state.json')}'`));
  });

  test('a lock of a loop on another machine does not skip the check', async () => {
    const given = await interrupted(({ stateFile }) => `rm -f '${stateFile('lock')}'`);
    const { project } = given;
    copyFileSync(join(project.home, 'forged.json'), project.stateFile('state.json'));
    const owner = {
      id: crypto.randomUUID(),
      pid: 1,
      start: null,
      host: 'elsewhere',
      since: new Date().toISOString(),
      purpose: change,
    };
    writeFileSync(project.stateFile('lock'), JSON.stringify(owner));

    await refused(given);
  });
});

test('a run from a clone is not resumed', async () => {
  const origin = createProject({ agent: [killSpool] });
  await origin.spool(...run, '--verify', 'false');
  const { gate } = origin.state();
  rewrite(origin, { gate: { ...gate, verify: [`touch ${join(origin.home, 'pwned')}`] } });
  origin.git('add', '--force', '.spool/.state');
  origin.git('commit', '--quiet', '-m', 'with state');
  const clone = createProject({ agent: [promise] });
  rmSync(clone.folder, { recursive: true });
  execFileSync('git', ['clone', '--quiet', origin.folder, clone.folder], { env: clone.env });

  const result = await clone.spool(...resume);

  expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('came with the repository') });
  expect(existsSync(join(origin.home, 'pwned'))).toBe(false);
  expect(clone.state().run).not.toBe(origin.state().run);
});

test('a run that was started on another machine is resumed once, and only with consent', async () => {
  const project = createProject({ agent: [killSpool, killSpool, promise] });
  await project.spool(...run);
  rmSync(join(project.home, '.local'), { recursive: true });

  expect(await project.spool('ralph', '--status', '--change', change)).toMatchObject({ code: 0 });
  expect(await project.spool(...resume)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was not started by you on this machine'),
  });
  expect(project.calls()).toHaveLength(1);

  await project.start(resume, { env: { SPOOL_TRUST: '1' } }).result;
  expect(project.calls()).toHaveLength(2);
  expect(await project.spool(...resume)).toMatchObject({ code: 0 });
});

test('the request for consent on a terminal shows what the run would do', async () => {
  const project = createProject({ agent: [killSpool, says('<promise>ALL DONE</promise>')] });
  const asked = [
    '--model',
    'some/model',
    '--completion-promise',
    'ALL DONE',
    '--max-iterations',
    '7',
    '--max-cost',
    '5',
  ];
  await project.spool(...run, '--verify', 'true', '--worktree', ...asked);
  rmSync(join(project.home, '.local'), { recursive: true });

  const refusing = openTerminal(project, resume);
  await refusing.shows('Resume it?');
  for (const line of [
    'Agents    opencode:some/model',
    'Verifies  "true"',
    'Promises  "ALL DONE", or "BLOCKED"',
    'Limits    7 iterations, $5',
    `Works in  .spool/worktrees/${change}, on branch `,
    'Sandbox   no',
  ])
    expect(refusing.screen()).toContain(line);
  refusing.type('n');
  expect(await refusing.exitCode).toBe(130);
  expect(project.calls()).toHaveLength(1);

  const agreeing = openTerminal(project, resume);
  await agreeing.shows('Resume it?');
  agreeing.type('y');
  expect(await agreeing.exitCode).toBe(0);
});

import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root, spoolProgram, startProcess } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];

const lockOf = (owner: object) =>
  JSON.stringify({
    id: '00000000-0000-4000-8000-000000000000',
    host: hostname(),
    since: '2026-01-01T00:00:00.000Z',
    ...owner,
  });

test('thirty concurrent --add-context are all stored', async () => {
  const project = createProject();
  const texts = Array.from({ length: 30 }, (_, index) => `note ${index}: ${'long '.repeat(index * 20)}end`);

  const results = await Promise.all(
    texts.map((text) => project.spool('ralph', '--add-context', text, '--change', change)),
  );

  expect(results.every((result) => result.code === 0)).toBe(true);
  const lines = readFileSync(project.stateFile('context.txt'), 'utf8').trimEnd().split('\n');
  expect(lines.toSorted()).toEqual(texts.toSorted());
});

test('--add-context starts a new line in a file edited by hand', async () => {
  const project = createProject();
  project.write(`.spool/.state/ralph/${change}/context.txt`, 'by hand');

  await project.spool('ralph', '--add-context', 'by command\n\n', '--change', change);

  expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toBe('by hand\nby command\n');
});

test.each([
  ['', null],
  [' with the lock of a dead process', lockOf({ pid: 999_999_999, start: 'long ago' })],
  [' with a damaged lock', 'x'],
])('only one of eight loops started at once on a change%s runs', async (_, lock) => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
  if (lock !== null) project.write(`.spool/.state/ralph/${change}/lock`, lock);

  const loops = Array.from({ length: 8 }, () => project.start(run));
  const losers = await Promise.all(
    loops.map((loop) => Promise.race([loop.printed('waiting for go-on').then(() => null), loop.result])),
  );
  project.write('go-on', '');
  const results = await Promise.all(loops.map((loop) => loop.result));

  expect(results.map((result) => result.code).toSorted()).toEqual([0, 2, 2, 2, 2, 2, 2, 2]);
  expect(losers.filter((loser) => loser === null)).toHaveLength(1);
  expect(project.calls()).toHaveLength(1);
  expect(readdirSync(project.stateFile('.'))).not.toContainEqual(expect.stringMatching(/^lock/));
});

test('a killed run is detected, reported and resumed, and --fresh starts over', async () => {
  const project = createProject({ agent: [says('one'), waitsFor('never'), promise] });
  const killed = project.start(run);
  await killed.printed('waiting for never');
  killed.kill('SIGKILL');
  await killed.result;
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toContain(
    'iteration 2 (1/50 finished)',
  );
  project.write('never', ''); // Lets the orphaned agent exit.

  // Eight at once: exactly one of them takes over the lock of the dead owner.
  const results = await Promise.all(Array.from({ length: 8 }, () => project.spool(...run)));
  const notice = 'The last run was interrupted. Resuming at iteration 2 (--fresh starts over).';
  expect(results.filter((result) => result.stderr.includes(notice))).toMatchObject([{ code: 0 }]);
  expect(
    project
      .history()
      .map((record) => record.iteration)
      .slice(0, 2),
  ).toEqual([1, 2]);
  expect(
    new Set(
      project
        .history()
        .slice(0, 2)
        .map((record) => record.run),
    ).size,
  ).toBe(1);

  const state = project.state();
  writeFileSync(project.stateFile('state.json'), JSON.stringify({ ...state, status: 'interrupted' }));
  const fresh = await project.spool(...run, '--fresh');
  expect(fresh.code).toBe(0);
  expect(project.history().at(-1)).toMatchObject({ iteration: 1 });
  expect(project.history().at(-1)!.run).not.toBe(state.run);
});

test.each([
  ['the next start', []],
  ['a start with --fresh', ['--fresh']],
])('processes left over from a killed run are terminated by %s', async (_, flags) => {
  const works = 'while :; do echo x >> work.txt; sleep 0.05; done';
  const project = createProject({ agent: [`setsid sh -c '${works}' & ${waitsFor('never')}`, promise] });
  const killed = project.start(run);
  await killed.printed('waiting for never');
  await eventually(() => project.exists('work.txt'), 'the tool to work');
  killed.kill('SIGKILL');
  await killed.result;
  expect(processesWith(`HOME=${project.home}`).length).toBeGreaterThan(0);

  const next = await project.spool(...run, ...flags);

  expect(next.code).toBe(0);
  expect(next.stderr).toMatch(/Cleaned up \d+ processes left over from the last run\./);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

test('a resumed run keeps its prompt, model and limits, and needs --allow-all again', async () => {
  const project = createProject({ agent: [waitsFor('never'), promise] });
  const first = project.start([
    'ralph',
    'Mind the gap.',
    '--change',
    change,
    '--model',
    'a/b',
    '--max-iterations',
    '7',
    '--allow-all',
  ]);
  await first.printed('waiting for never');
  first.kill('SIGINT');
  expect(await first.result).toMatchObject({ code: 130 });

  expect(await project.spool('ralph', '--change', change)).toMatchObject({ code: 0 });

  const [, resumed] = project.calls();
  expect(resumed!.prompt.endsWith('Mind the gap.\n')).toBe(true);
  expect(resumed!.prompt).toContain('Progress: iteration 2 / 7');
  expect(resumed!.args).toContain('--model=a/b');
  expect(resumed!.args).not.toContain('--auto');
});

test('an agent that deletes the state folder does not end the run', async () => {
  const project = createProject({ agent: ['echo work > work.txt; git clean -fdxq -e work.txt', promise] });

  const result = await project.spool(...run);

  expect(result.code).toBe(0);
  expect(result.stderr).toContain('The state folder was deleted');
  expect(project.history()).toMatchObject([
    { iteration: 1, git: { files: ['work.txt'] } },
    { iteration: 2, completionFound: true },
  ]);
  expect(project.state()).toMatchObject({ status: 'complete', finishedIterations: 2 });
});

test('a full disk behind stdout is reported in one line by a query and does not stop a run', async () => {
  const project = createProject({ agent: [says('one'), promise] });
  const toFull = (...args: string[]) =>
    startProcess('sh', ['-c', `exec "${process.execPath}" "${spoolProgram}" "$@" > /dev/full`, 'sh', ...args], {
      cwd: project.folder,
      env: project.env,
    }).result;

  for (const args of [['list'], ['--version']])
    expect(await toFull(...args)).toMatchObject({
      code: 1,
      stderr: 'spool: Cannot write the output: the disk is full.\n',
    });
  expect(await toFull(...run)).toMatchObject({ code: 0 });
  expect(project.history()).toHaveLength(2);
});

test('a new run after a finished one counts from 1', async () => {
  const project = createProject({ agent: [promise] });

  await project.spool(...run);
  await project.spool(...run);

  const [first, second] = project.history();
  expect([first!.iteration, second!.iteration]).toEqual([1, 1]);
  expect(first!.run).not.toBe(second!.run);
});

test.each([
  ['a reused process id', { pid: process.pid, start: 'long ago' }],
  ['a dead process', { pid: 999_999_999, start: 'long ago' }],
  ['a dead process with an unknown start time', { pid: 999_999_999, start: null }],
  ['a live process with an unknown start time', { pid: process.pid, start: null }],
])('a lock of %s is ignored', async (_, owner) => {
  const project = createProject({ agent: [promise] });
  project.write(`.spool/.state/ralph/${change}/lock`, lockOf(owner));

  expect(await project.spool(...run)).toMatchObject({ code: 0 });
});

test('a lock of another machine is respected, and the message says how to delete it', async () => {
  const project = createProject({ agent: [promise] });
  project.write(`.spool/.state/ralph/${change}/lock`, lockOf({ pid: 1, start: 'x', host: 'elsewhere' }));
  project.write('.spool/.state/create.lock', lockOf({ pid: 1, start: 'x', host: 'elsewhere' }));

  const loop = await project.spool(...run);
  expect(loop.code).toBe(2);
  expect(loop.stderr).toContain(`if that machine is gone, delete .spool/.state/ralph/${change}/lock`);
  const create = await project.spool('create', 'module', 'x');
  expect(create.code).toBe(2);
  expect(create.stderr).toContain('is locked by PID 1 on elsewhere.');
});

test.each([undefined, 'long ago'])('a lock that was taken at %s is reported without that time', async (since) => {
  const project = createProject({ agent: [promise] });
  const lock = { id: '00000000-0000-4000-8000-000000000000', pid: 1, host: 'elsewhere', since };
  project.write(`.spool/.state/ralph/${change}/lock`, JSON.stringify(lock));

  expect((await project.spool(...run)).stderr).toContain('(PID 1 on elsewhere; if that machine is gone');
});

test('a folder in place of a lock is reported, and queries still work', async () => {
  const project = createProject({ agent: [promise] });
  mkdirSync(project.stateFile('lock'), { recursive: true });

  expect(await project.spool(...run)).toMatchObject({
    code: 1,
    stderr: `spool: Cannot access ${project.stateFile('lock')}: it is a folder.\n`,
  });
  expect(await project.spool('list')).toMatchObject({ code: 0, stderr: '' });
  expect(await project.spool('ralph', '--status', '--change', change)).toMatchObject({ code: 0, stderr: '' });
});

test('a dangling link in place of a lock is reported', async () => {
  const project = createProject({ agent: [promise] });
  mkdirSync(dirname(project.stateFile('lock')), { recursive: true });
  symlinkSync('/nowhere', project.stateFile('lock'));

  expect(await project.spool(...run)).toMatchObject({
    code: 2,
    stderr: `spool: ${project.stateFile('lock')} is a symbolic link, so Spool does not use it. Delete it and try again.\n`,
  });
});

test('the log of an interrupted iteration is kept when the iteration runs again', async () => {
  const project = createProject({
    agent: [`${says('first try')}; ${waitsFor('never')}`, `${says('second try')}; ${promise}`],
  });
  const killed = project.start(run);
  await killed.printed('waiting for never');
  killed.kill('SIGKILL');
  await killed.result;

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  const log = (name: string) => readFileSync(project.stateFile(`runs/${project.state().run}/${name}`), 'utf8');
  expect(log('0001.log')).toContain('second try');
  expect(log('0001.log')).not.toContain('first try');
  expect(log('0001.log.1')).toContain('first try');
});

test('a line truncated by a crash does not affect other lines', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run);
  appendFileSync(project.stateFile('history.jsonl'), '{"v":1,"run":"x"}\n[1]\nnull\n{"v":1,"run":"x","iter');

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  const lines = readFileSync(project.stateFile('history.jsonl'), 'utf8').trimEnd().split('\n');
  expect(lines).toHaveLength(6);
  expect(JSON.parse(lines[5]!)).toMatchObject({ iteration: 1, completionFound: true });
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toMatch(/^ +1 {2}done/m);
});

test('a state file of a newer version is rejected with one line and left unchanged', async () => {
  const project = createProject({ agent: [promise] });
  const text = '{"v":3,"run":"x"}';
  project.write(`.spool/.state/ralph/${change}/state.json`, text);

  for (const args of [run, ['ralph', '--status', '--change', change]]) {
    const result = await project.spool(...args);
    expect(result.code).toBe(2);
    expect(result.stderr).toBe(
      `spool: .spool/.state/ralph/${change}/state.json has version 3, which this Spool does not know. Nothing was changed; move the file to start over.\n`,
    );
  }
  const list = await project.spool('list');
  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(/unreadable +- +-$/m);
  expect((await project.spool('status')).stdout).toMatch(
    new RegExp(`^unreadable +${change} .*state\\.json cannot be read; see "spool status ${change}"$`, 'm'),
  );
  expect(readFileSync(project.stateFile('state.json'), 'utf8')).toBe(text);
  expect(project.calls()).toEqual([]);
});

test('state files are readable by their owner only', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run);

  await project.spool('ralph', '--add-context', 'x', '--change', change);
  await project.spool('create', 'module', 'another');

  const state = project.path('.spool/.state');
  const paths = ['.', ...(readdirSync(state, { recursive: true }) as string[])].map((name) => join(state, name));
  const open = paths.filter((path) => {
    const stats = statSync(path);
    return (stats.mode & 0o777) !== (stats.isDirectory() ? 0o700 : 0o600);
  });
  expect(paths.length).toBeGreaterThan(10);
  expect(open).toEqual([]);
});

test('runs without a git binary', async () => {
  const project = createProject({ agent: [`${says('Hi.')}; ${promise}`] });
  // Everything that is needed except git.
  for (const name of ['node', 'sh', 'cat', 'env', 'mkdir', 'mv', 'printf']) {
    const found = execFileSync('which', [name], { encoding: 'utf8' }).trim();
    symlinkSync(found, join(project.home, name));
  }
  const path = `${join(root, 'test/fixtures/bin')}:${project.home}`;

  const result = await project.start([...run, '--verbose'], { env: { PATH: path } }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(project.history()).toMatchObject([{ git: null, commit: null, checkpoint: null }]);
  expect((await project.start(['doctor'], { env: { PATH: path } }).result).stdout).toMatch(/^warn {2}git +not found/m);
});

test('runs without a repository, with null in the git fields', async () => {
  const project = createProject({ git: false, agent: [`echo x > new.txt; ${promise}`] });

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(project.history()).toMatchObject([{ git: null, commit: null, completionFound: true }]);
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toMatch(
    /done +0 +\S+m?s +\S+ +- +- +-/,
  );
});

test('a loop continues after the reader of its output exits', async () => {
  const project = createProject({ agent: [says('one'), says('two'), promise] });
  const command = `"${process.execPath}" "${spoolProgram}" ralph --change ${change} 2>&1 | head -1`;

  const result = await startProcess('sh', ['-c', command], { cwd: project.folder, env: project.env }).result;

  expect(result).toMatchObject({ code: 0, stderr: '' });
  await eventually(() => project.history().length === 3, 'the third iteration');
  await eventually(() => project.state().status === 'complete', 'the end of the run');
});

test('two projects in one repository cannot run at the same time, because their commits would mix', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
  project.write('sub/.spool/changes/001-01_sub/proposal.md', '# Sub\n');
  const first = project.start(run);
  await first.printed('waiting for go-on');

  const second = await project.start(['ralph', '--change', '001-01'], { cwd: 'sub' }).result;
  project.write('go-on', '');

  expect(second).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${change} is already running in this folder`),
  });
  expect(await first.result).toMatchObject({ code: 0 });
});

test('processes left over from a killed loop are terminated by a loop on another change in the same folder', async () => {
  const other = '002-02_another';
  const project = createProject({
    files: { [`.spool/changes/${other}/proposal.md`]: '# Another\n' },
    agent: [`touch ready; setsid sleep 300 & sleep 300`, promise],
  });
  const killed = project.start(run);
  await eventually(() => project.exists('ready'), 'the agent to work');
  killed.kill('SIGKILL');
  await killed.result;

  const next = await project.spool('ralph', '--change', other);

  expect(next).toMatchObject({ code: 0 });
  expect(next.stderr).toMatch(/^Cleaned up \d process(es)? left over from the last run/m);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

test('the cost of a killed iteration is counted', async () => {
  const step = { type: 'step_finish', part: { reason: 'stop', cost: 4, tokens: { input: 1, output: 0 } } };
  const project = createProject({ agent: [`${says(JSON.stringify(step))}; touch ready; sleep 300`, promise] });
  const killed = project.start([...run, '--max-cost', '4.5']);
  await eventually(() => project.exists('ready'), 'the agent to work');
  await eventually(() => project.state().currentUsage !== null, 'the cost to be on disk', 30_000);
  killed.kill('SIGKILL');
  await killed.result;
  expect((await project.spool('status', change)).stdout).toContain('$4.00');

  const again = await project.spool(...run);

  expect(again).toMatchObject({ code: 0 });
  expect(project.state()).toMatchObject({ usage: { costUsd: 4 } });
});

test.each([
  ['history.jsonl', (run: string) => `{"v":1,"run":"${run}","end":"exited","iteration":2,"durationMs":5}\n`],
  ['guard.json', () => '{"v":1}'],
])('an incomplete %s does not crash Spool', async (file, text) => {
  const project = createProject({ agent: ['kill -INT $PPID; sleep 5', promise] });
  await project.spool(...run);
  writeFileSync(project.stateFile(file), text(project.state().run));

  for (const args of [['ralph', '--status', '--change', change], run]) {
    const result = await project.spool(...args);
    expect(result.code).toBe(0);
    expect(result.stderr).not.toMatch(/ {4}at /);
  }
});

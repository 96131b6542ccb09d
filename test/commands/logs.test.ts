import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { killProcessesWith } from '../support/processes.ts';
import { change, createProject, spoolProgram, startProcess, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', 'Build it.', '--change', change];

const logOf = (project: TestProject, iteration = 1) =>
  project.stateFile(`runs/${project.state().run}/${String(iteration).padStart(4, '0')}.log`);

test('a run of another process is followed across its iterations to its end, with its exit code', async () => {
  const project = createProject({
    agent: [`${says('first')}; ${waitsFor('one')}`, `${says('second')}; ${waitsFor('two')}`],
  });
  const loop = project.start([...run, '--max-iterations', '2']);
  await loop.printed('waiting for one');
  const shown = project.start(['logs', '002-01', '-f']);
  const raw = project.start(['logs', '002-01', '--follow', '--raw']);
  const events = project.start(['logs', '002-01', '--follow', '--json']);
  for (const follower of [shown, raw, events]) await follower.printed('waiting for one');
  const now = await project.spool('logs', '002-01');
  expect(now).toMatchObject({ code: 0, stdout: expect.stringContaining('waiting for one'), stderr: '' });
  project.write('one', '');
  for (const follower of [shown, raw, events]) await follower.printed('waiting for two');
  project.write('two', '');

  expect(await loop.result).toMatchObject({ code: 3 });
  const [text, bytes, json] = await Promise.all([shown.result, raw.result, events.result]);
  for (const result of [text, bytes, json]) expect(result).toMatchObject({ code: 3, stderr: '' });
  expect(text.stdout).toMatch(/Iteration 1[\s\S]*first[\s\S]*Iteration 2[\s\S]*second[\s\S]*Not complete: /);
  expect(bytes.stdout).toBe('first\nwaiting for one\nsecond\nwaiting for two\n');
  const types = json.stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types.filter((type) => type !== 'agent')).toEqual([
    'run-started',
    'iteration-started',
    'iteration-finished',
    'iteration-started',
    'iteration-finished',
    'run-ended',
  ]);
});

test('a follower of a run that is killed says so and ends', async () => {
  const project = createProject({
    files: { [`.spool/changes/${change}/tasks.md`]: '- [ ] One\n' },
    agent: [waitsFor('never')],
  });
  const loop = project.start(run);
  await loop.printed('waiting for never');
  const shown = project.start(['logs', change, '-f']);
  const raw = project.start(['logs', change, '-f', '--raw']);
  await shown.printed('waiting for never');
  await raw.printed('waiting for never');
  loop.kill('SIGKILL');

  const { code, stdout } = await shown.result;
  expect({ code, stdout }).toEqual({
    code: 143,
    stdout: expect.stringMatching(
      /Interrupted: the process is gone[\s\S]*open: One[\s\S]*Resume +spool ralph --change/,
    ),
  });
  expect(await raw.result).toMatchObject({ code: 143 });
  killProcessesWith(`HOME=${project.home}`);
  const { stdout: status } = await project.spool('status', change);
  const isShared = (line: string) => !/^ {2}(?:Left over|Clean up )/.test(line);
  expect(stdout.split('\n').filter(isShared).join('\n').endsWith(`\n\n${status}`)).toBe(true);
});

test('a finished run is followed to the screen with which it ended, and to its exit code', async () => {
  const project = createProject({ agent: [says('first'), waitsFor('never'), says('third'), says('fourth')] });
  const loop = project.start([...run, '--max-iterations', '4']);
  await loop.printed('waiting for never');
  loop.kill('SIGINT');
  await loop.result;
  const end = await project.spool(...run);
  expect(end).toMatchObject({ code: 3 });
  const screen = end.stderr.slice(end.stderr.indexOf('■'));
  for (const iteration of [1, 2, 3, 4]) expect(screen).toMatch(new RegExp(`^ +${iteration} {2}`, 'm'));

  const logs = await project.spool('logs', change);
  const followed = await project.spool('logs', change, '-f');

  expect(logs.stdout).toContain('fourth');
  expect(followed).toEqual({ code: 3, signal: null, stdout: `${logs.stdout}\n${screen}`, stderr: '' });
  expect((await project.spool('logs', change, '1', '-f')).stdout).toMatch(
    /first[\s\S]*waiting for never[\s\S]*third[\s\S]*fourth[\s\S]*Not complete/,
  );
  const status = (await project.spool('status', change)).stdout;
  expect(screen).toBe(`${status}  Prompts and logs: .spool/.state/ralph/${change}/runs/${project.state().run}\n`);
});

test.each([[['-f']], [['-f', '--raw']], [['-f', '--json']]])(
  'a follower with %j ends quietly when the reader of its output is gone',
  async (flags) => {
    const project = createProject({ agent: [`while [ ! -e stop ]; do echo line; sleep 0.05; done; ${promise}`] });
    const loop = project.start(run);
    await loop.printed('line');
    const script = `"$0" "$1" logs ${change} "\${@:2}" | head -1; echo "\${PIPESTATUS[@]}"`;

    const piped = startProcess('bash', ['-c', script, process.execPath, spoolProgram, ...flags], {
      cwd: project.folder,
      env: project.env,
    });

    expect(await piped.result).toMatchObject({ code: 0, stdout: expect.stringMatching(/^.+\n0 0\n$/), stderr: '' });
    project.write('stop', '');
    expect(await loop.result).toMatchObject({ code: 0 });
  },
);

test('Ctrl-C ends the follower and not the run', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  const terminal = openTerminal(project, ['logs', change, '-f'], { columns: 80 });
  await terminal.shows('waiting for go-on');
  terminal.type('\u0003');

  expect(await terminal.exitCode).toBe(130);
  expect(terminal.screen()).toContain(
    `Stopped following ${change}. The run continues; stop it with:\r\n  spool stop ${change}`,
  );
  project.write('go-on', '');
  expect(await loop.result).toMatchObject({ code: 0 });
});

test('one iteration is shown as it was, raw, as events or by its prompt, including in an older run', async () => {
  const project = createProject({
    agent: [says('first'), says('second'), `${says('third')}; ${promise}`, `${says('other')}; ${promise}`],
  });
  await project.spool(...run);
  const { run: older } = project.state();
  await project.spool(...run);
  const logs = (...args: string[]) => project.spool('logs', change, ...args);
  const of = ['--run', older];

  const second = await logs('2', ...of);
  expect(second.stdout).toMatch(/Iteration 2[\s\S]*second/);
  expect(second.stdout).not.toMatch(/first|third/);
  expect(await logs('2', '--raw', ...of)).toMatchObject({ code: 0, stdout: 'second\n', stderr: '' });
  expect((await logs('2', '--prompt', ...of)).stdout).toMatch(/^# Ralph Wiggum Loop - Iteration 2\n[\s\S]*Build it\./);
  expect((await logs('2', '--json', ...of)).stdout).toContain('"text":"second\\n"');
  expect((await logs(...of)).stdout).toContain('third');
  expect((await logs()).stdout).toContain('other');
  expect(await logs('-f')).toMatchObject({ code: 0 });

  for (const [args, says2] of [
    [['9'], `No record for iteration 9 of ${change}: run ${project.state().run} has only reached iteration 1.`],
    [['9', '--prompt'], `No prompt for iteration 9 of ${change}: run`],
    [['x'], 'n must be a positive whole number (got "x").'],
    [['--run', 'x'], `${change} has no run "x". Available: ${[older, project.state().run].toSorted().join(', ')}.`],
    [['--raw', '--json'], '--raw and --json cannot be used together.'],
  ] as const)
    expect(await logs(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says2) });
  await project.spool('prune', '--keep', '1', '--yes');
  rmSync(project.stateFile(`runs/${project.state().run}`), { recursive: true });
  for (const args of [[], ['--raw'], ['-f']])
    expect(await logs(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining('maybe by "spool prune"') });
  expect(await project.spool('logs', 'nothing')).toMatchObject({ code: 2 });
});

test('a log of any size is printed in little memory, without secrets and control sequences', async () => {
  const token = 'Zx9-Lm3_Qw7pRt5vKb2N';
  const project = createProject({ agent: [promise] });
  await project.spool(...run);
  const line = `${'x'.repeat(99)}\n`;
  writeFileSync(logOf(project), `a \u001b]0;title\u0007${token} b\n`);
  const lines = 200_000;
  for (let block = 0; block < 20; block++) appendFileSync(logOf(project), line.repeat(lines / 20));

  const args = ['--max-old-space-size=24', spoolProgram, 'logs', change, '--raw'];
  const { code, stdout } = await startProcess(process.execPath, args, {
    cwd: project.folder,
    env: { ...project.env, DEPLOY_TOKEN: token },
  }).result;

  expect(code).toBe(0);
  expect(stdout.slice(0, 20)).toBe('a [redacted] b\nxxxxx');
  expect(stdout.length).toBe('a [redacted] b\n'.length + lines * line.length);
});

test('an iteration at the end of a long journal is shown in little memory', async () => {
  const project = createProject({ agent: [says('first'), `${says('last')}; ${promise}`] });
  await project.spool(...run);
  const { run: id } = project.state();
  const path = `.spool/.state/ralph/${change}/runs/${id}/events.jsonl`;
  const journal = project.read(path).trimEnd().split('\n');
  const at = journal.findIndex((line) => line.includes('"first'));
  const numbered = journal.map((line) => JSON.parse(line) as { seq: number });
  const first = { ...numbered[at]! };
  const many = 40_000;
  const text = 'y'.repeat(1000);
  const filler = (index: number) =>
    JSON.stringify({
      ...first,
      seq: first.seq + index,
      event: { type: 'agent', event: { type: 'text', text, plain: false } },
    });
  writeFileSync(project.path(path), `${journal.slice(0, at).join('\n')}\n`);
  for (let block = 0; block < 40; block++)
    appendFileSync(
      project.path(path),
      Array.from({ length: many / 40 }, (_, index) => `${filler(block * (many / 40) + index)}\n`).join(''),
    );
  const rest = numbered.slice(at + 1).map((line) => JSON.stringify({ ...line, seq: line.seq + many - 1 }));
  appendFileSync(project.path(path), `${rest.join('\n')}\n`);

  const args = ['--max-old-space-size=32', spoolProgram, 'logs', change];
  const { code, stdout } = await startProcess(process.execPath, args, { cwd: project.folder, env: project.env }).result;

  expect(code).toBe(0);
  expect(stdout).toMatch(/Iteration 2[\s\S]*last/);
  expect(stdout).not.toContain('yyyy');
});

test('who joins in a later iteration sees its tasks', async () => {
  const tasks = `.spool/changes/${change}/tasks.md`;
  const project = createProject({
    files: { [tasks]: '- [ ] One\n- [ ] Two\n- [ ] Three\n' },
    agent: [`sed -i 's/.*One/- [x] One\\n- [ ] Added/' ${tasks}`, waitsFor('never')],
  });
  const loop = project.start(run);
  await loop.printed('waiting for never');

  const terminal = openTerminal(project, ['logs', change, '-f'], { columns: 100 });
  await terminal.shows('1/4 tasks');

  expect(terminal.screen()).not.toContain('working… 0s · 0/3 tasks');
  const status = JSON.parse((await project.spool('status', '--json')).stdout) as { tasks: object }[];
  expect(status[0]!.tasks).toEqual({ done: 1, total: 4 });
});

test('the header above a later iteration has the tasks that were done by then', async () => {
  const tasks = `.spool/changes/${change}/tasks.md`;
  const project = createProject({
    files: { [tasks]: '- [ ] One\n- [ ] Two\n' },
    agent: [`sed -i 's/.*One/- [x] One/' ${tasks}`, says('second')],
  });
  await project.spool(...run, '--max-iterations', '2');

  expect((await project.spool('logs', change, '1')).stdout).toContain(' 0/2 tasks\n');
  expect((await project.spool('logs', change, '2')).stdout).toContain(' 1/2 tasks\n');
});

test('an iteration ends with its result, and not with the next start of the run', async () => {
  const project = createProject({
    agent: [says('first'), waitsFor('never'), `${says('third')}; ${waitsFor('never')}`, says('again')],
  });
  const stopped = project.start(run);
  await stopped.printed('waiting for never');
  stopped.kill('SIGINT');
  await stopped.result;
  const killed = project.start([...run, '--resume']);
  await killed.printed('third');
  killed.kill('SIGKILL');
  await killed.result;
  killProcessesWith(`HOME=${project.home}`);
  await project.spool(...run, '--resume', '--max-iterations', '3');
  const typesOf = async (n: string) =>
    (await project.spool('logs', change, n, '--json')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
      .filter((type) => type !== 'agent');

  expect((await project.spool('logs', change, '2')).stdout).toMatch(/Iteration 2: Interrupted[^\n]*\n$/);
  expect(await typesOf('2')).toEqual(['run-started', 'iteration-started', 'notice', 'iteration-finished']);
  // Its process was killed, so it was repeated after another start.
  const { stdout } = await project.spool('logs', change, '3');
  expect(stdout).toMatch(/Resuming at iteration 3[\s\S]*again\n[\s\S]*Iteration 3: [^\n]*\n$/);
  expect((await typesOf('3')).filter((type) => type !== 'notice')).toEqual([
    'run-started',
    'iteration-started',
    'run-started',
    'iteration-started',
    'iteration-finished',
  ]);
});

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', 'Build it.', '--change', '002-01', '--detach'];

const outputOf = (project: TestProject) =>
  readFileSync(join(project.stateFile('runs'), project.state().run, 'output.log'), 'utf8');

const ends = async (project: TestProject) => {
  await eventually(() => project.state().status !== 'running', 'the run to end');
  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the process to exit');
};

const startLogs = (project: TestProject) =>
  readdirSync(project.path('.spool/.state')).filter((name) => name.startsWith('start-'));

test('--detach returns when the run has started, and the run continues without it', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });

  const { code, stdout, stderr } = await project.start([...run, '--max-iterations=3', '--no-commit']).result;

  const { run: id, pid } = project.state();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(
    [
      `${change} is running in the background (PID ${pid}, run ${id}).`,
      `  Follow  spool logs ${change} -f`,
      `  Stop    spool stop ${change}`,
      `  Output  .spool/.state/ralph/${change}/runs/${id}/output.log`,
      '',
    ].join('\n'),
  );
  expect(project.state()).toMatchObject({ status: 'running', maxIterations: 3, commit: false });

  const second = await project.spool(...run);
  expect(second).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is already running') });
  expect(startLogs(project)).toEqual([]);

  project.write('go-on', '');
  await ends(project);
  expect(project.state()).toMatchObject({ status: 'complete' });
  const [call] = project.calls();
  expect(call!.prompt).toContain('Build it.');
  expect(Object.keys(call!.env)).not.toContain('SPOOL_DETACHED');
  expect(outputOf(project)).toContain('Complete:');
});

test('--detach prints the error of a run that cannot start, with its exit code', async () => {
  const project = createProject({ agent: [promise], git: false });

  const result = await project.spool(...run, '--worktree');

  expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^spool: .*git.*\n$/i) });
  expect(startLogs(project)).toEqual([]);
  expect(project.calls()).toEqual([]);
});

test.each([['--status'], ['--clear-context'], ['--add-context=x']])(
  '--detach and %s cannot be used together',
  async (flag) => {
    const project = createProject();

    expect(await project.spool('ralph', '--change', change, '--detach', flag)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be used together'),
    });
  },
);

test('questions are asked before the run goes to the background', async () => {
  const project = createProject({
    agent: [`echo go; ${promise}`],
    files: { '.spool/config.json': '{ "verify": "true" }' },
    untrusted: true,
  });

  const refused = openTerminal(project, run);
  await refused.shows('Run these from this project?');
  refused.type('n');
  expect(await refused.exitCode).not.toBe(0);
  expect(existsSync(project.stateFile('state.json'))).toBe(false);

  const agreed = openTerminal(project, run);
  await agreed.shows('Run these from this project?');
  agreed.type('y');
  expect(await agreed.exitCode).toBe(0);
  expect(agreed.screen()).toContain('is running in the background');
  await ends(project);
  expect(project.state()).toMatchObject({ status: 'complete' });

  project.write('.spool/config.json', '{ "verify": "true; true" }');
  const silent = await project.spool(...run);
  expect(silent).toMatchObject({ code: 2, stderr: expect.stringContaining('spool trust') });
});

test('a run that was started elsewhere is resumed in the background after a question', async () => {
  const project = createProject({ agent: [waitsFor('go-on'), promise] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for go-on');
  loop.kill('SIGKILL');
  await loop.result;
  project.write('go-on', '');
  const elsewhere = { ...project.env, XDG_STATE_HOME: join(project.home, 'elsewhere') };

  expect(await project.start(run, { env: elsewhere }).result).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not resumed without confirmation'),
  });
  const terminal = openTerminal({ ...project, env: elsewhere }, run);
  await terminal.shows('Resume it?');
  terminal.type('y');

  expect(await terminal.exitCode).toBe(0);
  await ends(project);
  expect(project.state()).toMatchObject({ status: 'complete' });
});

test('notices of a start in the background are wrapped at words', async () => {
  const project = createProject({ agent: [waitsFor('go-on'), promise] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for go-on');
  loop.kill('SIGKILL');
  await loop.result;
  project.write('go-on', '');

  const terminal = openTerminal(project, ['ralph', '--resume', '--detach', '--max-iterations=6'], { columns: 50 });

  expect(await terminal.exitCode).toBe(0);
  const lines = terminal.lines();
  expect(lines.map(({ text }) => text).join(' ')).toMatch(/--max-iterations +is +6 +\(was +50\)/);
  // A path is one word, which the terminal breaks.
  expect(lines.filter(({ text, rows }) => rows > 1 && !text.includes('/'))).toEqual([]);
  await ends(project);
});

test('a start that is interrupted at a question leaves nothing running', async () => {
  const project = createProject({
    agent: [promise],
    files: { '.spool/config.json': '{ "verify": "true" }' },
    untrusted: true,
  });
  const terminal = openTerminal(project, run);
  await terminal.shows('Run these from this project?');

  terminal.kill('SIGKILL');
  await terminal.exitCode;

  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the process to exit');
  expect(existsSync(project.stateFile('state.json'))).toBe(false);
});

test('a detached run is stopped, resumed in the background, and stopped again', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const json = await project.spool(...run, '--json');
  expect(JSON.parse(json.stdout)).toEqual({
    changes: [change],
    change,
    run: project.state().run,
    pid: project.state().pid,
    output: `.spool/.state/ralph/${change}/runs/${project.state().run}/output.log`,
  });
  await eventually(() => outputOf(project).includes('waiting for never'), 'the agent to work');
  expect(await project.spool('stop', change, '--now')).toMatchObject({ code: 0 });
  await ends(project);

  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  expect(outputOf(project)).not.toContain('stopped by request');
  expect(existsSync(join(project.stateFile('runs'), project.state().run, 'output.log.1'))).toBe(true);
  await project.spool('stop', change, '--now');
  await ends(project);
  expect(project.state()).toMatchObject({ status: 'interrupted', detail: 'stopped by request' });
});

test('a detached run that a signal stops names no key, because it has no terminal', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  await project.spool(...run);
  await eventually(() => outputOf(project).includes('waiting for never'), 'the agent to work');

  process.kill(project.state().pid, 'SIGTERM');
  await ends(project);

  expect(outputOf(project)).toContain('Stopping…\n');
  expect(outputOf(project)).not.toContain('Ctrl-C');
});

test('--detach runs several changes in parallel', async () => {
  const second = '002-02_second';
  const agent = [`until [ -e "$HOME/go-on" ]; do sleep 0.01; done; ${promise}`];
  const project = createProject({ files: { [`.spool/changes/${second}/proposal.md`]: '# Second\n' }, agent });

  const { code, stdout } = await project.spool('ralph', '--module', '002', '--parallel', '2', '--detach');

  expect(code).toBe(0);
  expect(stdout).toMatch(/^2 changes run in the background \(PID \d+, run /);
  expect(stdout).toContain('spool stop --all');
  const hasState = (id: string) => existsSync(project.stateFile('state.json', id));
  await eventually(() => hasState(change) && hasState(second), 'both runs');
  writeFileSync(join(project.home, 'go-on'), '');
  await eventually(
    () => [change, second].every((id) => project.state(id).status === 'complete'),
    'both runs to complete',
  );
});

test('--detach creates a change from a sentence, and leaves nothing behind if it cannot start', async () => {
  const project = createProject({
    agent: [promise],
    files: {
      '.spool/config.json': null,
      '.spool/modules/002_loops/module.md': null,
      [`.spool/changes/${change}/proposal.md`]: null,
    },
  });
  rmSync(project.path('.spool'), { recursive: true, force: true });

  const refused = await project.spool('ralph', 'Add a health check', '--detach', '--branch', 'no such branch');
  expect(refused.code).not.toBe(0);
  expect(project.exists('.spool')).toBe(false);

  const { code, stdout } = await project.spool('ralph', 'Add a health check', '--detach');
  const id = '000-01_add-a-health-check';
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(`spool logs ${id} -f`) });
  await eventually(() => project.state(id).status === 'complete', 'the run to end');
  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the process to exit');
  expect(project.read(`.spool/changes/${id}/proposal.md`)).toContain('Add a health check');
});

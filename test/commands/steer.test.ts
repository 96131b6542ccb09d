import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type FollowedEvent, followRun } from '../../src/store/follow.ts';
import { requestControl } from '../../src/store/control.ts';
import type { LockOwner } from '../../src/store/lock-owner.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root, type TestProject } from '../support/project.ts';

/** Runs that other processes pause, resume, stop and tell something. */

const run = ['ralph', 'Build it.', '--change', change];

/** The environment of another user, or of a container that shares only the folder of the project. */
const elsewhere = (project: TestProject) => ({ env: { XDG_STATE_HOME: join(project.home, 'elsewhere') } });

const eventsOf = async (project: TestProject): Promise<(FollowedEvent['event'] & object)[]> => {
  const seen: (FollowedEvent['event'] & object)[] = [];
  for await (const { event } of followRun({ root: project.folder }, change, { env: project.env }))
    if (event !== null) seen.push(event);
  return seen;
};

const typesOf = async (project: TestProject) =>
  (await eventsOf(project)).map(({ type }) => type).filter((type) => type !== 'agent');

const lockOf = (project: TestProject) => JSON.parse(readFileSync(project.stateFile('lock'), 'utf8')) as LockOwner;

const requestsIn = (project: TestProject): string => {
  const file = project.stateFile('control.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

/** Writes a request as an agent could. */
const forged = (command: string) =>
  `echo '{"v":1,"to":"'$(sed 's/.*"id":"\\([^"]*\\)".*/\\1/' .spool/.state/ralph/${change}/lock)'","command":"${command}"}' >> .spool/.state/ralph/${change}/control.jsonl`;

/** Starts a run and waits until its first agent waits for a file. */
const startWaiting = async (agent: string[], flags: readonly string[] = []) => {
  const project = createProject({ agent });
  const loop = project.start([...run, ...flags]);
  await loop.printed('waiting for ');
  return { project, loop };
};

/** Starts a run that has paused after its first iteration. Its next agent makes the promise. */
const startPaused = async () => {
  const { project, loop } = await startWaiting([waitsFor('go-on'), promise]);
  await project.spool('pause', change);
  project.write('go-on', '');
  await loop.printed('Paused.');
  return { project, loop };
};

describe('pause and resume', () => {
  test('a run pauses after its iteration, says so, and resumes', async () => {
    const { project, loop } = await startWaiting([waitsFor('go-on'), promise]);

    expect(await project.spool('pause', '002-01')).toMatchObject({
      code: 0,
      stdout: `${change} pauses after iteration 1, unless the run ends with it. Resume with: spool resume ${change}\n`,
    });
    expect((await project.spool('ralph', '--status', '--change', change)).stdout).toContain(
      'pausing after iteration 1',
    );
    project.write('go-on', '');
    await loop.printed(`Paused. Resume with: spool resume ${change}`);

    expect(project.state()).toMatchObject({ status: 'running', requested: 'pause', pausedAt: expect.any(String) });
    const paused = (await project.spool('ralph', '--status', '--change', change)).stdout;
    expect(paused).toMatch(/ {2}Paused: since \d\d:\d\d, before iteration 2 of \d+, PID \d+\.\n/);
    expect(paused).toContain(`  Resume      spool resume ${change}\n`);
    const again = await project.spool('pause', '002-01', '--json');
    expect(JSON.parse(again.stdout)).toEqual({
      change,
      outcome: 'paused',
      run: project.state().run,
      iteration: 1,
      status: 'running',
    });
    expect(project.calls()).toHaveLength(1);

    expect(await project.spool('resume', '002-01')).toMatchObject({
      code: 0,
      stdout: `${change} resumes with iteration 2.\n`,
    });
    expect(await loop.result).toMatchObject({ code: 0, stderr: expect.stringContaining('Resumed.') });
    expect(await typesOf(project)).toEqual([
      'run-started',
      'iteration-started',
      'requested',
      'iteration-finished',
      'paused',
      'requested',
      'resumed',
      'iteration-started',
      'iteration-finished',
      'run-ended',
    ]);
    expect(project.state()).toMatchObject({ status: 'complete', requested: null, pausedAt: null });
  });

  test('the user can take back a pause, and an agent cannot', async () => {
    const agent = [`${waitsFor('go-on')}; ${waitsFor('then')}; ${forged('resume')}; sleep 0.5`, promise];
    const project = createProject({ agent });
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    await project.spool('pause', change);

    expect(await project.spool('resume', change)).toMatchObject({
      stdout: `${change} continues without a pause: iteration 1 is running.\n`,
    });
    await loop.printed('the run continues without a pause');
    expect((await project.spool('resume', change)).stdout).toBe(`${change} is not paused: iteration 1 is running.\n`);
    await project.spool('pause', change);
    expect(await project.start(['resume', change], elsewhere(project)).result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not paused yet: it pauses after iteration 1'),
    });
    project.write('go-on', '');
    project.write('then', '');
    await loop.printed('Paused.');

    expect(await project.start(['resume', change], elsewhere(project)).result).toMatchObject({ code: 0 });
    expect(await loop.result).toMatchObject({ code: 0 });
  });

  test('an agent that runs "spool resume" gets an error, and one that runs "spool pause" pauses its run', async () => {
    const spool = `"${process.execPath}" "${join(root, 'dist/spool.cjs')}"`;
    const project = createProject({ agent: [`${spool} pause ${change}; ${spool} resume ${change}`, promise] });
    const loop = project.start(run);

    await loop.printed('Paused.');

    expect(loop.output()).toContain('"spool resume" cannot be run by an agent');
    await project.spool('stop', change);
    expect(await loop.result).toMatchObject({ code: 143 });
  });

  test('a run in another container that shares the folder is paused and stopped through the file', async () => {
    const { project, loop } = await startWaiting([waitsFor('go-on')]);
    writeFileSync(project.stateFile('lock'), JSON.stringify({ ...lockOf(project), host: 'elsewhere', pid: 1 }));

    expect(await project.start(['pause', change], elsewhere(project)).result).toMatchObject({ code: 0 });
    project.write('go-on', '');
    await loop.printed('Paused.');
    expect(await project.start(['stop', change], elsewhere(project)).result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('has stopped. Resume with: spool ralph --change'),
    });
    expect(await loop.result).toMatchObject({ code: 143 });
  });

  test('a paused run that is killed can be resumed like any other', async () => {
    const { project, loop } = await startPaused();
    loop.kill('SIGKILL');
    await loop.result;

    expect(await project.spool('resume', change)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Resume with: spool ralph --change ${change}`),
    });
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.state()).toMatchObject({ status: 'complete', pausedAt: null, requested: null });
  });

  test('--until ends a paused run', async () => {
    const project = createProject({ agent: [waitsFor('go-on'), promise] });
    const offset = join(project.home, 'offset');
    writeFileSync(offset, '0');
    const clock = pathToFileURL(join(root, 'test/fixtures/clock.mjs')).href;
    const env = { NODE_OPTIONS: `--import=${clock}`, CLOCK_OFFSET: offset };
    const loop = project.start([...run, '--until', '12:00'], { env });
    await loop.printed('waiting for go-on');
    await project.spool('pause', change);
    project.write('go-on', '');
    await loop.printed('Paused.');

    writeFileSync(offset, String(24 * 60 * 60_000));

    expect(await loop.result).toMatchObject({ code: 3, stderr: expect.stringContaining('--until reached') });
    expect(loop.output()).not.toContain('did not pause');
    expect(project.calls()).toHaveLength(1);
  });

  test('a signal ends a paused run', async () => {
    const { project, loop } = await startPaused();

    loop.kill('SIGINT');

    expect(await loop.result).toMatchObject({ code: 130 });
    expect(project.state()).toMatchObject({ status: 'interrupted', detail: 'stopped by SIGINT', pausedAt: null });
  });

  test('a run in its last iteration says that it ends and does not pause', async () => {
    const { project, loop } = await startWaiting([waitsFor('go-on')], ['--max-iterations', '1']);

    expect(await project.spool('pause', change)).toMatchObject({
      code: 0,
      stdout: `${change} does not pause: iteration 1 is the last one (--max-iterations 1), and the run ends with it.\n`,
    });
    expect(JSON.parse((await project.spool('pause', change, '--json')).stdout)).toMatchObject({ outcome: 'ends' });
    expect((await project.spool('status', change)).stdout).not.toContain('pausing');
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 3 });
    expect(loop.output()).toContain('Pause requested, but iteration 1 is the last one: the run ends with it.');
    expect(loop.output()).not.toContain('the run pauses');
  });

  test('a run that is done before it could pause says that it ended', async () => {
    const { project, loop } = await startWaiting([`${waitsFor('go-on')}; ${promise}`]);
    await project.spool('pause', change);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('The run did not pause, because it ended with iteration 1.'),
    });
    expect(await project.spool('pause', change)).toMatchObject({
      code: 2,
      stderr: `spool: ${change} is not running: its last run is complete (iteration 1).\n`,
    });
  });

  test('a pause ends the wait after a failed iteration', async () => {
    const project = createProject({ agent: ['exit 1', promise] });
    const loop = project.start([...run, '--retry-delay', '1h']);
    await loop.printed('the iteration failed');

    expect(await project.spool('pause', change)).toMatchObject({
      stdout: expect.stringContaining('is paused before iteration 2'),
    });
    await project.spool('resume', change);

    expect(await loop.result).toMatchObject({ code: 0 });
  });
});

describe('stop', () => {
  test('a run stops after its iteration, and can be resumed', async () => {
    const { project, loop } = await startWaiting([waitsFor('go-on'), promise]);

    expect(await project.spool('stop', '002-01')).toMatchObject({
      code: 0,
      stdout: `${change} stops after iteration 1. To stop it now: spool stop ${change} --now\n`,
    });
    expect((await project.spool('pause', change)).stdout).toBe(`${change} stops after iteration 1.\n`);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 143 });
    expect(project.history()).toMatchObject([{ iteration: 1, end: 'exited' }]);
    expect(await project.spool('stop', change)).toMatchObject({
      code: 2,
      stderr: `spool: ${change} is not running: its last run was interrupted in iteration 1. Resume with: spool ralph --change ${change}\n`,
    });
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(await project.spool('stop', change)).toMatchObject({
      code: 2,
      stderr: `spool: ${change} is not running: its last run is complete (iteration 2).\n`,
    });
  });

  test('--now stops the agent, and a second one kills it', async () => {
    const { project, loop } = await startWaiting([`trap '' TERM INT; ${waitsFor('never')}`], ['--stop-grace', '1h']);

    expect(await project.spool('stop', change, '--now')).toMatchObject({
      code: 0,
      stdout: `${change} is stopping the agent of iteration 1. Repeat the command to kill it.\n`,
    });
    expect(await project.spool('stop', change, '--now')).toMatchObject({
      code: 0,
      stdout: `${change} has stopped. Resume with: spool ralph --change ${change}\n`,
    });
    expect(await loop.result).toMatchObject({ code: 143 });
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test.each([[[]], [['--now']]])(
    'what is left of a killed run is shown, and ended by "spool stop" with %j',
    async (flags) => {
      const { project, loop } = await startWaiting([`setsid sleep 300 & ${waitsFor('never')}`]);
      loop.kill('SIGKILL');
      await loop.result;
      const left = () => processesWith(`HOME=${project.home}`);
      expect(left().length).toBeGreaterThan(1);

      const status = await project.spool('status', change);
      expect(status.stdout).toMatch(
        /^ {2}Left over +\d processes of the agent are still running \(PID \d+(, \d+)+\)$/m,
      );
      expect(status.stdout).toMatch(new RegExp(`^ {2}Clean up +spool stop ${change}$`, 'm'));
      expect((await project.spool('status')).stdout).toMatch(
        /the process is gone; \d processes of its agent are still running/,
      );
      expect(JSON.parse((await project.spool('status', change, '--json')).stdout)).toMatchObject({
        status: 'interrupted',
        leftovers: expect.arrayContaining([expect.any(Number)]),
      });

      expect(await project.spool('stop', change, ...flags)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          new RegExp(
            `^${change} is not running: its process died in iteration 1\\. Cleaned up \\d leftover processes\\. Resume with: spool ralph --change ${change}\\n$`,
          ),
        ),
      });
      expect(left()).toEqual([]);
      expect((await project.spool('status', change)).stdout).not.toContain('Left over');
      expect(await project.spool('stop', change, ...flags)).toMatchObject({ code: 2 });
    },
  );

  test('a run that does not respond is named, and handles the request later', async () => {
    const { project, loop } = await startWaiting([waitsFor('never')]);
    loop.kill('SIGSTOP');

    expect(await project.spool('stop', change, '--now')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /did not respond within 3s \(PID \d+, since .*The request stays pending until it responds/,
      ),
    });
    loop.kill('SIGCONT');

    expect(await loop.result).toMatchObject({ code: 143 });
  });

  test('a pause that another process takes back at once is not called unanswered', async () => {
    const project = createProject({ agent: [waitsFor('go-on'), promise] });
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    const { pid } = lockOf(project);
    // Both requests are there before the run looks.
    process.kill(pid, 'SIGSTOP');
    const pausing = project.start(['pause', '002-01']);
    await eventually(() => requestsIn(project).includes('pause'), 'the request');
    expect(requestControl({ root: project.folder }, change, 'resume', { env: project.env })).toBe('sent');
    process.kill(pid, 'SIGCONT');

    expect(await pausing.result).toMatchObject({
      code: 0,
      stdout: `${change} is not paused: another request has resumed it.\n`,
    });
    project.write('go-on', '');
    expect(await loop.result).toMatchObject({ code: 0 });
  });

  test('a change that does not exist, or has no run, gets one line', async () => {
    const project = createProject();

    expect(await project.spool('stop', '009')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^spool: No change "009".*\n$/),
    });
    expect(await project.spool('pause', change)).toMatchObject({
      code: 2,
      stderr: `spool: ${change} is not running.\n`,
    });
    expect(await project.spool('stop')).toMatchObject({
      code: 2,
      stderr: 'spool: Specify a change, or use --all. Nothing is running.\n',
    });
    expect(await project.spool('stop', change, '--all')).toMatchObject({ code: 2 });
    expect(await project.spool('stop', '--all')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Nothing is running.\n',
    });
  });

  test('a run whose change was deleted can be stopped', async () => {
    const { project, loop } = await startWaiting([`rm -r .spool/changes/*; ${waitsFor('never')}`]);

    expect(await project.spool('stop', '002-01', '--now')).toMatchObject({ code: 0 });
    expect(await loop.result).toMatchObject({ code: 143 });
  });
});

describe('a batch', () => {
  const [second, third] = ['002-02_second', '002-03_third'];
  const files = {
    [`.spool/changes/${second}/proposal.md`]: '# Second\n',
    [`.spool/changes/${third}/proposal.md`]: '# Third\n',
  };

  test('one run is paused while another continues, and --all stops them without starting those in the queue', async () => {
    const agent = [`until [ -e "$HOME/go-on" ]; do sleep 0.01; done; date +%N > work.txt; sleep 0.1`];
    const project = createProject({ files, agent });
    const loop = project.start(['ralph', '--module', '002', '--parallel', '2']);
    const hasPrompt = (call: number) => existsSync(join(project.home, `agent/call-${call}/prompt`));
    await eventually(() => hasPrompt(1) && hasPrompt(2), 'two agents');

    expect((await project.spool('pause', change)).stdout).toContain('pauses after iteration 1');
    project.write('../home/go-on', '');
    await loop.printed(`${change}: Paused.`);
    await eventually(() => project.history(second).length > 1, 'the other run to continue');
    expect(project.history(change)).toHaveLength(1);

    const stopped = await project.spool('stop', '--all');
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining(`${change} has stopped`) });
    expect(stopped.stdout).toContain(second);
    expect(await loop.result).toMatchObject({ code: 143 });
    expect(loop.output()).toMatch(new RegExp(`^${third} +not started`, 'm'));
  });

  test.each([
    ['one after the other', []],
    ['in parallel', ['--parallel', '2']],
  ])('a change in the queue is listed, and can be removed from it: %s', async (_, flags) => {
    const agent = [`echo 'waiting for go-on'; until [ -e "$HOME/go-on" ]; do sleep 0.01; done; ${promise}`];
    const project = createProject({ files, agent });
    const loop = project.start(['ralph', '--module', '002', ...flags]);
    const isWorking = () => existsSync(join(project.home, `agent/call-${flags.length === 0 ? 1 : 2}/prompt`));
    await eventually(isWorking, 'the agents');

    const rows = (await project.spool('status')).stdout.split('\n');
    expect(rows[1]).toMatch(new RegExp(`^running +002-0[12]`));
    expect(rows[3]).toMatch(new RegExp(`^queued +${third} .*in the queue of PID ${loop.pid}, since \\d\\d:\\d\\d$`));
    expect((await project.spool('list')).stdout).toMatch(new RegExp(`^${third} .* queued +- +-$`, 'm'));
    const listed = JSON.parse((await project.spool('status', '--json')).stdout) as object[];
    expect(listed[2]).toMatchObject({ change: third, status: 'queued', run: null, iteration: 0, endedAt: null });
    expect((await project.spool('status', third)).stdout).toMatch(
      new RegExp(
        `^· ${third}  Queued: in the queue of PID ${loop.pid}, since .*\\.\\n\\n  Remove      spool stop ${third}\\n$`,
      ),
    );
    expect(JSON.parse((await project.spool('status', third, '--json')).stdout)).toMatchObject({
      status: 'queued',
      queued: { pid: loop.pid, since: expect.any(String) },
      view: null,
    });
    for (const command of ['pause', 'resume'])
      expect(await project.spool(command, third)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          new RegExp(
            `^spool: ${third} has not started: it is in the queue of PID .*Remove it from the queue with: spool stop ${third}`,
          ),
        ),
      });

    expect(await project.spool('stop', '002-03')).toMatchObject({
      code: 0,
      stdout: `${third} was removed from the queue of PID ${loop.pid} and will not be started.\n`,
    });
    expect((await project.spool('status')).stdout).not.toContain(third);
    expect(await project.spool('stop', third)).toMatchObject({
      code: 2,
      stderr: `spool: ${third} is not running.\n`,
    });
    await loop.printed(`${third} was removed from the queue.`);
    project.write('../home/go-on', '');

    expect(await loop.result).toMatchObject({ code: 143 });
    expect(loop.output()).toMatch(new RegExp(`^${third} +not started .* removed from the queue$`, 'm'));
    expect(loop.output()).toMatch(new RegExp(`^${second} +complete`, 'm'));
    expect(existsSync(project.stateFile('', third))).toBe(false);
  });

  test('the results of an interrupted batch say why each change was not started', async () => {
    const project = createProject({ files, agent: [waitsFor('never')] });
    const loop = project.start(['ralph', '--module', '002']);
    await loop.printed('waiting for never');
    await project.spool('stop', third);
    loop.kill('SIGINT');

    expect(await loop.result).toMatchObject({ code: 130 });
    expect(loop.output()).toMatch(new RegExp(`^${second} +not started .* interrupted$`, 'm'));
    expect(loop.output()).toMatch(new RegExp(`^${third} +not started .* removed from the queue$`, 'm'));
  });

  test('a killed batch leaves no change in the queue', async () => {
    const project = createProject({ files, agent: [waitsFor('never'), promise] });
    const loop = project.start(['ralph', '--module', '002']);
    await loop.printed('waiting for never');
    expect((await project.spool('status')).stdout).toContain('queued');
    loop.kill('SIGKILL');
    await loop.result;

    expect((await project.spool('status')).stdout).not.toContain('queued');
    expect(await project.spool('stop', third)).toMatchObject({ code: 2 });
    expect(await project.spool('ralph', '--module', '002')).toMatchObject({ code: 0 });
    expect((await project.spool('status')).stdout).not.toContain('queued');
  });

  test.each([
    ['deletes the state folder', 'rm -rf .spool/.state'],
    [
      'puts something else in the place of the queue',
      `cd .spool/.state/ralph/${third}; rm queued; mkfifo queued; ln -s "$HOME/victim" removed; cd -`,
    ],
  ])('an agent that %s does not keep a batch from starting the next change', async (_, plant) => {
    const project = createProject({ files, agent: [`${plant}; ${promise}`, waitsFor('go-on'), promise] });
    writeFileSync(join(project.home, 'victim'), 'precious');
    const loop = project.start(['ralph', '--module', '002']);
    await loop.printed('waiting for go-on');

    expect(await project.spool('status')).toMatchObject({ code: 0, stdout: expect.stringContaining(second) });
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(loop.output()).toMatch(new RegExp(`^${third} +complete`, 'm'));
    expect(readFileSync(join(project.home, 'victim'), 'utf8')).toBe('precious');
  });

  test('pause --all also applies to runs that start later', async () => {
    const project = createProject({ files, agent: [`${waitsFor('go-on')}; ${promise}`] });
    const loop = project.start(['ralph', '--module', '002']);
    await loop.printed('waiting for go-on');

    await project.spool('pause', '--all');
    project.write('go-on', '');
    await loop.printed(`Paused. Resume with: spool resume ${second}`);
    expect(project.calls()).toHaveLength(1);
    await project.spool('resume', '--all');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(project.calls()).toHaveLength(3);
  });
});

describe('context that is added while an iteration runs', () => {
  test('a promise that was made without it is rejected, and the next iteration reads it', async () => {
    const { project, loop } = await startWaiting([`${waitsFor('go-on')}; ${promise}`, promise]);

    expect(await project.spool('ralph', '--add-context', 'Mind the tests.', '--change', change)).toMatchObject({
      code: 0,
      stdout: `Added to the context of ${change}. Iteration 2 will read it.\n`,
    });
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Promise rejected: context was added after the iteration started'),
    });
    expect(project.history()).toMatchObject([
      { completionFound: false, rejected: 'context was added after the iteration started', context: null },
      { completionFound: true, rejected: null, context: expect.any(String) },
    ]);
    expect(project.calls()[1]!.prompt).toContain('Mind the tests.');
    expect(project.calls()[1]!.prompt).toContain('was rejected: context was added');
  });

  test('an agent that had given up without it works on', async () => {
    const gaveUp = `echo '<promise>BLOCKED</promise>'; echo 'The key is missing.'`;
    const { project, loop } = await startWaiting([`${waitsFor('go-on')}; ${gaveUp}`, promise]);
    await project.spool('ralph', '--add-context', 'The key is in .env.', '--change', change);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(project.history()[0]).toMatchObject({
      blocked: null,
      rejected: expect.stringContaining('the agent had given up: The key is missing.'),
    });
  });

  test('context that is added during the checks counts as well', async () => {
    const project = createProject({ agent: [promise] });
    const verify = `[ -e checked ] || { echo checking; touch checked; ${waitsFor('go-on')}; }`;
    const loop = project.start([...run, '--verify', verify]);
    await eventually(() => project.exists('checked'), 'the checks');
    await project.spool('ralph', '--add-context', 'One more thing.', '--change', change);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([
      { completionFound: false, gate: { passed: true } },
      { completionFound: true },
    ]);
  });

  test('in the last iteration it ends the run at its limit, and the next run reads it', async () => {
    const { project, loop } = await startWaiting([`${waitsFor('go-on')}; ${promise}`], ['--max-iterations', '1']);

    expect((await project.spool('ralph', '--add-context', 'More.', '--change', change)).stdout).toBe(
      `Added to the context of ${change}. Iteration 1 is the last one of this run (--max-iterations), so the next run will read it.\n`,
    );
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 3 });
    expect(project.state()).toMatchObject({
      cause: 'max-iterations',
      detail: 'stopped at --max-iterations 1 before it was done: context was added after the iteration started',
    });
    expect((await project.spool('ralph', '--add-context', 'And more.', '--change', change)).stdout).toBe(
      `Added to the context of ${change}. The next run will read it.\n`,
    );
  });

  test('context that is cleared leaves nothing to read', async () => {
    const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
    await project.spool('ralph', '--add-context', 'Use tabs.', '--change', change);
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    await project.spool('ralph', '--add-context', 'Use spaces.', '--change', change);

    expect((await project.spool('ralph', '--clear-context', '--change', change)).stdout).toBe(
      `Cleared the context of ${change}. Iteration 1 is still running with it.\n`,
    );
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(project.history()).toHaveLength(1);
  });

  test('an agent that writes to context.txt does not get another iteration', async () => {
    const project = createProject({
      agent: [`echo 'Go on.' >> .spool/.state/ralph/${change}/context.txt; ${promise}`],
    });

    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history()).toHaveLength(1);
  });

  test('a paused or stopping run says which iteration reads it', async () => {
    const project = createProject({ agent: [waitsFor('go-on'), waitsFor('then')] });
    const add = async () => (await project.spool('ralph', '--add-context', 'More.', '--change', change)).stdout;
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    await project.spool('pause', change);
    project.write('go-on', '');
    await loop.printed('Paused.');
    expect(await add()).toContain('. Iteration 2 will read it.');
    await project.spool('resume', change);
    await loop.printed('waiting for then');

    await project.spool('stop', change);
    expect(await add()).toContain('The run stops after iteration 2, so the next run will read it.');
    project.write('then', '');

    expect(await loop.result).toMatchObject({ code: 143 });
    expect(project.calls()[1]!.prompt).toContain('More.');
  });
});

test('requests that an agent forges in thousands are announced once', async () => {
  const { project, loop } = await startWaiting([`echo ready; ${waitsFor('go-on')}`]);
  const line = `${JSON.stringify({ v: 1, to: lockOf(project).id, command: 'pause' })}\n`;
  appendFileSync(project.stateFile('control.jsonl'), line.repeat(5000));
  await loop.printed('Pause requested');
  project.write('go-on', '');
  await loop.printed('Paused.');
  await project.spool('stop', change);

  expect(await loop.result).toMatchObject({ code: 143 });
  expect((await typesOf(project)).filter((type) => type === 'requested')).toHaveLength(2);
});

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', '--change', change, '--retry-delay', '10ms'];
const tasks = `.spool/changes/${change}/tasks.md`;
const proposal = `.spool/changes/${change}/proposal.md`;

describe('--verify', () => {
  test('a promise counts only if every command passes, and the next prompt says why it did not', async () => {
    const project = createProject({ agent: [`echo half > work.txt; ${promise}`, `echo done > work.txt; ${promise}`] });

    const verify = [
      '--verify',
      'true',
      '--verify',
      'grep -q done work.txt || { echo "the work is $(cat work.txt)"; exit 3; }',
    ];
    const result = await project.spool(...run, ...verify);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('Complete: done and verified in iteration 2.');
    expect(result.stderr).toContain('  Checks      4 runs, 3 passed, 1 failed\n');
    expect(project.history()).toMatchObject([
      {
        completionFound: false,
        rejected: expect.stringMatching(/^"grep .* failed \(exit code 3, retried once\)$/),
        gate: {
          passed: false,
          runs: [{ outcome: 'passed' }, { outcome: 'failed', exitCode: 3, tail: 'the work is half' }],
        },
      },
      { completionFound: true, rejected: null, gate: { passed: true } },
    ]);
    const next = project.calls()[1]!.prompt;
    expect(next).toContain('You printed the promise, but it was rejected: "grep');
    expect(next).toContain('```\nthe work is half\n```');
  });

  test('commands run only after a promise, unless --verify-each is given', async () => {
    const project = createProject({ agent: [says('Still at it.')] });
    const verify = [...run, '--max-iterations', '2', '--verify', 'echo x >> "$HOME/ran"; false'];

    expect(await project.spool(...verify)).toMatchObject({ code: 3 });
    expect(project.history()).toMatchObject([{ gate: null }, { gate: null }]);

    expect(await project.spool(...verify, '--verify-each')).toMatchObject({ code: 3 });
    expect(project.history().slice(2)).toMatchObject([
      { gate: { passed: false, runs: [{ outcome: 'failed' }] }, rejected: null, error: null },
      { gate: { passed: false } },
    ]);
    expect(project.calls().at(-1)!.prompt).toContain('a state that does not pass the checks:');
  });

  test('a command that fails and then passes is flaky: it counts, and the history says so', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool(
      ...run,
      '--verify',
      '[ -e "$HOME/second" ] || { touch "$HOME/second"; echo red; exit 1; }',
    );

    expect(result).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([{ gate: { passed: true, runs: [{ outcome: 'flaky', tail: 'red' }] } }]);
  });

  test('a command that hangs is terminated with all its processes, and fails', async () => {
    const project = createProject({ agent: [promise] });

    const hang = 'setsid sh -c "sleep 300" & sleep 300';
    const limits = ['--verify-timeout', '300ms', '--stop-grace', '300ms', '--max-iterations', '1'];
    const result = await project.spool(...run, ...limits, '--verify', hang);

    expect(result).toMatchObject({ code: 3 });
    expect(project.history()).toMatchObject([{ rejected: expect.stringContaining('timed out (retried once)') }]);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  describe.each<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGKILL'])('a gate interrupted by %s', (signal) => {
    const gate = 'touch "$HOME/running"; [ -e "$HOME/go" ] || sleep 300';
    const cutOff = async (options: { agent: string[]; flags: string[] }) => {
      const project = createProject({ agent: options.agent });
      const loop = project.start([...run, '--verify', gate, ...options.flags]);
      await eventually(() => existsSync(join(project.home, 'running')), 'the gate to run');
      loop.kill(signal);
      await loop.result;
      return project;
    };

    test('runs again without another agent, and the promise counts', async () => {
      const project = await cutOff({ agent: [`echo x > work.txt; ${promise}`], flags: ['--max-iterations', '1'] });
      expect(project.history()).toEqual([]);
      const status = await project.spool('ralph', '--status', '--change', change);
      expect(status.stdout).toMatch(/Interrupted: .* during the checks/);
      expect(status.stdout).toContain('iteration 1 (0/1 finished)');

      // The user may have edited files since. The gate checks the current ones.
      project.write('../home/go', '');
      project.write(`.spool/changes/${change}/proposal.md`, '# Add the loop\n\nAnd a word more.\n');
      const resumed = await project.spool(...run);

      expect(resumed).toMatchObject({ code: 0 });
      expect(resumed.stderr).toContain('Running the gate of iteration 1 again');
      expect(resumed.stderr).toMatch(/^ {2}Changed +\d+ files? \+\d+ -\d+/m);
      expect(project.calls()).toHaveLength(1);
      expect(project.history()).toMatchObject([
        {
          iteration: 1,
          completionFound: true,
          git: { files: ['work.txt'] },
          commit: expect.any(String),
          checkpoint: expect.any(String),
          gate: { passed: true, runs: [{ outcome: 'passed' }] },
        },
      ]);
      expect(project.state()).toMatchObject({ status: 'complete', finishedIterations: 1, iteration: 1, pending: null });
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    });

    test('does not count a promise with another word', async () => {
      const project = await cutOff({ agent: [promise, says('<promise>DONE</promise>')], flags: [] });

      project.write('../home/go', '');
      const resumed = await project.spool(...run, '--completion-promise', 'DONE');

      expect(resumed).toMatchObject({ code: 0 });
      const why = 'the completion promise was "COMPLETE" then, and is "DONE" now';
      expect(resumed.stderr).toContain(`The promise of iteration 1 does not count: ${why}`);
      expect(project.calls()).toHaveLength(2);
      expect(project.history()).toMatchObject([
        { iteration: 1, completionFound: false, rejected: why },
        { iteration: 2, completionFound: true },
      ]);
    });

    test('rejects the promise if it then fails, and the next iteration starts', async () => {
      const agent = [`echo x > work.txt; ${promise}`, `echo y > more.txt; ${promise}`];
      const project = await cutOff({ agent, flags: [] });

      const resumed = await project.spool(...run, '--verify', 'test -e more.txt');

      expect(resumed).toMatchObject({ code: 0 });
      expect(project.calls()).toHaveLength(2);
      expect(project.calls()[1]!.prompt).toContain(
        'it was rejected: "test -e more.txt" failed (exit code 1, retried once)',
      );
      expect(project.history()).toMatchObject([
        { iteration: 1, completionFound: false, git: { files: ['work.txt'] } },
        { iteration: 2, completionFound: true, git: { files: ['more.txt'] } },
      ]);
      const refs = project.git('for-each-ref', '--format=%(refname:lstrip=-1)', 'refs/spool').split('\n');
      expect(refs).toEqual(['0', '1', '2']);
    });
  });

  test('a gate interrupted twice runs a third time, and --fresh discards it', async () => {
    const project = createProject({ agent: [promise] });
    const verify = ['--verify', 'touch "$HOME/running"; [ -e "$HOME/go" ] || sleep 300'];
    for (let time = 0; time < 2; time++) {
      rmSync(join(project.home, 'running'), { force: true });
      const loop = project.start([...run, ...verify]);
      await eventually(() => existsSync(join(project.home, 'running')), 'the gate to run');
      loop.kill('SIGINT');
      expect(await loop.result).toMatchObject({
        code: 130,
        stderr: expect.stringContaining('resuming runs them again'),
      });
    }
    const logs = `.spool/.state/ralph/${change}/runs/${project.state().run}/0001.verify-1.log`;
    expect([logs, `${logs}.1`].map(project.exists)).toEqual([true, true]);
    project.write('../home/go', '');

    expect(await project.spool(...run, '--fresh', ...verify)).toMatchObject({ code: 0 });
    expect(project.calls()).toHaveLength(2);
    expect(project.history()).toMatchObject([{ iteration: 1, completionFound: true }]);
  });

  test('commands can be set in the config file, for all changes or for one', async () => {
    const config = { verify: ['exit 1'], changes: { [change]: { verify: ['true', 'test -e work.txt'] } } };
    const project = createProject({
      agent: [`touch work.txt; ${promise}`],
      files: { '.spool/config.json': JSON.stringify(config) },
    });

    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history()[0]!.gate!.runs.map(({ command }) => command)).toEqual(['true', 'test -e work.txt']);

    expect(await project.spool(...run, '--max-iterations', '1', '--verify', 'exit 7')).toMatchObject({ code: 3 });
    expect(project.history()[1]).toMatchObject({ gate: { runs: [{ command: 'exit 7', exitCode: 7 }] } });
  });

  test('output of a command is truncated in the history and the prompt, and complete in a log', async () => {
    const project = createProject({ agent: [promise] });

    await project.spool(...run, '--max-iterations', '2', '--verify', 'seq 1 100000; exit 1');

    const [first] = project.history();
    expect(first!.gate!.runs[0]!.tail.length).toBeLessThanOrEqual(4000);
    expect(first!.gate!.runs[0]!.tail).toMatch(/99999\n100000$/);
    expect(project.calls()[1]!.prompt.length).toBeLessThan(10_000);
    const log = project.read(`.spool/.state/ralph/${change}/runs/${first!.run}/0001.verify-1.log`);
    expect(log.split('\n')).toHaveLength(100_001);
  });
});

test('a gate that deletes the state folder does not end the run', async () => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...run, '--verify', 'rm -rf .spool/.state');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain('The state folder was deleted');
  expect(project.history()).toMatchObject([{ completionFound: true }]);
});

test('a gate cannot exceed the time limit of the run', async () => {
  const project = createProject({ agent: [promise] });

  expect(
    await project.spool(...run, '--max-duration', '2s', '--verify', 'sleep 60', '--stop-grace', '100ms'),
  ).toMatchObject({ code: 3 });
  expect(project.state()).toMatchObject({ cause: 'max-duration' });
  expect(project.history()[0]!.durationMs).toBeLessThan(2000);
});

describe('--require-tasks', () => {
  test('a promise does not count while a task is open', async () => {
    const project = createProject({
      files: { [tasks]: '- [ ] one\n- [ ] two\n' },
      agent: [`sed -i '1s/ ]/x]/' ${tasks}; ${promise}`, `sed -i '2s/ ]/x]/' ${tasks}; ${promise}`],
    });

    const result = await project.spool(...run, '--require-tasks');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('  Tasks       2/2 done\n');
    expect(project.history()).toMatchObject([
      { rejected: '1 open task: "two"', gate: { openTasks: ['two'], runs: [] } },
      { completionFound: true },
    ]);
  });
});

describe('an agent that changes the goal', () => {
  const once = [...run, '--max-iterations', '1', '--require-tasks', '--verify', 'sh ./check.sh'];
  const files = { [tasks]: '- [ ] one\n- [ ] two\n', 'check.sh': 'exit 0\n' };

  test.each([
    ['deletes a task', `echo '- [x] one' > ${tasks}`, 'the task "two" was deleted or reworded instead of ticked'],
    ['rewords a task', `printf -- '- [x] one\\n- [x] too\\n' > ${tasks}`, 'the task "two" was deleted or reworded'],
    ['deletes all tasks', `rm ${tasks}`, 'the task "one" was deleted or reworded instead of ticked; the task "two"'],
    [
      'changes the proposal',
      `echo less >> ${proposal}; sed -i 's/ ]/x]/' ${tasks}`,
      `${proposal} was changed while the agent was running`,
    ],
    [
      'changes the gate',
      `echo 'exit 0 # ok' > check.sh; sed -i 's/ ]/x]/' ${tasks}`,
      'check.sh was changed while the agent was running',
    ],
    [
      'replaces the proposal with a folder',
      `rm ${proposal}; mkdir ${proposal}; sed -i 's/ ]/x]/' ${tasks}`,
      `${proposal} was changed while the agent was running`,
    ],
    ['deletes the gate', `rm check.sh; sed -i 's/ ]/x]/' ${tasks}`, 'check.sh was deleted while the agent was running'],
  ])('%s', async (_, trick, reason) => {
    const project = createProject({ files, agent: [`${trick}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 3 });

    expect(project.history()).toMatchObject([{ completionFound: false, gate: { passed: false, runs: [] } }]);
    expect(project.history()[0]!.rejected).toContain(reason);
  });

  test.each([
    ['ticks its tasks and adds one', `sed -i 's/ ]/x]/' ${tasks}; echo '- [x] three' >> ${tasks}`],
    ['adds a note to a task', `printf -- '- [x] one (see a.ts)\\n- [X] two\\n' > ${tasks}`],
  ])('is not an agent that %s', async (_, work) => {
    const project = createProject({ files, agent: [`${work}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 0 });
  });

  test('has to restore it, even from an earlier iteration, unless --allow-tampering is given', async () => {
    const script = [
      `sed -i 's/ ]/x]/' ${tasks}; echo less > ${proposal}`,
      promise,
      `git checkout -q HEAD~1 -- ${proposal}; ${promise}`,
    ];
    const project = createProject({ files, agent: script });
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([
      { rejected: null },
      { rejected: `${proposal} was changed while the agent was running` },
      { completionFound: true },
    ]);

    const lenient = createProject({ files, agent: [`echo less > ${proposal}; ${promise}`] });
    expect(await lenient.spool(...run, '--allow-tampering')).toMatchObject({ code: 0 });
  });

  test('is not the user who edits it between two iterations', async () => {
    const script = [`touch ready; until [ -e go ]; do sleep 0.01; done; exit 1`, promise];
    const project = createProject({ files, agent: script });
    const loop = project.start([...run, '--retry-delay', '2s']);
    await eventually(() => project.exists('ready'), 'the first iteration');
    project.write('go', '');
    await loop.printed('Resuming');
    project.write(proposal, '# Another goal\n');
    project.write(tasks, '- [ ] three\n');

    expect(await loop.result).toMatchObject({ code: 0 });
  });

  test('is detected even if Spool was killed during the iteration', async () => {
    const script = [`echo less > ${proposal}; touch ready; sleep 300`, promise];
    const project = createProject({ agent: script });
    const loop = project.start(run);
    await eventually(() => project.exists('ready'), 'the agent to work');
    loop.kill('SIGKILL');
    await loop.result;

    expect(await project.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 3 });
    expect(project.history()).toMatchObject([{ rejected: `${proposal} was changed while the agent was running` }]);
  });
});

test('the suggested command keeps the gate, and the new run still rejects the changed goal', async () => {
  const project = createProject({
    files: { [tasks]: '- [ ] one\n- [ ] two\n' },
    agent: [`echo '- [x] one' > ${tasks}; ${promise}`, promise],
  });

  const first = await project.spool(...run, '--max-iterations', '1', '--verify', "test 'a' = a", '--no-commit');
  expect(first).toMatchObject({ code: 3 });
  expect(first.stderr).toContain(`  Try again   spool ralph ${change} --resume\n`);
  const second = await project.spool('ralph', change, '--resume');
  expect(second).toMatchObject({ code: 3 });
  expect(project.history()[1]!.rejected).toContain('the task "two" was deleted or reworded');
  expect(await project.spool(...run, '--max-iterations', '1', '--fresh')).toMatchObject({ code: 0 });
});

test.each([
  ['a cd before it', 'cd checks && sh run.sh', 'checks/run.sh'],
  ['a quoted name with a space', 'sh "my check.sh"', 'my check.sh'],
  ['a variable', 'sh $PWD/check.sh', 'check.sh'],
  ['a glob pattern', 'for f in checks/*.sh; do sh $f; done', 'checks/run.sh'],
])('a file that a gate names with %s is guarded', async (_, command, file) => {
  const project = createProject({
    files: { [file]: 'exit 0\n' },
    agent: [`echo 'exit 0 # ok' > '${file}'; ${promise}`],
  });

  expect(await project.spool(...run, '--max-iterations', '1', '--verify', command)).toMatchObject({ code: 3 });
  expect(project.history()[0]!.rejected).toContain(`${file} was changed while the agent was running`);
});

test('settings for a change match a prefix of its id, and an unknown id is an error', async () => {
  const config = (id: string) => JSON.stringify({ verify: 'false', changes: { [id]: { verify: [] } } });
  const project = createProject({ agent: [promise], files: { '.spool/config.json': config('002-01') } });
  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  project.write('.spool/config.json', config('009-01'));
  expect(await project.spool(...run)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"changes.009-01" is not a change'),
  });
});

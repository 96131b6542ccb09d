import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root } from '../support/project.ts';

const run = ['ralph', '--change', change, '--retry-delay', '1ms'];

/** An OpenCode step with this usage. */
const uses = (input: number, cost: number) =>
  says(JSON.stringify({ type: 'step_finish', part: { reason: 'stop', cost, tokens: { input, output: 0 } } }));

test('the header of a run lists its limits', async () => {
  const project = createProject({ agent: [promise] });

  const flags = [
    '--max-duration',
    '8h',
    '--until',
    '07:00',
    '--max-cost',
    '20',
    '--max-tokens',
    '2m',
    '--verify',
    'true',
  ];
  const { stderr } = await project.spool(...run, ...flags);

  expect(stderr).toContain('  Done     when it prints <promise>COMPLETE</promise> and "true" passes\n');
  expect(stderr.replace(' tomorrow at 07:00', ' at 07:00')).toContain(
    '  Stops    after 50 iterations · at 07:00 · after 8h of running time · at $20 · at 2,000,000 tokens\n',
  );
});

test.each([
  ['--max-cost', '1', uses(10, 0.4), 3, '--max-cost 1 reached: $1.20 spent'],
  ['--max-tokens', '1k', uses(600, 0), 2, '--max-tokens 1000 reached: 1200 used'],
  ['--max-duration', '1ms', says('Hi.'), 0, '--max-duration reached'],
])('%s %s', async (flag, value, agent, iterations, detail) => {
  const project = createProject({ agent: [agent] });

  const result = await project.spool(...run, flag, value);

  expect(result).toMatchObject({ code: 3 });
  expect(result.stderr).toContain(`Not complete: ${detail}`);
  expect(project.history()).toHaveLength(iterations);
  expect(project.state()).toMatchObject({ status: 'limit', cause: flag.slice(2), detail });
});

/** Scripted agents under these names, each with its script. */
const withAgents = (agents: Record<string, string>, config?: object) => {
  const files = config ? { '.spool/config.json': JSON.stringify(config) } : {};
  const project = createProject({ agent: [promise], files });
  for (const [name, script] of Object.entries(agents)) {
    project.write(`../bin/${name}`, `#!/bin/sh\ncat > /dev/null\n${script}\n`);
    chmodSync(project.path(`../bin/${name}`), 0o755);
  }
  return { project, env: { PATH: `${project.path('../bin')}:${project.env.PATH}` } };
};

describe('a limit that cannot be enforced', () => {
  const own = { harnesses: { mine: { command: 'mine' } } };

  test.each([
    ['amp', '--max-cost', 'Amp reports no cost. Use --max-duration or --max-iterations instead'],
    ['amp', '--max-tokens', 'Amp reports no tokens. Use --max-duration or --max-iterations instead'],
    ['codex', '--max-cost', 'Codex reports no cost. Use --max-tokens or --max-duration instead'],
    ['mine', '--max-tokens', 'mine reports no tokens. Use --max-duration or --max-iterations instead'],
    ['codex,amp', '--max-cost', 'Codex and Amp report no cost. Use --max-duration or --max-iterations instead'],
  ])('is an error if no agent reports the value: %s with %s', async (harness, flag, why) => {
    const { project, env } = withAgents({ amp: promise, codex: promise, mine: promise }, own);

    const result = await project.start([...run, '--harness', harness, flag, '5'], { env }).result;

    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toBe(`spool: ${flag} cannot be enforced: ${why} ("${flag} unlimited" removes the limit).\n`);
    expect(project.exists('.spool/.state')).toBe(false);
  });

  test.each([['--agent-mode', 'cold'], ['--sandbox']])(
    'is an error for an agent that reports the value only in another mode: Copilot with %s',
    async (...flags) => {
      const { project, env } = withAgents({ copilot: promise });
      const start = (...more: string[]) =>
        project.start([...run, '--harness', 'copilot', '--max-tokens', '1k', ...more], {
          env: { ...env, SPOOL_AGENT_MODE: '' },
        }).result;

      const refused = await start(...flags);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('--max-tokens cannot be enforced: Copilot reports no tokens.');
    },
  );

  test.runIf(process.platform === 'linux')('is enforced for Copilot in its default mode', async () => {
    const { project, env } = withAgents({ copilot: promise });
    const args = [...run, '--harness', 'copilot', '--max-tokens', '1k'];

    const { stderr } = await project.start(args, { env: { ...env, SPOOL_AGENT_MODE: '' } }).result;

    expect(stderr).toMatch(/^ {2}Stops .* · at 1,000 tokens$/m);
    expect(stderr).not.toContain('reports no tokens');
  });

  test('is an error in the config file, and a flag removes it', async () => {
    const { project, env } = withAgents({ codex: promise }, { maxCost: 5 });
    const args = [...run, '--harness', 'codex'];

    expect(await project.start(args, { env }).result).toMatchObject({ code: 2 });
    expect(await project.start([...args, '--max-cost', 'unlimited'], { env }).result).toMatchObject({ code: 0 });
  });

  test('is shown with the agents it does not apply to', async () => {
    const { project, env } = withAgents({ codex: promise });

    const args = [...run, '--harness', 'opencode,codex', '--max-cost', '5', '--max-tokens', '1m'];
    const { code, stderr } = await project.start(args, { env }).result;

    expect(code).toBe(0);
    expect(stderr).toMatch(/^--max-cost is not enforced for Codex: it reports no cost\.$/m);
    expect(stderr).toMatch(/^ {2}Stops .* · at \$5 \(not for Codex\) · at 1,000,000 tokens$/m);
    expect(stderr).not.toContain('--max-tokens is not enforced');
  });

  test('is an error for a resumed run', async () => {
    const { project, env } = withAgents({ codex: promise });
    const agent = project.path('../bin/opencode');
    project.write('../bin/opencode', '#!/bin/sh\nkill -INT $PPID; sleep 5\n');
    chmodSync(agent, 0o755);
    expect(await project.start([...run, '--max-cost', '5'], { env }).result).toMatchObject({ code: 130 });

    const again = await project.start([...run, '--harness', 'codex'], { env }).result;

    expect(again).toMatchObject({ code: 2 });
    expect(again.stderr).toContain('--max-cost cannot be enforced: Codex reports no cost.');
  });

  test('is reported once if an agent does not report a value that it should', async () => {
    const project = createProject({ agent: ['exit 1', says('Hm.'), says('Hm.'), promise] });

    const { code, stderr } = await project.spool(...run, '--max-cost', '5', '--max-tokens', '1m');

    expect(code).toBe(0);
    const notices = stderr.split('\n').filter((line) => line.includes('cannot be checked'));
    expect(notices).toEqual([
      'OpenCode reported no cost for iteration 2, so --max-cost cannot be checked.',
      'OpenCode reported no tokens for iteration 2, so --max-tokens cannot be checked.',
    ]);
  });

  test('is reported if an agent reports a cost of 0 with tokens', async () => {
    const step = { type: 'step_finish', part: { reason: 'stop', cost: 0, tokens: { input: 10, output: 5 } } };
    const project = createProject({ agent: [`echo '${JSON.stringify(step)}'`, promise] });

    const { stderr } = await project.spool(...run, '--max-cost', '5', '--max-iterations', '1');

    expect(stderr).toContain('OpenCode reported no cost for iteration 1, so --max-cost cannot be checked.');
  });

  test('is not reported if the value is present', async () => {
    const project = createProject({ agent: [`${uses(1, 0.1)}; ${says('Hm.')}`, promise] });

    const { stderr } = await project.spool(...run, '--max-cost', '5', '--max-iterations', '1');

    expect(stderr).not.toContain('cannot be checked');
  });
});

test('--max-cost ends an iteration once it is reached', async () => {
  const project = createProject({ agent: [`${uses(1, 3)}; ${uses(1, 3)}; sleep 300; ${promise}`] });

  const result = await project.spool(...run, '--max-cost', '5');

  expect(result).toMatchObject({ code: 3 });
  expect(project.history()).toMatchObject([
    { end: 'out-of-budget', completionFound: false, error: { kind: 'budget' }, usage: { costUsd: 6 } },
  ]);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

test('an agent that exceeds its time or idle limit is terminated, and the next iteration starts', async () => {
  const silent = createProject({ agent: ['echo hi; sleep 300', promise] });
  expect(await silent.spool(...run, '--idle-timeout', '300ms')).toMatchObject({ code: 0 });
  expect(silent.history()).toMatchObject([
    { end: 'timed-out', error: { kind: 'timeout', message: expect.stringContaining('--idle-timeout') } },
    { completionFound: true },
  ]);
  expect(silent.calls()[1]!.prompt).toContain('It failed: the agent was stopped: no output for --idle-timeout');

  const endless = createProject({ agent: ['while :; do echo hi; sleep 0.05; done', promise] });
  expect(await endless.spool(...run, '--iteration-timeout', '500ms', '--idle-timeout', '400ms')).toMatchObject({
    code: 0,
  });
  expect(endless.history()).toMatchObject([
    { end: 'timed-out', error: { message: expect.stringContaining('--iteration-timeout') } },
    { completionFound: true },
  ]);
});

test('time in which the machine is suspended does not count as idle time', async () => {
  const project = createProject({ agent: [`touch ready; sleep 1; echo hi; ${promise}`] });
  const loop = project.start([...run, '--idle-timeout', '2s']);
  await eventually(() => project.exists('ready'), 'the agent');
  loop.kill('SIGSTOP');
  const stopped = performance.now();
  await eventually(() => performance.now() - stopped > 3000, 'three seconds to pass');
  loop.kill('SIGCONT');

  expect(await loop.result).toMatchObject({ code: 0 });
});

test('time in which the machine is suspended does not count towards --max-duration', async () => {
  const offset = 'offset';
  const project = createProject({ agent: [`echo 7200000 > "$HOME/${offset}"`, promise] });
  writeFileSync(join(project.home, offset), '0');
  const env = {
    NODE_OPTIONS: `--import ${join(root, 'test/fixtures/clock.mjs')}`,
    CLOCK_OFFSET: join(project.home, offset),
    CLOCK_IS_SUSPENDED: '1',
  };

  const { code, stderr } = await project.start([...run, '--max-duration', '1h'], { env }).result;
  expect(code, stderr).toBe(0);
  expect(project.history()).toHaveLength(2);
  expect(project.state().elapsedMs).toBeLessThan(3_600_000);
});

test('--max-duration ends the current iteration and the run', async () => {
  const project = createProject({ agent: ['while :; do echo hi; sleep 0.05; done'] });

  expect(await project.spool(...run, '--max-duration', '3s')).toMatchObject({ code: 3 });
  expect(project.history()).toMatchObject([{ end: 'out-of-budget' }]);
  expect(project.state()).toMatchObject({ cause: 'max-duration' });
});

test('--max-failures stops the run after failures in a row', async () => {
  const project = createProject({ agent: ['exit 1', says('Good.'), 'echo "it broke" >&2; exit 2'] });

  const result = await project.spool(...run, '--max-failures', '3');

  expect(result).toMatchObject({ code: 1 });
  expect(result.stderr).toContain(
    'Failed: 3 iterations in a row failed (--max-failures): the agent exited with code 2: it broke.',
  );
  expect(project.history()).toHaveLength(5);
  expect(project.calls().at(-1)!.prompt).toContain('The same error occurred 2 times in a row.');
});

test('--max-stalled stops the run after iterations in a row without changes', async () => {
  const project = createProject({ agent: [says('Hm.'), 'date +%N > work.txt', says('Hm.')] });

  const result = await project.spool(...run, '--max-stalled', '3');

  expect(result).toMatchObject({ code: 4 });
  expect(result.stderr).toContain('Blocked: 3 iterations in a row changed nothing (--max-stalled).');
  expect(project.history()).toHaveLength(5);
  expect(project.calls().at(-1)!.prompt).toContain('The last 2 iterations changed no files.');
});

test('a resumed run keeps its limits and what it has used', async () => {
  const script = [uses(10, 2), `${uses(10, 2)}; touch ready; sleep 300`, uses(10, 2)];
  const project = createProject({ agent: script });
  const loop = project.start([
    ...run,
    '--max-cost',
    '7',
    '--max-iterations',
    '20',
    '--max-stalled',
    '5',
    '--verify',
    'true',
  ]);
  await eventually(() => project.exists('ready'), 'the second iteration');
  loop.kill('SIGKILL');
  await loop.result;

  const result = await project.spool(...run);

  expect(result.stderr).toMatch(/^ {2}Stops .*after 20 iterations.*at \$7.*after 5 iterations in a row without/m);
  expect(result.stderr).toContain('"true" passes');
  expect(result.stderr).toContain('Not complete: --max-cost 7 reached: $8.00 spent.');
  expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4]);
  expect(project.state()).toMatchObject({ usage: { costUsd: 8 } });
});

describe('an agent that gives up', () => {
  test('stops the loop with exit code 4, and the reason is printed, stored and passed to --notify', async () => {
    const project = createProject({
      agent: ["printf '%s\\n' 'I tried.' '<promise>STUCK</promise>' 'The API key is missing.'"],
    });

    const tell = [
      '--notify',
      'echo "$SPOOL_CHANGE $SPOOL_STATUS $SPOOL_CAUSE: $SPOOL_DETAIL" > notified; cat > notified.json',
    ];
    const result = await project.spool(...run, '--blocked-promise', 'STUCK', ...tell);

    expect(result).toMatchObject({ code: 4 });
    const detail = 'the agent gave up: The API key is missing.';
    expect(result.stderr).toContain(`Blocked: ${detail}`);
    expect(result.stderr).toContain(`--add-context`);
    expect(project.calls()[0]!.prompt).toContain('<promise>STUCK</promise>');
    expect(project.history()).toMatchObject([{ blocked: 'The API key is missing.' }]);
    expect(project.state()).toMatchObject({ status: 'blocked', cause: 'blocked-promise', detail });
    expect(project.read('notified')).toBe(`${change} blocked blocked-promise: ${detail}\n`);
    expect(JSON.parse(project.read('notified.json'))).toMatchObject({ status: 'blocked', finishedIterations: 1 });
    expect((await project.spool('ralph', '--status', '--change', change)).stdout).toContain(
      `${change}  Blocked: ${detail}`,
    );
  });

  test('a failing --notify command is reported and changes nothing', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool(...run, '--notify', 'exit 9');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toMatch(/^spool: the --notify command failed \(exit code 9\); see .*notify\.log$/m);
  });
});

test('--json prints one event per line and the reason for the end in the last', async () => {
  const project = createProject({ agent: [`${uses(10, 1)}; ${says('Hi.')}`, promise] });

  const result = await project.spool(...run, '--json');

  expect(result).toMatchObject({ code: 0, stderr: '' });
  const events = result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(events[0]).toMatchObject({ type: 'run-started', plan: { change } });
  expect(events.filter(({ type }) => type === 'iteration-finished')).toHaveLength(2);
  expect(events.at(-1)).toMatchObject({
    type: 'run-ended',
    reason: 'complete',
    cause: 'promise',
    view: { finishedIterations: 2 },
  });

  const status = await project.spool('ralph', '--status', '--change', change, '--json');
  expect(JSON.parse(status.stdout)).toMatchObject({
    status: 'complete',
    view: { cause: 'promise' },
    iterations: [{}, {}],
  });
});

test('--until terminates a running agent', async () => {
  const project = createProject({ agent: ['touch ready; while :; do echo hi; sleep 0.05; done'] });
  const offset = join(project.home, 'offset');
  writeFileSync(offset, '0');
  const clock = { NODE_OPTIONS: `--import ${join(root, 'test/fixtures/clock.mjs')}`, CLOCK_OFFSET: offset };
  const soon = new Date(Date.now() + 3_600_000).toISOString().slice(11, 16);
  const loop = project.start([...run, '--until', soon], { env: clock });
  await eventually(() => project.exists('ready'), 'the agent to work');
  writeFileSync(offset, '3700000');

  expect(await loop.result).toMatchObject({ code: 3 });
  expect(project.history()).toMatchObject([{ end: 'out-of-budget', error: { kind: 'budget' } }]);
  expect(project.state()).toMatchObject({ cause: 'until' });
});

test('a run killed right after its last record does not start again', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run);
  writeFileSync(
    project.stateFile('state.json'),
    JSON.stringify({ ...project.state(), status: 'running', cause: null, finishedIterations: 0 }),
  );

  const again = await project.spool(...run);

  expect(again).toMatchObject({ code: 0 });
  expect(again.stderr).toContain('Complete: done in iteration 1.');
  expect(project.calls()).toHaveLength(1);
  expect(project.state()).toMatchObject({ status: 'complete', finishedIterations: 1 });
});

test('a resumed run keeps --no-commit, --fail-fast and its iteration limit', async () => {
  const script = ['echo $$ > work.txt; kill -INT $PPID; sleep 5', 'echo $$ > work.txt; exit 1'];
  const project = createProject({ agent: script });
  expect(await project.spool(...run, '--no-commit', '--fail-fast', '--max-iterations', '2')).toMatchObject({
    code: 130,
  });

  expect(await project.spool(...run)).toMatchObject({ code: 1 });
  expect(project.git('log', '--format=%s')).toBe('start');

  const last = createProject({ agent: script });
  expect(await last.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 130 });
  expect(await last.spool(...run)).toMatchObject({ code: 3, stdout: '' });
  expect(last.calls()).toHaveLength(1);
});

test.each([
  ['--max-iterations', '1', `it has used 1 iteration (--max-iterations 1)`, '2'],
  ['--max-cost', '1.5', `it has spent $2.00 (--max-cost 1.5)`, '4'],
  ['--max-tokens', '10', `it has used 20 tokens (--max-tokens 10)`, '30'],
])(
  'a run that was stopped when it reached %s is not resumed without a higher limit',
  async (flag, limit, why, higher) => {
    const project = createProject({ agent: [`${waitsFor('go-on')}; ${uses(20, 2)}`, promise] });
    const loop = project.start([...run, flag, limit]);
    await loop.printed('waiting for go-on');
    await project.spool('stop', change);
    project.write('go-on', '');
    expect(await loop.result).toMatchObject({ code: 143 });
    const before = readFileSync(project.stateFile('state.json'), 'utf8');
    const raised = `spool ralph --change ${change} ${flag} ${higher}`;

    expect(loop.output()).toContain(`  Resume      ${raised}\n`);
    for (const command of [run, [...run, '--resume'], ['resume', change]])
      expect(await project.spool(...command)).toEqual({
        code: 3,
        signal: null,
        stdout: '',
        stderr: `spool: ${change} was not resumed: ${why}. Raise the limit: ${raised} (or start over with --fresh)\n`,
      });
    expect(readFileSync(project.stateFile('state.json'), 'utf8')).toBe(before);
    expect(project.calls()).toHaveLength(1);

    expect(await project.spool(...run, flag, higher)).toMatchObject({ code: 0 });
    expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 2]);
  },
);

test('--notify runs for a run that ends with an error', async () => {
  const project = createProject({
    agent: [`rm -rf .spool/.state/ralph/${change}; touch .spool/.state/ralph/${change}`],
  });

  const result = await project.spool(...run, '--notify', 'echo "$SPOOL_STATUS" > notified');

  expect(result.code).toBe(1);
  expect(result.stderr).toMatch(/^spool: /m);
  expect(project.read('notified')).toBe('failed\n');
});

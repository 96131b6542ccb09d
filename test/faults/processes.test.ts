import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { killProcessesWith, processesWith } from '../support/processes.ts';
import { change, createProject, spoolProgram, startProcess } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];
const works = 'while :; do echo x >> work.txt; sleep 0.05; done';
const alive = (project: { home: string }) => processesWith(`HOME=${project.home}`);

describe('a stopped loop leaves no process running', () => {
  const agents = {
    'a plain agent': works,
    'an agent with a child in the background': `sh -c '${works}' & ${works}`,
    'an agent whose tool has a new session': `setsid sh -c '${works}' & wait`,
    'an agent that ignores every polite signal': `trap '' INT TERM HUP; ${works}`,
  };
  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const;

  test.each(signals.flatMap(([signal, code]) => Object.keys(agents).map((agent) => ({ signal, code, agent }))))(
    '$signal to $agent',
    async ({ signal, code, agent }) => {
      const project = createProject({ agent: [agents[agent as keyof typeof agents]] });
      const loop = project.start([...run, '--stop-grace', '1h']);
      await eventually(() => project.exists('work.txt'), 'the agent to work');

      loop.kill(signal);
      // A process that ignores the first signal is killed by the second, without the grace period of an hour.
      if (agent.includes('ignores')) {
        await loop.printed('Ctrl-C again to force quit');
        loop.kill(signal);
      }

      expect(await loop.result).toMatchObject({ code });
      expect(alive(project)).toEqual([]);
      expect(project.history()).toMatchObject([{ iteration: 1, end: 'interrupted', completionFound: false }]);
      expect(project.state()).toMatchObject({ status: 'interrupted', detail: `stopped by ${signal}` });
    },
  );

  test('an agent that ignores a signal is killed after its grace period', async () => {
    const project = createProject({ agent: [`trap '' TERM; ${works}`] });
    const loop = project.start([...run, '--stop-grace', '100ms']);
    await eventually(() => project.exists('work.txt'), 'the agent to work');

    loop.kill('SIGTERM');

    expect(await loop.result).toMatchObject({ code: 143 });
    expect(alive(project)).toEqual([]);
  });
});

test('a background child that keeps stdout open does not block the loop, and is terminated', async () => {
  const project = createProject({ agent: [`(setsid sh -c '${works}' &) ; ${promise}`] });

  const result = await project.spool(...run);

  expect(result).toMatchObject({ code: 0 });
  expect(alive(project)).toEqual([]);
});

test('a detached daemon that keeps writing to the pipe does not block the loop', async () => {
  const project = createProject({
    agent: [`env -i PATH="$PATH" MARK=${'$HOME'} setsid sh -c 'while :; do echo; sleep 0.05; done' & ${promise}`],
  });

  const result = await project.spool(...run);

  expect(result.code).toBe(0);
  killProcessesWith(`MARK=${project.home}`);
});

test.each([
  ['announced', 'When all is done I will print <promise>COMPLETE</promise>', 'it was in the middle of a sentence'],
  ['denied', 'I am not done, so I do not print <promise>COMPLETE</promise>', 'it was in the middle of a sentence'],
  ['followed by an emoji code', '<promise>COMPLETE</promise> :tada:', 'there was more text after it on its line'],
  [
    'followed by more text',
    '<promise>COMPLETE</promise>\n\nRemaining TODO: task two',
    'the agent had more to say after it (if its CLI printed that, set "trailer" for the harness)',
  ],
  [
    'announced on the line before',
    'Next: fix the tests, then output\n<promise>COMPLETE</promise>',
    'it was announced, not stated',
  ],
  [
    'in lower case',
    '<promise>complete</promise>',
    'it must read <promise>COMPLETE</promise>, not <promise>complete</promise>',
  ],
  ['quoted', 'I print `<promise>COMPLETE</promise>`', 'it was quoted as code'],
])('a promise that is %s does not count, and the next prompt says why', async (_, words, why) => {
  const project = createProject({ agent: [says(words), promise] });

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(project.history()).toMatchObject([
    { completionFound: false, evidence: null, rejected: why, error: null },
    { completionFound: true, evidence: '<promise>COMPLETE</promise>' },
  ]);
  expect(project.calls()[1]!.prompt).toContain(`You printed the promise, but it was rejected: ${why}.`);
});

test('the last output of an agent is not lost if the reader starts late', async () => {
  const project = createProject({ agent: [`yes 'line of output' | head -c 3000000; ${promise}`] });
  const reader = `until [ -e go-on ]; do sleep 0.01; done; wc -c`;
  const command = `"${process.execPath}" "${spoolProgram}" ralph --change ${change} | (${reader})`;

  const loop = startProcess('sh', ['-c', command], { cwd: project.folder, env: project.env });
  await loop.printed('Iteration 1/50');
  const logged = () => statSync(project.stateFile(`runs/${project.state().run}/0001.log`), { throwIfNoEntry: false });
  await eventually(() => (logged()?.size ?? 0) > 32_768, 'the agent to write');
  project.write('go-on', '');

  expect(Number((await loop.result).stdout)).toBe(3_000_000 + '<promise>COMPLETE</promise>\n'.length);
  expect(project.history()).toMatchObject([{ completionFound: true }]);
});

test('processes of other runs are not terminated', async () => {
  const project = createProject({ agent: [promise] });
  const other = createProject({ agent: [works] });
  const loop = other.start(run);
  await eventually(() => other.exists('work.txt'), 'the other agent to work');

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(alive(other).length).toBeGreaterThan(0);
  loop.kill('SIGINT');
  await loop.result;
});

test('an agent that was killed has failed, even with a promise', async () => {
  const project = createProject({ agent: [`${promise}; kill -9 $$`] });

  const result = await project.spool(...run, '--max-iterations', '1');

  expect(result.code).toBe(3);
  expect(project.history()).toMatchObject([
    {
      end: 'killed',
      exitCode: null,
      signal: 'SIGKILL',
      completionFound: false,
      rejected: 'the agent was killed by SIGKILL',
    },
  ]);
});

test('a promise with a failing exit code is rejected, and the next prompt says so', async () => {
  const project = createProject({ agent: [`${promise}; exit 1`, promise] });

  const result = await project.spool(...run, '--retry-delay', '1ms');

  expect(result.code).toBe(0);
  expect(project.history()).toMatchObject([
    { completionFound: false, rejected: 'the agent exited with code 1' },
    { completionFound: true, rejected: null },
  ]);
  expect(project.calls()[1]!.prompt).toContain('You printed the promise, but it was rejected');
});

test('an agent that only repeats its prompt is not complete', async () => {
  const project = createProject({ agent: ['cat "$call/prompt"'] });

  const result = await project.spool(
    'ralph',
    'When all is done, print\n<promise>COMPLETE</promise>\nand stop.',
    '--change',
    change,
    '--max-iterations',
    '1',
  );

  expect(result.code).toBe(3);
  expect(result.stdout).toContain('\n<promise>COMPLETE</promise>\n');
});

test('a promise on stderr does not count', async () => {
  const project = createProject({ agent: [`${promise} >&2`] });

  expect(await project.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 3 });
});

test('an agent that cannot be started ends the run with exit code 1', async () => {
  const project = createProject({ files: { '../bin/opencode': '#!/no/such/interpreter\n' } });
  chmodSync(project.path('../bin/opencode'), 0o755);

  const result = await project.start(run, { env: { PATH: `${project.path('../bin')}:${project.env.PATH}` } }).result;

  expect(result.code).toBe(1);
  expect(result.stderr).toMatch(
    /^\S+ Iteration 1: Failed: the agent could not be started: .*opencode: the interpreter in its first line was not found/m,
  );
  expect(project.history()).toMatchObject([{ end: 'not-started', exitCode: null, error: { kind: 'start' } }]);
});

test('an agent that exits without reading a long prompt causes no error', async () => {
  const project = createProject({
    files: { 'long.md': 'word '.repeat(400_000), '../bin/opencode': '#!/bin/sh\necho "<promise>COMPLETE</promise>"\n' },
  });
  chmodSync(project.path('../bin/opencode'), 0o755);

  const result = await project.start(['ralph', '--prompt-file', 'long.md', '--change', change], {
    env: { PATH: `${project.path('../bin')}:${project.env.PATH}` },
  }).result;

  expect(result.code).toBe(0);
});

test('binary output, a very long line and 100 MB of lines reach the log, and the promise after them counts', async () => {
  const project = createProject({
    agent: [
      `head -c 1000000 /dev/urandom; echo; head -c 30000000 /dev/zero | tr '\\0' x; echo; yes 'line of output' | head -c 100000000; echo; ${promise}`,
    ],
  });

  const result = await project.spool(...run, '--no-stream', '--no-commit');

  expect(result.code).toBe(0);
  const { run: id } = project.state();
  const log = readFileSync(project.stateFile(`runs/${id}/0001.log`));
  expect(log.length).toBe(131_000_000 + '\n\n\n<promise>COMPLETE</promise>\n'.length);
});

test('Spool exits on a signal even if its output is not read', async () => {
  const project = createProject({ agent: ['touch ready; yes "a line of output" | head -c 5000000; sleep 300'] });
  const child = spawn(process.execPath, [spoolProgram, ...run], {
    cwd: project.folder,
    env: project.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await eventually(() => project.exists('ready'), 'the agent to work');
  child.kill('SIGTERM');

  const ended = (await once(child, 'exit')) as [number | null, string | null];
  expect([
    [143, null],
    [null, 'SIGTERM'],
  ]).toContainEqual(ended);
  expect(alive(project)).toEqual([]);
  expect(project.state()).toMatchObject({ status: 'interrupted', finishedIterations: 1 });
});

test('Spool exits on a signal while an agent does not answer --version', async () => {
  const project = createProject({
    files: { '../bin/opencode': '#!/bin/sh\n[ "$1" = --version ] && touch asked && sleep 300\n' },
  });
  chmodSync(project.path('../bin/opencode'), 0o755);
  const loop = project.start([...run, '--allow-all'], {
    env: { PATH: `${project.path('../bin')}:${project.env.PATH}` },
  });
  await eventually(() => project.exists('asked'), 'the question');
  loop.kill('SIGINT');

  expect(await loop.result).toMatchObject({ code: 130 });
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

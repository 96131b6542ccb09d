import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, root } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change, '--retry-delay', '5ms'];

/** OpenCode at its usage limit. */
const limited = (message: string) =>
  `${says(JSON.stringify({ type: 'error', error: { name: 'APIError', data: { message, statusCode: 429 } } }))}; exit 1`;

test('a usage limit causes a wait until it resets, and does not count as an iteration', async () => {
  const project = createProject({
    agent: [`touch half.txt; ${limited('usage limit reached, try again in 1s')}`, promise],
  });

  const result = await project.spool(...run, '--max-iterations', '1', '--fail-fast');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr.match(/^.*usage limit.*$/gim)).toEqual([
    expect.stringMatching(/^Usage limit reached, try again in 1s \(HTTP 429\)\. Resuming in [\d.]+m?s\.$/),
  ]);
  expect(project.history()).toMatchObject([
    {
      iteration: 1,
      completionFound: true,
      deferred: [{ error: { kind: 'rate-limit' }, git: { files: ['half.txt'] } }],
    },
  ]);
});

test('on a terminal a usage limit is announced in one line, and the status line counts down', async () => {
  const project = createProject({ agent: [limited('Too many requests, try again in 90s'), promise] });
  const terminal = openTerminal(project, run, { columns: 100 });
  const text = () => terminal.lines().map((line) => line.text);
  await eventually(() => text().some((line) => /^ Resuming in 1m \d+s$/.test(line)), 'the countdown');

  expect(text().filter((line) => /429|limit/i.test(line))).toEqual([
    expect.stringMatching(
      /^Usage limit reached: Too many requests, .* \(HTTP 429\)\. Resuming (?:tomorrow )?at \d\d:\d\d\.$/,
    ),
  ]);
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
});

test('a usage limit after which the agent continues is shown as its error', async () => {
  const limit = says(
    JSON.stringify({ type: 'error', error: { name: 'APIError', data: { message: 'rate limit', statusCode: 429 } } }),
  );
  const text = says(JSON.stringify({ type: 'text', part: { text: 'Going on.' } }));
  const project = createProject({ agent: [`${limit}; ${text}; ${promise}`] });

  const { stderr, stdout } = await project.spool(...run, '--max-wait', '1ms');

  expect(stdout).toContain('Going on.');
  expect(stderr).toContain('  ! rate limit (HTTP 429)\n');
});

test('without a reset time, waits grow up to --max-wait', async () => {
  const project = createProject({ agent: [limited('Too many requests')] });

  const result = await project.spool(...run, '--max-wait', '1s');

  expect(result).toMatchObject({ code: 3 });
  expect(result.stderr).toContain('Not complete: opencode is not available within --max-wait: Too many requests');
  expect(project.state()).toMatchObject({ status: 'limit', cause: 'max-wait', finishedIterations: 1 });
  expect(project.history()).toMatchObject([{ iteration: 1, error: { kind: 'rate-limit' } }]);
  expect(project.calls().length).toBeGreaterThan(2);
});

test('a limit that resets after --max-wait is not waited for', async () => {
  const project = createProject({ agent: [limited('usage limit reached, try again in 3 days')] });

  expect(await project.spool(...run)).toMatchObject({ code: 3 });
  expect(project.calls()).toHaveLength(1);
});

test.each(['SIGINT', 'SIGKILL'] as const)('a wait interrupted by %s continues after a restart', async (signal) => {
  const message = 'usage limit reached, try again in 1 hour';
  const project = createProject({ agent: [limited(message), promise] });
  const loop = project.start(run);
  await loop.printed('Resuming ');
  await eventually(() => project.state().waiting !== null, 'the wait to be on disk');
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toMatch(
    new RegExp(`waiting until .*: usage limit of opencode: ${message}`),
  );
  loop.kill(signal);
  await loop.result;
  const { cooldowns } = project.state();

  const offset = join(project.home, 'offset');
  writeFileSync(offset, '0');
  const clock = { NODE_OPTIONS: `--import ${join(root, 'test/fixtures/clock.mjs')}`, CLOCK_OFFSET: offset };
  const again = project.start(run, { env: clock });
  await again.printed(`usage limit of opencode: ${message}`);
  expect(project.calls()).toHaveLength(1);
  writeFileSync(offset, String(2 * 3_600_000));

  const { code, stderr } = await again.result;
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(new RegExp(`^Resuming .*: usage limit of opencode: ${message}`, 'm'));
  expect(project.history()).toMatchObject([{ iteration: 1, deferred: [{ error: { kind: 'rate-limit' } }] }]);
  expect(Date.parse(project.history()[0]!.startedAt)).toBeGreaterThanOrEqual(cooldowns.opencode!);
});

test('a deferred attempt is in the history and counted once, however the wait ends', async () => {
  const step = says(
    JSON.stringify({ type: 'step_finish', part: { reason: 'stop', cost: 1, tokens: { input: 100, output: 0 } } }),
  );
  const agent = [`${step}; touch half.txt; ${limited('usage limit reached, try again in 1 hour')}`];

  const waited = createProject({ agent });
  expect(await waited.spool(...run, '--max-wait', '1m')).toMatchObject({ code: 3 });
  const timed = createProject({ agent });
  expect(await timed.spool(...run, '--max-duration', '5s')).toMatchObject({ code: 3 });

  for (const project of [waited, timed]) {
    expect(project.history()).toMatchObject([{ iteration: 1, usage: { costUsd: 1 }, git: { files: ['half.txt'] } }]);
    expect(project.state()).toMatchObject({
      finishedIterations: 1,
      usage: { costUsd: 1, inputTokens: 100 },
      deferred: [],
    });
  }
});

test('waits grow if the limit repeats', async () => {
  const project = createProject({ agent: [limited('rate limit, retry after 0.01s')] });

  await project.spool('ralph', '--change', change, '--retry-delay', '0s', '--max-wait', '3s');

  expect(project.calls().length).toBeLessThan(8);
});

test('a failing test named "Too Many Requests" is not a usage limit of the agent', async () => {
  const output = ['FAIL  src/api.test.ts', '  ✗ answers 429 Too Many Requests', 'Error: Too Many Requests'];
  const project = createProject({ agent: [`${output.map(says).join('; ')}; exit 1`] });

  const result = await project.spool(...run, '--max-failures', '2');

  expect(result).toMatchObject({ code: 1 });
  expect(project.history()).toMatchObject([{ error: { kind: 'crash' } }, { error: { kind: 'crash' } }]);
});

test('a usage limit in plain output causes a wait', async () => {
  const limit = 'Usage limit reached, try again in 1s';
  const project = createProject({ agent: [`${says(limit)}; exit 1`, promise] });

  expect(await project.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 0 });
  expect(project.history()).toMatchObject([{ deferred: [{ error: { kind: 'rate-limit' } }] }]);
});

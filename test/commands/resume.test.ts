import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change, '--retry-delay', '10ms'];
const interrupted = 'kill -INT $PPID; sleep 5';
const config = '.spool/config.json';

test('the end of a run with --allow-all says that its permissions are not reused', async () => {
  const project = createProject({ agent: ['true', interrupted, 'true'] });
  const note = '(with --allow-all again: permissions are not reused)';
  const limited = await project.spool(...run, '--allow-all', '--max-iterations', '1');
  expect(limited.stderr).toMatch(/Try again {3}spool ralph \S+ --resume\n +\(with --allow-all again/);
  const stopped = await project.spool(...run, '--allow-all');
  expect(stopped.stderr).toMatch(/Resume {6}spool ralph --change \S+\n +\(with --allow-all again/);
  expect((await project.spool(...run, '--max-iterations', '3')).stderr).not.toContain(note);
});

describe('a config file that has changed since the run started', () => {
  test('is used, and every changed setting is printed', async () => {
    const project = createProject({
      files: { [config]: JSON.stringify({ verify: ['false'], maxIterations: 9 }) },
      agent: [interrupted, promise],
    });
    expect(await project.spool(...run)).toMatchObject({ code: 130 });

    project.write(config, JSON.stringify({ maxIterations: 12, changes: { '002': { verify: 'true' } } }));
    project.trust();
    const resumed = await project.spool(...run);

    expect(resumed).toMatchObject({ code: 0 });
    expect(resumed.stderr).toContain(
      '.spool/config.json has changed since this run began: maxIterations is now 12 (was 9), verify is now "true" (was "false").\n',
    );
    expect(project.calls()[1]!.prompt).toContain('Progress: iteration 2 / 12');
    expect(project.history()[1]).toMatchObject({ gate: { runs: [{ command: 'true', outcome: 'passed' }] } });
  });

  test('does not override flags or variables of any call of the run', async () => {
    const project = createProject({ agent: [interrupted, interrupted, promise] });
    await project.start([...run, '--verify', 'true', '--model', 'a/b'], { env: { SPOOL_MAX_ITERATIONS: '7' } }).result;

    project.write(config, JSON.stringify({ verify: 'false', maxIterations: 3, model: 'c/d', minIterations: 2 }));
    const second = await project.spool(...run, '--min-iterations', '1');
    const third = await project.spool(...run);

    expect(second.stderr).not.toContain('has changed');
    expect(third.stderr).not.toContain('has changed');
    expect(third).toMatchObject({ code: 0 });
    const [, , last] = project.calls();
    expect(last!.prompt).toContain('Progress: iteration 3 / 7 (min: 1)');
    expect(last!.args).toContain('--model=a/b');
    expect(project.history()[2]).toMatchObject({ gate: { runs: [{ command: 'true' }] } });
  });

  test('does not override an explicit model if it names another agent', async () => {
    const project = createProject({ agent: [interrupted, promise] });
    await project.spool(...run, '--model', 'a/b');

    project.write(config, JSON.stringify({ harness: 'opencode:x/y,opencode' }));
    await project.spool(...run);

    expect(project.state().agents).toEqual([
      { harness: 'opencode', model: 'x/y' },
      { harness: 'opencode', model: 'a/b' },
    ]);
  });

  test('changes nothing if its meaning is the same or the run did not record its settings', async () => {
    const project = createProject({
      files: { [config]: JSON.stringify({ maxIterations: 'unlimited', verify: ['true'] }) },
      agent: [interrupted, interrupted, promise],
    });
    await project.spool(...run);
    project.write(config, JSON.stringify({ verify: 'true', maxIterations: 'unlimited' }));
    expect((await project.spool(...run)).stderr).not.toContain('has changed');

    project.startedLike((view) => ({ ...view, settings: undefined }));
    project.write(config, JSON.stringify({ verify: 'false' }));
    const resumed = await project.spool(...run);
    expect(resumed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('has changed') });
  });
});

describe('an --until that has passed when a run is resumed', () => {
  /** Twelve hours from now. */
  const later = `${(new Date().getUTCHours() + 12) % 24}:30`;
  const yesterday = (): number => {
    const at = new Date();
    return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() - 1, 7, 0);
  };
  const interruptedAt = async (untilMs: number): Promise<TestProject> => {
    const project = createProject({ agent: [says('one'), interrupted, promise] });
    await project.spool(...run, '--until', later);
    project.startedLike((view) => ({ ...view, limits: { ...view.limits, untilMs } }));
    return project;
  };

  test('is an error in non-interactive mode, and nothing is lost', async () => {
    const project = await interruptedAt(yesterday());
    const before = readFileSync(project.stateFile('state.json'), 'utf8');

    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: `spool: --until 07:00 (yesterday) has passed. Resume with a new time: spool ralph --change ${change} --until 07:00 (or --until none)\n`,
    });
    expect(readFileSync(project.stateFile('state.json'), 'utf8')).toBe(before);
    expect(project.calls()).toHaveLength(2);

    expect(await project.spool(...run, '--until', 'none')).toMatchObject({ code: 0 });
    expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
    expect(project.state().limits.untilMs).toBe(null);
  });

  test('is ignored with a new --until or --fresh', async () => {
    for (const flags of [['--until', later], ['--fresh']]) {
      const project = await interruptedAt(yesterday());
      expect(await project.spool(...run, ...flags)).toMatchObject({ code: 0 });
    }
  });

  test.each([
    ['a time', `${later}\r`, /:30:00\.000Z$/],
    ['nothing', '\r', null],
  ])('asks for a new one on a terminal: %s', async (_, keys, until) => {
    const project = await interruptedAt(yesterday());
    const terminal = openTerminal(project, run);
    await terminal.shows('--until 07:00 (yesterday) has passed.');
    terminal.type(keys);

    expect(await terminal.exitCode).toBe(0);
    const { untilMs } = project.state().limits;
    if (until === null) expect(untilMs).toBe(null);
    else expect(new Date(untilMs!).toISOString()).toMatch(until);
    expect(project.history()).toHaveLength(3);
  });

  test('asks again after an invalid answer, and can be cancelled', async () => {
    const project = await interruptedAt(Date.UTC(2026, 0, 2, 3, 4));
    const terminal = openTerminal(project, run);
    await terminal.shows('03:04 (2026-01-02)');
    terminal.type('late\r');
    await terminal.shows('must be a time of day such as 07:00, or "none"');
    terminal.type('\u0003');

    expect(await terminal.exitCode).toBe(130);
    expect(terminal.screen()).toContain('Cancelled: no time was given. Nothing was started.');
    expect(project.calls()).toHaveLength(2);
  });
});

test('commands that are kept from the last run do not name variables that are not set', async () => {
  const project = createProject({ agent: ['exit 0'] });
  const limited = ['ralph', '--change', change, '--max-iterations'];
  const flags = ['--verify', 'true', '--notify', 'exit 0', '--json'];
  await project.spool(...limited, '1', ...flags);
  const resumed = await project.spool(...limited, '2', '--resume');
  const withVariable = await project.start([...limited, '3', '--resume'], { env: { SPOOL_VERIFY: 'exit 0' } }).result;
  const origins = (await project.spool('logs', change, '--json')).stdout;

  expect(resumed.stderr).toContain('and "true" passes (the last run)');
  expect(resumed.stderr).toMatch(/^ {2}Notify {3}exit 0 \(the last run\)$/m);
  expect(resumed.stderr).not.toContain('SPOOL_');
  expect(withVariable.stderr).toContain('and "exit 0" passes (SPOOL_VERIFY)');
  expect(origins).toContain('"source":"the last run","setBy":"last run"');
});

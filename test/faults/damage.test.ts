import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { projectToDamage, readsWrongHistory, readsWrongState } from '../support/wrong-values.ts';

const run = ['ralph', '--change', change];
const interrupted = 'kill -INT $PPID; sleep 5';
const name = `.spool/.state/ralph/${change}/state.json`;

const damages: Record<string, (whole: Buffer) => Buffer | null> = {
  torn: (whole) => whole.subarray(0, whole.length / 2),
  empty: () => Buffer.alloc(0),
  'random bytes': () => Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7919) % 256)),
  'other JSON': () => Buffer.from('{"v":1,"run":"x"}'),
  'JSON whose version is not a number': (whole) => Buffer.from(whole.toString().replace('"v": 2', '"v": "2"')),
  'a folder': () => null,
};

const damage = (project: TestProject, how: keyof typeof damages): Buffer | null => {
  const file = project.stateFile('state.json');
  const damaged = damages[how]!(readFileSync(file));
  rmSync(file);
  if (damaged === null) mkdirSync(file);
  else writeFileSync(file, damaged);
  return damaged;
};

describe.each(Object.keys(damages))('a state.json that is %s', (how) => {
  test('is rebuilt from the history: in memory by queries, on disk by the next run, and the damaged file is kept', async () => {
    const project = createProject({ agent: [says('one'), interrupted, `touch done; ${promise}`] });
    await project.spool(...run, 'Mind the gap.', '--max-iterations', '7', '--verify', 'test -e done');
    const before = project.state();
    const damaged = damage(project, how);
    const said = `${name} is damaged; rebuilt from the history (2 iterations).`;

    for (const [args, answer] of [
      [['ralph', '--status', '--change', change], '2/7 iterations'],
      [['list'], 'interrupted  2'],
      [['show', change], 'interrupted, iteration 2'],
    ] as const)
      expect(await project.spool(...args)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(answer),
        stderr: `${said}\n`,
      });
    expect(existsSync(project.stateFile('state.json.damaged-1'))).toBe(false);

    const resumed = await project.spool(...run);
    expect(resumed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${said} The damaged file is saved as state.json.damaged-1.\n`),
    });
    expect(resumed.stderr).toContain('Resuming at iteration 3');
    const aside = project.stateFile('state.json.damaged-1');
    if (damaged === null) expect(statSync(aside).isDirectory()).toBe(true);
    else expect(readFileSync(aside).equals(damaged)).toBe(true);
    expect(project.calls()[2]!.prompt).toContain('Progress: iteration 3 / 7');
    expect(project.calls()[2]!.prompt).toContain('Mind the gap.');
    expect(project.history().map(({ run: id, iteration }) => [id, iteration])).toEqual(
      [1, 2, 3].map((iteration) => [before.run, iteration]),
    );
    expect(project.history()[2]).toMatchObject({ gate: { runs: [{ command: 'test -e done', outcome: 'passed' }] } });
    expect(project.state()).toMatchObject({ status: 'complete', startedAt: before.startedAt, finishedIterations: 3 });
  });
});

describe('a damaged state.json', () => {
  test('of a complete run is rebuilt as complete', async () => {
    const project = createProject({ agent: [promise] });
    await project.spool(...run);
    damage(project, 'torn');

    expect((await project.spool(...run, '--status')).stdout).toContain(`${change}  Complete: done in iteration 1`);
    expect(await project.spool(...run)).toMatchObject({ code: 0, stderr: expect.stringContaining('damaged-1') });
    expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 1]);
    damage(project, 'empty');
    await project.spool(...run);
    expect(existsSync(project.stateFile('state.json.damaged-2'))).toBe(true);
  });

  test('of a run with unknown settings is shown, and the next run is a new one', async () => {
    const project = createProject({ agent: [says('one'), interrupted, promise] });
    await project.spool(...run);
    const { run: first } = project.state();
    rmSync(project.stateFile(`runs/${first}/start.json`));
    damage(project, 'torn');

    const status = await project.spool(...run, '--status');
    expect(status.stdout).toContain(`${change}  Interrupted: `);
    expect(status.stdout).toContain('2 iterations');
    expect(status.stderr).toContain('but its settings are not known: the next start is a new run.');
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 2, 1]);
    expect(project.state().run).not.toBe(first);
  });

  test('without a history is kept, and the next run is a new one', async () => {
    const project = createProject({ agent: [promise] });
    project.write(name, 'not json');
    const said = `${name} is damaged, and no iteration of its run is in the history: the next start is a new run.`;

    expect(await project.spool(...run, '--status')).toMatchObject({ code: 0, stderr: `${said}\n` });
    expect(await project.spool(...run)).toMatchObject({ code: 0, stderr: expect.stringContaining(said) });
    expect(project.read(`${name}.damaged-1`)).toBe('not json');
    expect(project.state()).toMatchObject({ status: 'complete' });
  });

  test('of a run killed before its first record does not show the previous run as the last one', async () => {
    const project = createProject({ agent: [promise, `kill -KILL $PPID; sleep 5`, promise] });
    await project.spool(...run);
    await project.spool(...run);
    damage(project, 'torn');

    const status = await project.spool(...run, '--status');
    expect(status.stdout).toContain('iteration 1 (0/50 finished)');
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 1]);
  });

  test('does not change the branch and gate of a landing', async () => {
    const project = createProject({ agent: [`echo x > work.txt; ${promise}`] });
    await project.spool(...run, '--worktree', '--branch', 'topic', '--verify', 'touch "$HOME/verified"');
    rmSync(join(project.home, 'verified'));
    damage(project, 'torn');

    const landed = await project.spool('land', change);
    expect(landed).toMatchObject({ code: 0, stderr: expect.stringContaining('rebuilt from the history') });
    expect(project.read('work.txt')).toBe('x\n');
    expect(existsSync(join(project.home, 'verified'))).toBe(true);
  });
});

describe('a value of the wrong type', () => {
  // test/trials/properties.trial.ts tries every value at every position.
  test('anywhere in state.json does not crash Spool', async () => {
    expect(await readsWrongState(2)).toBeGreaterThan(100);
  });

  test('anywhere in a line of the history does not crash Spool', async () => {
    expect(await readsWrongHistory(2)).toBeGreaterThan(100);
  });

  test.each([
    ['state.json', 'usage', 'x'],
    ['state.json', 'usage', []],
    ['state.json', 'limits', { untilMs: 1e300 }],
    ['state.json', 'waiting', { untilMs: 1e300, why: 'x' }],
    ['state.json', 'agents', []],
    ['state.json', 'run', '../../x'],
    ['state.json', 'pending', { v: 2 }],
    ['history.jsonl', 'git', { filesChanged: 1, files: 5, changes: 5 }],
    ['history.jsonl', 'usage', 'x'],
    ['history.jsonl', 'deferred', [5]],
  ])('in %s (%s: %j) neither crashes Spool nor ends the run', async (file, field, value) => {
    const { project, state, history } = await projectToDamage();
    const { settings } = project.state();
    const { pending: __, ...before } = { ...state, settings, waiting: null, cooldowns: {}, deferred: [] };
    const line = { ...(JSON.parse(history.split('\n')[1]!) as object), [field]: value };
    if (file === 'history.jsonl') writeFileSync(project.stateFile(file), `${JSON.stringify(line)}\n`);
    const now = file === 'state.json' ? { ...before, [field]: value } : before;
    writeFileSync(project.stateFile('state.json'), JSON.stringify(now));

    for (const args of [[...run, '--status'], [...run, '--status', '--json'], ['list'], ['show', change], run])
      expect(await project.spool(...args)).toMatchObject({ code: 0 });
    expect(readdirSync(project.path('.spool/.state/ralph'))).toEqual([change]);
  });
});

test('five thousand files in one iteration result in a small record with their number', async () => {
  const project = createProject({ agent: [`seq 5000 | sed 's/^/part-/' | xargs touch; ${promise}`] });

  const result = await project.spool(...run);

  expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('5000 files +') });
  expect(result.stderr).toContain('Changed     5000 files +0 -0');
  expect(statSync(project.stateFile('history.jsonl')).size).toBeLessThan(40_000);
  expect(project.history()).toMatchObject([{ git: { filesChanged: 5000, filesLeftOut: 4800 } }]);
  expect(project.git('show', '--name-only', '--format=', 'HEAD').split('\n')).toHaveLength(5000);
});

import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canComeFrom, flagNames } from '../../src/config/flags.ts';
import { promise } from '../support/agents.ts';
import { change, createProject, spoolProgram, type TestProject } from '../support/project.ts';

const file = '.spool/config.json';
const run = ['ralph', '--change', change];

const withConfig = (text: string | null, more: Parameters<typeof createProject>[0] = {}) =>
  createProject({ untrusted: true, ...more, files: { [file]: text, ...more.files } });

const set = (project: TestProject, ...words: string[]) => project.spool('config', 'set', ...words);

describe('spool config set', () => {
  test.each<[string, string, unknown]>([
    ['maxIterations', '20', 20],
    ['maxIterations', 'unlimited', 'unlimited'],
    ['maxCost', '2.50', 2.5],
    ['maxDuration', '8h', '8h'],
    ['sandbox', 'true', true],
    ['model', '4', '4'],
    ['verify', 'npm test', 'npm test'],
    ['verify', '["npm test", "npm run lint"]', ['npm test', 'npm run lint']],
    ['verify', '[ -e x ] && true', '[ -e x ] && true'],
    ['worktreeSetup', 'npm ci', 'npm ci'],
  ])('writes %s %s', async (key, value, written) => {
    const project = withConfig(null);

    expect(await set(project, key, value)).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(project.read(file))).toEqual({ [key]: written });
  });

  test.each<[string, string, object]>([
    ['worktree.setup', 'npm ci', { worktree: { setup: 'npm ci' } }],
    ['env.pass', 'CI, AWS_*', { env: { pass: ['CI', 'AWS_*'] } }],
    ['harnesses.mine', '{"command":"true"}', { harnesses: { mine: { command: 'true' } } }],
  ])('writes %s', async (key, value, written) => {
    const project = withConfig('{}\n');

    expect(await set(project, key, value)).toMatchObject({ code: 0 });
    expect(JSON.parse(project.read(file))).toEqual(written);
  });

  test.each([
    [
      'two spaces, lists on one line',
      '{\n  "$schema": "x",\n  "verify": ["a", "b"],\n  "model": "m"\n}\n',
      '{\n  "$schema": "x",\n  "verify": ["a", "b"],\n  "model": "n",\n  "maxCost": 5\n}\n',
    ],
    [
      'a single line',
      '\uFEFF{\r\n\t"verify": [\r\n\t\t"a"\r\n\t],\r\n\t"model": "m"\r\n}',
      '\uFEFF{\r\n\t"verify": [\r\n\t\t"a"\r\n\t],\r\n\t"model": "n",\r\n\t"maxCost": 5\r\n}',
    ],
    ['one line', '{"model": "m"}\n', '{"model": "n", "maxCost": 5}\n'],
    ['nothing', '{}\n', '{\n  "model": "n",\n  "maxCost": 5\n}\n'],
  ])('keeps other keys, their order and the formatting of the file: %s', async (_, before, after) => {
    const project = withConfig(before);
    await set(project, 'model', 'n');
    await set(project, 'maxCost', '5');
    expect(project.read(file)).toBe(after);
  });

  test.each([
    [['maxIterations', 'many'], '"maxIterations" must be a positive whole number or "unlimited", not "many"'],
    [['sandbox', 'maybe'], '"sandbox" must be true or false, not "maybe"'],
    [['maxIteration', '3'], 'unknown key "maxIteration" (did you mean "maxIterations"?)'],
    [['agent', 'claude'], 'unknown key "agent" (did you mean "harness"?)'],
    [['notify', 'dekstop'], '"notify" must be a command, desktop, bell'],
    [['allowAll', 'true'], '"allowAll" cannot be set in this file; pass --allow-all to each run'],
    [['verify', '["npm test"'], 'verify must be a JSON list'],
    [['minIterations', '60'], '--min-iterations 60 is greater than --max-iterations 50'],
    [['iterationTimeout', '0s'], '"iterationTimeout" must be a duration above zero'],
    [['harness', 'nobody'], 'nobody'],
    [['harness', 'opencode:--auto'], '"harness" must be a list of names'],
    [['env.pass', 'A B'], '"env.pass" must be a list of variable names'],
    [['env.block', 'A'], '"env" must be an object with "pass"'],
    [['harnesses.mine', 'true'], 'harnesses.mine must be a JSON object such as {"command": "my-agent"}'],
    [['harnesses.mine', '{"comand":"true"}'], 'comand'],
    [['__proto__', '{}'], 'unknown key "__proto__"'],
    [['verify', ' '], '"verify" must be a command or a list of commands'],
    [['verify', 'true', '--change', '009'], 'No change "009"'],
  ])('rejects %j with one line and writes nothing', async (words, problem) => {
    const project = withConfig('{"model":"m"}');
    const result = await set(project, ...words);
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(problem) });
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(project.read(file)).toBe('{"model":"m"}');
  });

  test('leaves a damaged or linked file unchanged', async () => {
    const project = withConfig('{"model":');
    expect(await set(project, 'model', 'n')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not valid JSON'),
    });
    expect(project.read(file)).toBe('{"model":');

    const other = withConfig(null);
    const victim = join(other.home, 'victim.json');
    writeFileSync(victim, '{}');
    symlinkSync(victim, other.path(file));
    expect(await set(other, 'model', 'n')).toMatchObject({ code: 2, stderr: expect.stringContaining('symbolic link') });
    expect(other.read(file)).toBe('{}');
  });

  test('sets a value for one change, in the existing section of that change', async () => {
    const project = withConfig('{"model":"m","changes":{"002-01":{"maxCost":5}}}');

    expect(await set(project, 'verify', 'true', '--change', '002-01')).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(project.read(file))).toEqual({
      model: 'm',
      changes: { '002-01': { maxCost: 5, verify: 'true' } },
    });

    const shadowed = await set(project, 'verify', 'exit 0', '--change', change);
    expect(shadowed).toMatchObject({
      code: 0,
      stderr: `The settings in changes.002-01 no longer apply to ${change}.\n`,
    });
    expect(JSON.parse(project.read(file))).toMatchObject({ changes: { [change]: { verify: 'exit 0' } } });
  });
});

describe('a value set with spool config set', () => {
  test.each([
    ['verify', 'touch "$HOME/ran"', []],
    ['verify', 'touch "$HOME/ran"', ['--change', '002-01']],
    ['worktreeSetup', 'touch "$HOME/ran"', []],
    ['worktree.setup', 'touch "$HOME/ran"', []],
    ['notify', 'touch "$HOME/ran"', []],
  ])('is trusted: %s %s %j', async (key, value, more) => {
    const project = withConfig('{}', { agent: [promise] });
    expect((await set(project, key, value, ...more)).stdout).toContain('Trusted: you set it yourself.');

    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
    expect(existsSync(join(project.home, 'ran'))).toBe(true);
  });

  test('is trusted only in this form, and other values are not', async () => {
    const evil = { notify: 'touch "$HOME/pwned"', verify: 'touch "$HOME/pwned"' };
    const project = withConfig(JSON.stringify(evil), { agent: [promise] });
    await set(project, 'verify', 'sh check.sh');
    project.write('check.sh', 'touch "$HOME/pwned"\n');

    const refused = await project.spool(...run);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('config.json notify') });
    expect(refused.stderr).not.toContain('config.json verify');
    expect(refused.stderr).toContain('./check.sh');

    await project.spool('config', 'unset', 'notify');
    project.write(file, '{"verify":"sh check.sh; true"}');
    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('config.json verify'),
    });
    expect(existsSync(join(project.home, 'pwned'))).toBe(false);
  });

  test('can be a custom agent and its name', async () => {
    const project = withConfig('{}');
    await set(project, 'harnesses.mine', '{"command":"sh","args":["-c","echo \'<promise>COMPLETE</promise>\'"]}');
    await set(project, 'harness', 'mine');

    expect(await project.spool(...run)).toMatchObject({ code: 0 });
  });

  test('cannot be set by an agent, even without SPOOL_ITERATION', async () => {
    const spool = `env -u SPOOL_ITERATION "${process.execPath}" "${spoolProgram}" config`;
    const calls = `${spool} set notify 'touch "$HOME/pwned"'; ${spool} unset model; ${spool} get model`;
    const project = withConfig('{"model":"m"}', { agent: [`{ ${calls}; } > "$HOME/said" 2>&1; ${promise}`] });

    await project.spool(...run);

    expect(project.read('../home/said')).toBe(
      ['set', 'unset']
        .map((name) => `spool: "spool config ${name}" cannot be run by an agent: run it in another terminal.\n`)
        .join('') + 'm\n',
    );
    expect(project.read(file)).toBe('{"model":"m"}');
  });
});

test('spool config unset removes a key and sections that become empty', async () => {
  const project = withConfig(
    `{"model":"m","worktree":{"setup":"x"},"env":{"pass":[]},"changes":{"${change}":{"maxCost":5}}}`,
  );

  for (const words of [['worktreeSetup'], ['env.pass'], ['maxCost', '--change', '002-01']])
    expect(await project.spool('config', 'unset', ...words)).toMatchObject({ code: 0 });
  expect(project.read(file)).toBe('{"model": "m"}');

  expect(await project.spool('config', 'unset', 'maxCost')).toMatchObject({
    code: 0,
    stdout: 'maxCost is not set in .spool/config.json.\n',
  });
  project.write(file, '{"maxCots":5}');
  expect(await project.spool('config', 'unset', 'maxCots')).toMatchObject({ code: 0 });
  expect(project.read(file)).toBe('{}');
});

test('spool config get prints values from the file', async () => {
  const settings = { model: 'm', verify: ['a', 'b'], worktree: { setup: 'x' }, changes: { '002-01': { maxCost: 5 } } };
  const project = withConfig(JSON.stringify(settings));
  const get = async (...words: string[]) => (await project.spool('config', 'get', ...words)).stdout;

  expect(await get('model')).toBe('m\n');
  expect(await get('model', '--json')).toBe('"m"\n');
  expect(await get('verify')).toBe('["a","b"]\n');
  expect(await get('worktreeSetup')).toBe('x\n');
  expect(await get('maxCost', '--change', change)).toBe('5\n');
  expect(await get()).toBe('model = "m"\nverify = ["a","b"]\nworktree.setup = "x"\nchanges.002-01.maxCost = 5\n');
  expect(JSON.parse(await get('--json'))).toEqual(settings);
  expect(await project.spool('config', 'get', 'maxCost')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'maxCost is not set in .spool/config.json.\n',
  });
});

describe('spool config', () => {
  const files = {
    '.spool/config.json': JSON.stringify({
      maxCost: 5,
      verify: ['npm test', 'npm run lint'],
      notify: 'slack:https://hooks.slack.com/services/T/B/t0ken',
      changes: { '002-01': { maxCost: 20 } },
      harnesses: { mine: { command: 'my-agent' } },
    }),
  };
  const env = { SPOOL_MAX_ITERATIONS: '7', SPOOL_MODEL: 'some/model' };

  test('shows every setting with its source', async () => {
    const project = createProject({ files });

    const { stdout, stderr, code } = await project.start(['config'], { env }).result;

    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    for (const row of [
      ['maxCost', '5', 'config.json'],
      ['maxIterations', '7', 'SPOOL_MAX_ITERATIONS'],
      ['model', 'some/model', 'SPOOL_MODEL'],
      ['verify', 'npm test, npm run lint', 'config.json'],
      ['notify', 'slack:https://hooks.slack.com/…', 'config.json'],
      ['harnesses.mine', 'my-agent', 'config.json'],
      ['commit', 'true', 'default'],
      ['allowAll', 'false', 'default'],
      ['until', '-', 'default'],
    ])
      expect(rows).toContainEqual(row);
    const settable = flagNames.filter((name) => canComeFrom('env', name) || canComeFrom('config', name));
    expect(settable.filter((name) => !rows.some(([key]) => key === name))).toEqual([]);
    expect(stdout).not.toContain('t0ken');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('for a change, and as JSON', async () => {
    const project = createProject({ files });

    const { stdout } = await project.start(['config', '--change', '002', '--json'], { env }).result;

    const rows = JSON.parse(stdout) as { key: string }[];
    expect(rows.find(({ key }) => key === 'maxCost')).toEqual({
      key: 'maxCost',
      value: 20,
      source: 'config.json changes.002-01',
      default: 'unlimited',
    });
    expect(rows.find(({ key }) => key === 'maxIterations')).toMatchObject({ value: 7, source: 'SPOOL_MAX_ITERATIONS' });
    expect(rows.find(({ key }) => key === 'verify')).toMatchObject({
      value: ['npm test', 'npm run lint'],
      default: [],
    });
  });

  test('works without a project, where --change is an error, and reports what a run would reject', async () => {
    const empty = createProject({ git: false });
    rmSync(empty.path('.spool'), { recursive: true });
    expect((await empty.spool('config')).stdout).toMatch(/^ {2}harness +opencode +default$/m);
    expect(await empty.spool('config', '--change', '002')).toMatchObject({ code: 2, stdout: '' });
    expect(await empty.start(['config'], { env: { SPOOL_MAX_COST: 'much' } }).result).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^spool: SPOOL_MAX_COST must be .*\n$/),
    });
  });
});

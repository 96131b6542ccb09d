import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { readAction, runJob, type Step } from '../support/action.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject, root, spoolProgram } from '../support/project.ts';

const action = readAction();

interface Workflow {
  readonly name?: string;
  readonly on: unknown;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { 'runs-on': string; 'timeout-minutes'?: number; steps: readonly Step[] }>>;
}

/** The workflows in docs/ci.md. */
const workflows = [...readFileSync(join(root, 'docs', 'ci.md'), 'utf8').matchAll(/```yaml\n(.*?)```/gs)]
  .map(([, text]) => load(text!) as Workflow)
  .filter((value) => typeof value === 'object' && value !== null && 'jobs' in value);

describe('action.yml', () => {
  test('has what GitHub requires', () => {
    expect(action).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      runs: { using: 'composite' },
    });
    for (const [name, input] of Object.entries(action.inputs)) {
      expect(name).toMatch(/^[a-z][a-z-]*$/);
      expect(input.description).not.toBe('');
      expect(input.required === true || typeof input.default === 'string').toBe(true);
    }
    for (const { value } of Object.values(action.outputs))
      expect(value).toMatch(/^\$\{\{ steps\.\w+\.outputs\.[\w-]+ \}\}$/);
    const ids = action.runs.steps.flatMap(({ id }) => id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const used = JSON.stringify(action).matchAll(/(?:steps\.(\w+)|inputs\.([\w-]+))/g);
    for (const [, step, input] of used) {
      if (step !== undefined) expect(ids).toContain(step);
      if (input !== undefined) expect(Object.keys(action.inputs)).toContain(input);
    }
  });

  test('every step is a script or an action, and no value is part of a script', () => {
    for (const step of action.runs.steps) {
      expect([step.run, step.uses].filter((one) => one !== undefined)).toHaveLength(1);
      if (step.uses !== undefined) expect(step.uses).toMatch(/^actions\/[\w/-]+@v\d+$/);
      if (step.run === undefined) continue;
      expect(step.shell).toBe('bash');
      expect(step.run).not.toContain('${{');
    }
    for (const { run = '' } of workflows.flatMap(({ jobs }) => Object.values(jobs).flatMap(({ steps }) => steps)))
      expect(run).not.toContain('${{');
  });

  test('the workflows in docs/ci.md are complete and use inputs that exist', () => {
    expect(workflows.length).toBeGreaterThanOrEqual(3);
    for (const { jobs, permissions } of workflows) {
      expect(permissions).toBeDefined();
      for (const job of Object.values(jobs)) {
        expect(job['runs-on']).toBe('ubuntu-latest');
        for (const step of job.steps) {
          expect([step.run, step.uses].filter((one) => one !== undefined)).toHaveLength(1);
          if (step.uses !== './.spool-action') continue;
          expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with ?? {})));
          expect(step.with).toHaveProperty('change');
          expect(job['timeout-minutes']).toBeLessThanOrEqual(360);
        }
      }
    }
  });
});

test.each([
  ['', `${resolve(root)}: pack --silent\n${resolve(root)}: install --global --no-fund --no-audit ./spool-ralph.tgz\n`],
  ['1.2.3', 'install --global --no-fund --no-audit spool-ralph@1.2.3\n'],
  ['none', ''],
])('installs Spool: version "%s"', async (version, expected) => {
  const project = createProject();
  const base = dirname(project.home);
  const [bin, temp, calls] = [join(base, 'bin'), join(base, 'temp'), join(base, 'calls')];
  for (const folder of [bin, temp]) mkdirSync(folder);
  writeFileSync(calls, '');
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh\necho "$PWD: $*" >> '${calls}'\n[ "$1" != pack ] || echo spool-ralph.tgz\n`,
  );
  chmodSync(join(bin, 'npm'), 0o755);
  const env = { ...project.env, PATH: `${bin}:${project.env.PATH}` };
  const { codes } = await runJob({ inputs: { change, version, run: 'false' }, cwd: project.folder, env, temp });
  expect(codes.Prepare).toBe(0);
  expect(readFileSync(calls, 'utf8').replace(`${project.folder}: `, '')).toBe(expected);
});

test('the scripts run a change in three jobs on new machines: a limit, a cancelled job, and the end', async () => {
  const project = createProject({
    files: {
      '.spool/config.json': '{"verify": ["test -e 1.txt"]}\n',
      [`.spool/changes/${change}/tasks.md`]: '- [ ] 1. One\n',
    },
    agent: ['echo 1 > 1.txt', 'echo 2 > 2.txt', waitsFor('go'), `echo 3 > 3.txt; ${promise}`],
    untrusted: true,
  });
  const base = dirname(project.home);
  const remote = join(base, 'remote.git');
  execFileSync('git', ['clone', '--quiet', '--bare', project.folder, remote], { env: project.env });
  const bin = join(base, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'spool'), `#!/bin/sh\nexec '${process.execPath}' '${spoolProgram}' "$@"\n`);
  chmodSync(join(bin, 'spool'), 0o755);
  const temp = join(base, 'temp');
  mkdirSync(temp);
  const trust = /SPOOL_TRUST=(sha256:\w+)/.exec((await project.spool('ralph', change)).stderr)![1]!;
  const env = { ...project.env, PATH: `${bin}:${project.env.PATH}` };
  /** Nothing is left of the job before but its cache. */
  const job = (args: string, started?: Parameters<typeof runJob>[0]['started']) => {
    rmSync(project.folder, { recursive: true });
    rmSync(join(project.home, '.local'), { recursive: true, force: true });
    execFileSync('git', ['clone', '--quiet', remote, project.folder], { env: project.env });
    const inputs = { change, version: 'none', trust, args, 'max-duration': '1h' };
    return runJob({ inputs, cwd: project.folder, env, temp, ...(started && { started }) });
  };

  const first = await job('--max-iterations=1');
  expect(first.output).toContain('No earlier state');
  expect(first.outputs).toMatchObject({
    run: { 'exit-code': '3' },
    proof: { proven: 'false' },
    pack: { packed: 'true' },
  });
  expect(first.codes['Fail unless the change is complete']).toBe(3);
  expect(first.summary).toContain('**Stopped at a limit** after 1 iteration');
  expect(existsSync(first.outputs.proof!.proof!)).toBe(true);

  // The runner signals the shell of a job that is cancelled.
  const second = await job('', (step, child) => {
    if (step.id !== 'run') return;
    let output = '';
    child.stdout?.on('data', (text: string) => {
      output += text;
      if (output.includes('waiting for go')) child.kill('SIGINT');
    });
  });
  expect(second.output).toContain('Restored the state of an earlier job.');
  expect(second.outputs.run).toEqual({ 'exit-code': '143' });
  expect(second.outputs.pack).toEqual({ packed: 'true' });

  const third = await job('');
  expect(third.outputs.run).toEqual({ 'exit-code': '0' });
  expect(third.codes['Fail unless the change is complete']).toBe(0);
  expect(project.history().map(({ iteration }) => iteration)).toEqual([1, 1, 2, 3]);
  expect(project.git('log', '--format=%s', '--reverse', `main..ralph/${change}`).split('\n')).toHaveLength(3);
  expect(
    execFileSync('git', ['ls-tree', '--name-only', `ralph/${change}`], { cwd: project.folder, encoding: 'utf8' }),
  ).toMatch(/\n?1\.txt\n2\.txt\n3\.txt\n/);
  expect(third.summary).toContain('**Complete** after 3 iterations');
});

test('a change that could be an option is rejected, and nothing runs', async () => {
  const project = createProject();
  const temp = join(dirname(project.home), 'temp');
  mkdirSync(temp);
  const inputs = { change: '--help', version: 'none' };
  const { codes, output } = await runJob({ inputs, cwd: project.folder, env: project.env, temp });
  expect(codes).toEqual({ Prepare: 2 });
  expect(output).toContain('::error::');
});

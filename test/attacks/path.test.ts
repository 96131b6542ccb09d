import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, inFolder, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Programs of a project that are on PATH, as with `npx` and `npm run`. The user has not agreed to run them. */

const run = ['ralph', '--change', change, '--no-interactive'];

/** Records that it ran, and answers like an agent. */
const evil = `#!/bin/sh
echo "$0" >> "$HOME/ran"
[ "$1" = --version ] && { echo 9.9.9; exit; }
cat; ${promise}
`;

const ran = ({ home }: TestProject) => (existsSync(join(home, 'ran')) ? readFileSync(join(home, 'ran'), 'utf8') : '');

const writeProgram = (file: string, text: string) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
};

const bin = 'node_modules/.bin';
const agents = ['opencode', 'claude', 'codex', 'gemini'];

/** A clone with its own agents. */
const createClone = (options: Parameters<typeof createProject>[0] = {}) => {
  const project = createProject({ agent: [promise], ...options });
  for (const name of agents) writeProgram(project.path(`${bin}/${name}`), evil);
  return project;
};

describe.each([
  ['by its path', (project: TestProject) => project.path(bin)],
  ['by a relative path', () => bin],
  [
    'behind a link',
    (project: TestProject) => {
      symlinkSync(project.folder, join(project.home, 'link'));
      return join(project.home, 'link', bin);
    },
  ],
  [
    'behind a link in the project that leads outside until an agent changes it',
    (project: TestProject) => {
      const outside = join(project.home, 'outside');
      renameSync(project.path(bin), outside);
      symlinkSync(outside, project.path(bin));
      return project.path(bin);
    },
  ],
  [
    'as a link outside the project',
    (project: TestProject) => {
      const outside = join(project.home, 'links');
      mkdirSync(outside);
      for (const name of agents) symlinkSync(project.path(`${bin}/${name}`), join(outside, name));
      return outside;
    },
  ],
])('an agent of the project on PATH, %s,', (_, folderOf) => {
  test('is skipped in favour of one outside', async () => {
    const project = createClone();
    const env = { PATH: `${folderOf(project)}:${project.env.PATH}` };

    const listed = await project.start(['harnesses'], { env }).result;
    await project.start(['doctor'], { env }).result;
    const result = await project.start([...run, '--allow-all'], { env }).result;
    await project.start([...run, '--worktree', '--fresh'], { env }).result;

    expect(ran(project)).toBe('');
    expect(result).toMatchObject({ code: 0 });
    // One of them is the sign-in check.
    expect(project.calls()).toHaveLength(3);
    expect(listed.stdout).toMatch(/^opencode \(default\) +1\.18\.33 /m);
    expect(listed.stdout).toMatch(/^claude +only in the project \(not used\) /m);
  });
});

test('an agent of the project is not run if there is no other, and one line says what to do', async () => {
  const project = createClone();
  const file = project.path(`${bin}/opencode`);
  const env = { PATH: `${project.path(bin)}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin` };

  const result = await project.start(run, { env }).result;
  const doctor = await project.start(['doctor'], { env }).result;

  expect(result).toMatchObject({
    code: 1,
    stderr: `spool: "${file}" is inside the project, so it is not run: anyone could have put it there. Install it outside with: npm install -g opencode-ai, or declare it under "harnesses" in config.json.\n`,
  });
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toContain(`${file} is in the project and therefore not used`);
  expect(ran(project)).toBe('');
});

test('an agent of the project runs if it is declared in config.json and trusted', async () => {
  const config = JSON.stringify({ harnesses: { local: { command: `./${bin}/opencode` } } });
  const project = createProject({ files: { '.spool/config.json': config, [`${bin}/opencode`]: evil } });
  chmodSync(project.path(`${bin}/opencode`), 0o755);
  project.trust();

  expect(await project.spool(...run, '--harness', 'local')).toMatchObject({ code: 0 });
  expect(ran(project)).toBe(`${project.path(`${bin}/opencode`)}\n`);
});

test('an agent in the repository around the project is skipped', async () => {
  const project = createClone({ files: inFolder('pkg/x') });
  const env = { PATH: `${project.path(bin)}:${project.env.PATH}` };

  expect(await project.start(run, { cwd: 'pkg/x', env }).result).toMatchObject({ code: 0 });

  expect(ran(project)).toBe('');
});

test('an agent in the home folder is found, even if that has a .spool and a .git', async () => {
  const project = createProject();
  for (const name of ['.spool', '.git']) mkdirSync(join(project.home, name));
  const inside = join(project.home, 'code', 'project');
  mkdirSync(dirname(inside));
  renameSync(project.folder, inside);
  writeProgram(join(project.home, '.local/bin/opencode'), evil);
  const env = { PATH: `${join(project.home, '.local/bin')}:/usr/local/bin:/usr/bin:/bin` };

  expect(await project.start(run, { cwd: '../home/code/project', env }).result).toMatchObject({ code: 0 });
  expect(ran(project)).not.toBe('');
});

test('an interpreter of the project is not run when agents are asked for their version', async () => {
  const project = createProject({ agent: [promise] });
  const outside = join(project.home, 'bin');
  writeProgram(join(outside, 'claude'), '#!/usr/bin/env interpreter\n');
  writeProgram(join(outside, 'interpreter'), '#!/bin/sh\necho 7.7.7\n');
  writeProgram(project.path(`${bin}/interpreter`), evil);
  const env = { PATH: `${project.path(bin)}:${outside}:${project.env.PATH}` };

  const { stdout } = await project.start(['harnesses'], { env }).result;
  await project.start(['doctor'], { env }).result;

  expect(stdout).toMatch(/^claude +7\.7\.7 /m);
  expect(ran(project)).toBe('');
});

test('git filters and the pager are not taken from the project', async () => {
  const project = createProject({
    agent: [`echo a > a.bin; ${promise}`],
    files: { '.gitattributes': '*.bin filter=lfs\n' },
  });
  const outside = join(project.home, 'bin');
  for (const name of ['git-lfs', 'less']) {
    writeProgram(join(outside, name), `#!/bin/sh\necho ${name} >> "$HOME/good"\ncat\n`);
    writeProgram(project.path(`${bin}/${name}`), evil);
  }
  const config = join(project.home, '.gitconfig');
  writeFileSync(config, `${readFileSync(config, 'utf8')}[filter "lfs"]\n\tclean = git-lfs clean -- %f\n`);
  const PATH = `${project.path(bin)}:${bin}:${outside}:${project.env.PATH}`;

  expect(await project.start(run, { env: { PATH } }).result).toMatchObject({ code: 0 });
  const terminal = openTerminal({ ...project, env: { ...project.env, PATH } } as TestProject, ['diff', change, '1']);

  expect(await terminal.exitCode).toBe(0);
  expect(ran(project)).toBe('');
  expect(new Set(readFileSync(join(project.home, 'good'), 'utf8').trim().split('\n'))).toEqual(
    new Set(['git-lfs', 'less']),
  );
});

test('a PATH with only folders of the project does not fall back to the current folder', async () => {
  const project = createProject({ agent: [promise] });
  writeProgram(project.path('git'), evil);

  await project.start(['list'], { env: { PATH: project.folder } }).result;
  await project.start(['diff', change], { env: { PATH: '' } }).result;

  expect(ran(project)).toBe('');
});

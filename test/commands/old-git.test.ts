import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];
const message = 'git 2.30.2 is too old: Spool needs git 2.38 or later';

/** A git on PATH that says it is `version` and, like git before 2.36, does not know `git worktree list -z`. */
const withGit = (version: string) => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  project.write(
    '../bin/git',
    `#!/bin/sh
for word; do
  case $word in
    --version) echo 'git version ${version}'; exit ;;
    worktree) echo 'error: unknown switch z' >&2; exit 129 ;;
  esac
done
exec /usr/bin/git "$@"
`,
  );
  chmodSync(project.path('../bin/git'), 0o755);
  const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };
  return { ...project, spool: (...args: string[]) => project.start(args, { env }).result };
};

test.each([[run], [[...run, '--worktree']], [['land', change]], [['diff', change]], [['rewind', change, '0']]])(
  'spool %s is rejected with the version that is needed if git is too old',
  async (args) => {
    const project = withGit('2.30.2');

    expect(await project.spool(...args)).toMatchObject({ code: 2, stdout: '', stderr: `spool: ${message}.\n` });
    expect(project.calls()).toEqual([]);
  },
);

test('doctor reports a git that is too old', async () => {
  const { code, stdout } = await withGit('2.30.2').spool('doctor');

  expect(code).toBe(1);
  expect(stdout).toContain(`fail  git           ${message}\n                    Fix: install git 2.38 or later\n`);
});

test('list and show need no git', async () => {
  const project = withGit('2.30.2');

  expect(await project.spool('list')).toMatchObject({ code: 0 });
  expect(await project.spool('show', change)).toMatchObject({ code: 0 });
});

test.each(['2.38.0', '2.39.5 (Apple Git-154)', '2.100.1.windows.1', '3.0.0-rc1', 'unknown'])(
  'git %s is used',
  async (version) => {
    const project = withGit(version);

    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.git('log', '--name-only', '--format=')).toContain('work.txt');
  },
);

import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const note = (name: string) => `env > "$HOME/${name}.env"`;

test('PWD of every child process is its working directory, and OLDPWD and INIT_CWD are not passed on', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${note('hook')}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
  project.write('sub/a.txt', 'a\n');
  const worktree = project.path(`.spool/worktrees/${change}`);

  const commands = ['--worktree-setup', note('setup'), '--verify', note('verify'), '--notify', note('notify')];
  const args = ['ralph', '--change', change, '--worktree', ...commands];
  expect(await project.start(args, { cwd: 'sub' }).result).toMatchObject({ code: 0 });

  const variables = (name: string) =>
    Object.fromEntries(
      readFileSync(join(project.home, `${name}.env`), 'utf8')
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    ) as Record<string, string>;
  const children = [
    ['agent', project.calls()[0]!.env, worktree],
    ['setup', variables('setup'), worktree],
    ['verify', variables('verify'), worktree],
    ['hook', variables('hook'), worktree],
    ['notify', variables('notify'), project.folder],
  ] as const;
  for (const [name, env, folder] of children) {
    expect([name, env.PWD]).toEqual([name, folder]);
    expect([name, env.OLDPWD, env.INIT_CWD]).toEqual([name, undefined, undefined]);
  }

  expect(await project.start(['land', change], { cwd: 'sub' }).result).toMatchObject({ code: 0 });
  const { PWD, OLDPWD, INIT_CWD } = variables('verify');
  expect([PWD, OLDPWD, INIT_CWD]).toEqual([project.path(`.spool/worktrees/.land-${change}`), undefined, undefined]);
});

test('the address of the queue reaches no child process, and its password is redacted', async () => {
  const project = createProject({ agent: [`echo work > work.txt; echo hunter22-of-the-queue; ${promise}`] });
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${note('hook')}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
  const commands = ['--worktree-setup', note('setup'), '--verify', note('verify'), '--notify', note('notify')];
  const args = ['ralph', '--change', change, '--worktree', '--no-interactive', ...commands];
  const SPOOL_QUEUE = 'postgres://spool_user:hunter22-of-the-queue@127.0.0.1:1/spool';
  const { code, stdout, stderr } = await project.start(args, { env: { SPOOL_QUEUE } }).result;
  expect([code, `${stdout}${stderr}`.includes('hunter22')]).toEqual([0, false]);
  expect(project.calls()[0]!.env).not.toHaveProperty('SPOOL_QUEUE');
  for (const name of ['setup', 'verify', 'hook', 'notify'])
    expect([name, readFileSync(join(project.home, `${name}.env`), 'utf8').includes('hunter22')]).toEqual([name, false]);
});

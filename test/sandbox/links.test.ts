import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change } from '../support/project.ts';
import { createSandboxedProject, sandboxProblem, startAs, oneUser } from '../support/sandbox.ts';

const problem = sandboxProblem();

test('reports what is skipped', () => {
  if (problem !== null) process.stderr.write(`\nSKIPPED: links in the git folder (${problem})\n`);
});

const objects = `for n in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for m in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
  [ -e .git/objects/$n$m ] || ln -s "$HOME/outside" .git/objects/$n$m; done; done`;

const plants = {
  'an object folder': objects,
  'the index': 'rm .git/index; ln -s "$HOME/outside/index" .git/index',
  'the reflog of HEAD': 'rm .git/logs/HEAD; ln -s "$HOME/outside/log" .git/logs/HEAD',
  'the reflog of a branch': 'rm .git/logs/refs/heads/main; ln -s "$HOME/outside/log" .git/logs/refs/heads/main',
  'a ref folder': 'ln -s "$HOME/outside" .git/refs/more',
  'a recorded conflict resolution': 'mkdir -p .git/rr-cache/a; ln -s "$HOME/outside/image" .git/rr-cache/a/thisimage',
  'a file deep in an unknown folder': 'mkdir -p .git/x/y/z; ln -s "$HOME/outside/file" .git/x/y/z/file',
  'the index of a submodule': 'mkdir -p .git/modules/ab/cd; ln -s "$HOME/outside/index" .git/modules/ab/cd/index',
  alternates: 'ln -s "$HOME/outside/file" .git/objects/info/alternates',
  'the lock of the index': 'ln -s "$HOME/outside/file" .git/index.lock',
  'a merge in progress': 'ln -s "$HOME/outside/file" .git/AUTO_MERGE',
  'packed refs': 'ln -s "$HOME/outside/refs" .git/packed-refs',
};

const run = (...more: string[]) => ['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all', ...more];

describe.each(problem === null ? [oneUser()] : [])('as $title', (user) => {
  const createAttacked = (agent: string[]) => {
    const project = createSandboxedProject(user, { agent });
    const outside = join(project.home, 'outside');
    mkdirSync(outside);
    return { ...project, outside };
  };

  test.each(Object.entries(plants))(
    'nothing is written through a link that an agent creates in place of %s',
    async (_, plant) => {
      const project = createAttacked([
        `echo work > work.txt; ${plant}; ${promise}`,
        `echo more > more.txt; ${promise}`,
      ]);

      const result = await project.spool(...run());

      expect(readdirSync(project.outside)).toEqual([]);
      expect(result).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /\nspool: .*\.git\S* was replaced by a link to \S*outside\S* in the sandbox, .*\n$/,
        ) as string,
      });
      expect(project.state().status).not.toBe('complete');
      // A later run finds no link.
      await project.spool(...run('--fresh'));
      expect(readdirSync(project.outside)).toEqual([]);
    },
  );

  test('nothing is written through a link in place of a shared reflog, from a worktree', async () => {
    const log = '"$(git rev-parse --git-common-dir)/logs/refs/heads/main"';
    const project = createAttacked([`echo work > work.txt; rm ${log}; ln -s "$HOME/outside/log" ${log}; ${promise}`]);

    expect(await project.spool(...run('--worktree'))).toMatchObject({ code: 1 });
    await project.spool('land', change);

    expect(readdirSync(project.outside)).toEqual([]);
  });

  test.each(['verify', 'hook'])('nothing is written through a link that a %s creates', async (who) => {
    const plant = 'rm -f .git/logs/HEAD; ln -s "$HOME/outside/log" .git/logs/HEAD';
    const project = createAttacked([`echo work > work.txt; ${promise}`, promise]);
    if (who === 'hook') project.writeScript('.git/hooks/post-commit', `#!/bin/sh\n${plant}\n`);

    const result = await project.spool(...run('--max-iterations', '2', ...(who === 'hook' ? [] : ['--verify', plant])));

    expect(readdirSync(project.outside)).toEqual([]);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /\nspool: \S*\.git\/logs\/HEAD was replaced by a link to \S*outside\/log in the sandbox, .*\n$/,
    );
    expect(project.state().status).not.toBe('complete');
    expect(project.calls()).toHaveLength(1);
  });

  test.each(['info', 'objects', 'worktrees', 'logs'])(
    'nothing is written through a link in a submodule named %s',
    async (name) => {
      const log = '"$(git rev-parse --absolute-git-dir)/logs/HEAD"';
      const project = createAttacked([`echo work > work.txt; rm ${log}; ln -s "$HOME/outside/log" ${log}; ${promise}`]);
      const around = join(project.base, 'around');
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
          cwd: around,
          env: project.env,
          stdio: 'ignore',
        });
      mkdirSync(around);
      git('init');
      git('submodule', 'add', '--name', name, project.folder, 'sub');
      // Changes the owner of the files to that user.
      await project.spool('list');
      const sub = { ...project, folder: join(around, 'sub') };
      const start = (...args: string[]) =>
        startAs(user, sub, { args, env: { SPOOL_SANDBOX_WRITE: join(project.home, 'agent') } }).result;

      expect(await start(...run())).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/logs\/HEAD was replaced by a link to /) as string,
      });
      await start(...run('--fresh', '--branch', 'other'));
      expect(readdirSync(project.outside)).toEqual([]);
    },
  );

  test('links that existed before the run are allowed', async () => {
    const project = createAttacked([`echo work > work.txt; ${promise}`]);
    symlinkSync(join(project.outside, 'log'), project.path('.git/logs/HEAD.old'));

    expect(await project.spool(...run())).toMatchObject({ code: 0 });
    expect(project.git('log', '-1', '--format=%s')).toBe(`ralph(${change}): iteration 1`);
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, root, spoolProgram, startProcess } from '../support/project.ts';
import { createSandboxedProject, sandboxProblem, startAs, oneUser } from '../support/sandbox.ts';

const problem = sandboxProblem();

test('reports what is skipped', () => {
  if (problem !== null) process.stderr.write(`\nSKIPPED: links in the git folder (${problem})\n`);
});

const objects = `for n in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for m in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
  [ -e .git/objects/$n$m ] || ln -s "$HOME/outside" .git/objects/$n$m; done; done`;

const reflog = 'rm .git/logs/HEAD; ln -s "$HOME/outside/log" .git/logs/HEAD';

/** Shell: a link in a folder whose path is too long to be opened. */
const tooDeep = `top=$PWD; mkdir .git/deep; cd .git/deep
for i in $(seq 1 25); do mkdir ${'d'.repeat(200)}; cd ${'d'.repeat(200)}; done; ln -s "$HOME/outside" x; cd "$top"`;

const plants = {
  'an object folder': objects,
  'the index': 'rm .git/index; ln -s "$HOME/outside/index" .git/index',
  'the reflog of HEAD': reflog,
  'the reflog of a branch': 'rm .git/logs/refs/heads/main; ln -s "$HOME/outside/log" .git/logs/refs/heads/main',
  'a ref folder': 'ln -s "$HOME/outside" .git/refs/more',
  'a recorded conflict resolution': 'mkdir -p .git/rr-cache/a; ln -s "$HOME/outside/image" .git/rr-cache/a/thisimage',
  'a file deep in an unknown folder': 'mkdir -p .git/x/y/z; ln -s "$HOME/outside/file" .git/x/y/z/file',
  'the index of a submodule': 'mkdir -p .git/modules/ab/cd; ln -s "$HOME/outside/index" .git/modules/ab/cd/index',
  alternates: 'ln -s "$HOME/outside/file" .git/objects/info/alternates',
  'the lock of the index': 'ln -s "$HOME/outside/file" .git/index.lock',
  'a merge in progress': 'ln -s "$HOME/outside/file" .git/AUTO_MERGE',
  'packed refs': 'ln -s "$HOME/outside/refs" .git/packed-refs',
  'the reflog of HEAD, in an unreadable folder': `${reflog}; chmod 300 .git/logs`,
  'the reflog of HEAD, in an unreadable git folder': `${reflog}; chmod 300 .git/logs .git`,
  'an object folder, in an unreadable folder': `${objects}; chmod 300 .git/objects`,
  'a file in a folder that cannot be entered': `mkdir .git/x; ln -s "$HOME/outside/file" .git/x/file; chmod 600 .git/x`,
  'a file in a read-only folder': `mkdir .git/x; ln -s "$HOME/outside/file" .git/x/file; chmod 500 .git/x`,
  'the reflog of HEAD, and a name that is not UTF-8': `${reflog}; ln -s "$HOME/outside/file" "$(printf '.git/A\\377')"`,
  'a file in a folder whose name is not UTF-8': `x=$(printf '.git/x\\377'); mkdir "$x"; ln -s "$HOME/outside/file" "$x/file"`,
};

const run = (...more: string[]) => ['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all', ...more];

/** Returns whether the superuser can make folders from which no one can delete. */
const canAppendOnly = (): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-append-'));
  try {
    return process.getuid?.() === 0 && ['+a', '-a'].every((flag) => spawnSync('chattr', [flag, folder]).status === 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe.each(problem === null ? [oneUser()] : [])('as $title', (user) => {
  const createAttacked = (agent: string[]) => {
    const project = createSandboxedProject(user, { agent });
    const outside = join(project.home, 'outside');
    mkdirSync(outside);
    onTestFinished(() => void execFileSync('chmod', ['-R', 'u+rwX', project.folder]));
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
      await project.spool(...run('--fresh', '--branch', 'other'));
      expect(readdirSync(project.outside)).toEqual([]);
    },
  );

  test.each(['', ', in an unreadable folder'])(
    'nothing is written through a link in place of a shared reflog%s, from a worktree',
    async (where) => {
      const logs = '"$(git rev-parse --git-common-dir)/logs/refs/heads"';
      const plant = `rm ${logs}/main; ln -s "$HOME/outside/log" ${logs}/main; ${where && `chmod 300 ${logs}`}`;
      const project = createAttacked([`echo work > work.txt; ${plant}\n${promise}`]);

      expect(await project.spool(...run('--worktree'))).toMatchObject({ code: 1 });
      await project.spool('land', change);

      expect(readdirSync(project.outside)).toEqual([]);
    },
  );

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
    expect(project.git('log', '-1', '--format=%s')).toBe('ralph(002-01): iteration 1');
  });

  /** Where the link of the user leads, and how an agent makes it lead outside. */
  const redirections: [string, string, string][] = [
    ['itself', 'logs-real', 'rm .git/logs; ln -s "$HOME/outside" .git/logs'],
    ['the link behind it', 'second', 'rm .git/second; ln -s "$HOME/outside" .git/second'],
    ['a parent folder of its target', '../a/logs', 'mv a b; ln -s "$HOME/outside" a'],
    ['a file in its target', '../a/logs', 'rm a/logs/HEAD; ln -s "$HOME/outside/log" a/logs/HEAD'],
  ];
  test.each(redirections)(
    'nothing is written through a link of the user after an agent replaces %s',
    async (_, target, attack) => {
      const project = createAttacked([
        `echo work > work.txt; ${attack}; ${promise}`,
        `echo more > more.txt; ${promise}`,
      ]);
      mkdirSync(project.path('a'));
      renameSync(project.path('.git/logs'), project.path(target.startsWith('..') ? 'a/logs' : '.git/logs-real'));
      symlinkSync('logs-real', project.path('.git/second'));
      symlinkSync(target, project.path('.git/logs'));

      const result = await project.spool(...run());
      await project.spool(...run('--fresh', '--branch', 'other'));

      expect(readdirSync(project.outside)).toEqual([]);
      expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('by a link to ') as string });
      expect([target, project.path(target)]).toContain(readlinkSync(project.path('.git/logs')));
      expect(readlinkSync(project.path('.git/second'))).toBe('logs-real');
    },
  );

  test('git is not used while a folder cannot be searched for links', async () => {
    const project = createAttacked([`echo work > work.txt; ${reflog}; ${tooDeep}; ${promise}`, promise]);

    const first = await project.spool(...run());
    const second = await project.spool(...run('--fresh', '--branch', 'other'));
    const rewind = await project.spool('rewind', change, '0', '--dry-run');

    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be searched for links') as string });
    for (const { code, stderr } of [second, rewind]) {
      expect(code).not.toBe(0);
      expect(stderr).toContain('cannot be searched for links');
    }
    expect(project.calls()).toHaveLength(1);
    expect(existsSync(project.path('.git/logs/HEAD'))).toBe(false);
    execFileSync('rm', ['-rf', project.path('.git/deep')]);
    expect(await project.spool(...run('--fresh', '--branch', 'other'))).toMatchObject({ code: 0 });
    expect(readdirSync(project.outside)).toEqual([]);
  });

  test.skipIf(!canAppendOnly())('git is not used while a link cannot be removed', async () => {
    const fixed = '.git/fixed';
    const link = `ln -s "$HOME/outside/file" ${fixed}/file`;
    const project = createAttacked([`echo work > work.txt; ${link}; ${reflog}; ${promise}`, promise]);
    mkdirSync(project.path(fixed));
    onTestFinished(() => void execFileSync('chattr', ['-a', project.path(fixed)]));
    // Makes the ordinary user the owner, which is not possible later.
    await project.spool('list');
    execFileSync('chattr', ['+a', project.path(fixed)]);
    const start = (...args: string[]) => {
      const [command = '', ...words] = [...user.prefix, process.execPath, spoolProgram, ...args];
      const env = { ...project.env, SPOOL_SANDBOX_WRITE: join(project.home, 'agent') };
      return startProcess(command, words, { cwd: project.folder, env }).result;
    };

    const first = await start(...run());
    const second = await start(...run('--fresh', '--branch', 'other'));

    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('The link cannot be removed') as string });
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain(`${project.path(`${fixed}/file`)} is a link from a sandbox and cannot be removed`);
    expect(project.calls()).toHaveLength(1);
    expect(existsSync(project.path('.git/logs/HEAD'))).toBe(false);
    execFileSync('chattr', ['-a', project.path(fixed)]);
    expect(await start(...run('--fresh', '--branch', 'other'))).toMatchObject({ code: 0 });
    expect(readdirSync(project.outside)).toEqual([]);
  });

  /** Kills Spool after an agent has created a link. */
  const createKilled = async () => {
    const project = createAttacked([`${reflog}; ${waitsFor('never')}`, `echo two > two.txt; ${promise}`]);
    symlinkSync('HEAD', project.path('.git/mine'));
    const first = project.start(run());
    await first.printed('waiting for never');
    first.kill('SIGKILL');
    await first.result;
    await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the sandbox to end');
    return project;
  };
  const wasRemoved = /\.git\/logs\/HEAD was a link to \S*outside\/log, .* If it is your own: ln -s /;

  test('a link that was created before Spool is killed is removed by the next command', async () => {
    const project = await createKilled();

    const next = await project.spool(...run('--fresh', '--branch', 'other'));

    expect(next).toMatchObject({ code: 0, stderr: expect.stringMatching(wasRemoved) as string });
    expect(readdirSync(project.outside)).toEqual([]);
    expect(readlinkSync(project.path('.git/mine'))).toBe('HEAD');
    expect(await project.spool('list')).toMatchObject({ stderr: '' });
  });

  test('a link that was created before Spool is killed is removed by the library', async () => {
    const project = await createKilled();
    const program = `const { openProject, startRun } = require(${JSON.stringify(join(root, 'dist', 'index.cjs'))});
startRun({ project: openProject('.'), change: 'none', onWarning: console.log }).catch(() => {});`;
    const [command = '', ...words] = [...user.prefix, process.execPath, '-e', program];

    const { stdout } = await startProcess(command, words, { cwd: project.folder, env: project.env }).result;

    expect(stdout).toMatch(wasRemoved);
    expect(() => readlinkSync(project.path('.git/logs/HEAD'))).toThrow('ENOENT');
  });
});

import { execSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject, inFolder, type TestProject } from '../support/project.ts';

/** Uncommitted changes of the user that an agent removes from the folder are in a checkpoint, and that is said. */

const run = ['ralph', '--change', change, '--max-stalled', 'unlimited'];

/** A project with a staged edit and a new file of the user. */
const editedProject = (agent: readonly string[]): TestProject => {
  const project = createProject({ agent });
  project.write('README.md', 'A project.\nMY WORK\n');
  project.write('mine.txt', 'mine\n');
  project.git('add', 'README.md');
  return project;
};

const gone = 'no longer in the folder';

describe('uncommitted changes of the user', () => {
  test('that the agent stashes are named, with a command that restores them', async () => {
    const project = editedProject([`git stash -q -u; echo w > w.txt; ${promise}`]);

    const { code, stderr } = await project.spool(...run);

    expect(code).toBe(0);
    expect(stderr).toContain(
      'Your uncommitted changes to README.md, mine.txt are no longer in the folder. They are in checkpoint 0; to get them back: git restore --source=',
    );
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `Uncommitted 2 files: README.md, mine.txt (yours, ${gone}; to get them back: git restore --source=`,
    );
    const status = (await project.spool('status', change)).stdout.replaceAll(/\s+/g, ' ');
    expect(status).toContain(`2 files: README.md, mine.txt (yours, ${gone}`);
    const command = /git restore --source=\w+ -- README\.md mine\.txt/.exec(status)![0];
    execSync(command, { cwd: project.folder, env: project.env });
    expect(project.read('README.md')).toBe('A project.\nMY WORK\n');
    expect(project.read('mine.txt')).toBe('mine\n');
  });

  test('that the agent resets are named, also without commits and in a project below the root', async () => {
    const project = createProject({
      files: { ...inFolder('app'), 'app/other.txt': 'o\n', 'top.txt': 't\n' },
      agent: [`cd ..; git reset -q --hard; echo w > w.txt; ${promise}`],
    });
    project.write('top.txt', 'my work\n');
    rmSync(project.path('app/other.txt'));

    const { stderr } = await project.start([...run, '--no-commit'], { cwd: 'app' }).result;

    expect(stderr).toContain(`Your uncommitted changes to app/other.txt, top.txt are ${gone}.`);
    const command = /git restore --source=\w+ -- other\.txt \.\.\/top\.txt/.exec(stderr)![0];
    execSync(command, { cwd: project.path('app'), env: project.env });
    expect(project.read('top.txt')).toBe('my work\n');
    expect(project.exists('app/other.txt')).toBe(false);
  });

  test('that the agent deletes are not said to be in its commit', async () => {
    const project = editedProject([`rm README.md; ${promise}`]);

    const { stderr } = await project.spool(...run);

    expect(stderr).toContain(`Your uncommitted changes to README.md are ${gone}.`);
    expect(stderr).not.toContain('are in commit');
  });

  test('that the agent restores later are not listed at the end', async () => {
    const project = editedProject(['git stash -q -u; echo w > w.txt', `git stash pop -q --index; ${promise}`]);

    const { stderr } = await project.spool(...run);

    expect(stderr).toContain(gone);
    expect(stderr).not.toContain(`(yours, ${gone}`);
    expect(stderr).not.toContain('Uncommitted');
    expect(project.git('status', '--porcelain')).toBe('M  README.md\n?? mine.txt');
  });

  test('are named if a resumed run loses them', async () => {
    const project = editedProject(['echo one > one.txt', waitsFor('never'), `git reset -q --hard; ${promise}`]);
    const first = project.start(run);
    await first.printed('waiting for never');
    first.kill('SIGINT');
    await first.result;

    const { stderr } = await project.spool(...run);

    expect(stderr).toContain(`Your uncommitted changes to README.md are ${gone}. They are in checkpoint 2;`);
  });

  test.each([
    ['stay in the folder', 'git stash -q -u; git stash pop -q --index; echo w > w.txt'],
    ['are committed as they are', 'git add -A; git commit -q -m mine; echo w > w.txt'],
    [
      'are committed as they are and reverted later',
      'git add -A; git commit -q -m mine; git revert --no-edit HEAD >/dev/null',
    ],
    ['are edited further', 'echo more >> README.md; echo more >> mine.txt'],
    ['are edited further and committed', 'echo more >> README.md; git add -A; git commit -q -m more'],
    ['are renamed', 'mkdir lib; mv mine.txt lib/mine.txt'],
    ['are ignored', 'echo mine.txt > .gitignore'],
  ])('that %s are not named', async (_, script) => {
    const project = editedProject([`${script}; ${promise}`]);

    const { code, stderr } = await project.spool(...run);

    expect(code).toBe(0);
    expect(stderr).not.toContain(gone);
  });

  test.each([
    ['reverts', 'git reset -q --hard; rm mine.txt'],
    ['commits', 'git add -A; git commit -q -m mine'],
  ])('that the user %s between two iterations are not named', async (_, script) => {
    const project = editedProject([waitsFor('go-on'), `git rm -q -f --ignore-unmatch README.md mine.txt; ${promise}`]);
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    await project.spool('pause', change);
    project.write('go-on', '');
    await loop.printed('Paused.');
    execSync(script, { cwd: project.folder, env: project.env });
    await project.spool('resume', change);

    const { stderr } = await loop.result;

    expect(project.calls()).toHaveLength(2);
    expect(stderr).not.toContain(gone);
  });
});

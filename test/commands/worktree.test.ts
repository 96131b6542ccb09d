import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', '--change', change];
const worktree = `.spool/worktrees/${change}`;
const branch = `ralph/${change}`;

test('--worktree works in a place of its own, and leaves the commits on a branch', async () => {
  const project = createProject({
    files: { '.gitignore': '.env\nnode_modules\n', '.worktreeinclude': '.env\n', '.env': 'KEY=1\n' },
    agent: [`cp .env seen.txt; cat setup.txt >> seen.txt; pwd > "$HOME/cwd"; ${promise}`],
  });
  project.write('.spool/config.json', JSON.stringify({ worktree: { setup: 'echo ready > setup.txt' } }));
  project.write(`.spool/changes/${change}/proposal.md`, '# Not committed yet\n');
  project.write('mine.txt', 'of the user\n');
  const before = project.git('status', '--porcelain');
  const head = project.git('rev-parse', 'HEAD');

  const result = await project.spool(...run, '--worktree', '--verify', 'test -e seen.txt');

  expect(result).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.home, 'cwd'), 'utf8').trim()).toBe(project.path(worktree));
  expect(project.git('show', `${branch}:seen.txt`)).toBe('KEY=1\nready');
  expect(project.git('status', '--porcelain')).toBe(before);
  expect(project.git('rev-parse', 'HEAD')).toBe(head);
  expect(project.calls()[0]!.prompt).toContain('# Not committed yet');
  expect(result.stderr).toContain(`${worktree} stays: there is uncommitted work in it, such as setup.txt.`);
});

test('a worktree is removed after success when it is clean, and kept with its path said otherwise', async () => {
  const project = createProject({ agent: [`echo x > x.txt; exit 1`, `echo y > y.txt; ${promise}`] });

  const failed = await project.spool(...run, '--worktree', '--fail-fast');
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.stderr).toContain(`The work is in ${worktree}, on branch ${branch}.`);
  expect(existsSync(project.path(`${worktree}/x.txt`))).toBe(true);

  const done = await project.spool(...run, '--worktree');
  expect(done).toMatchObject({ code: 0 });
  expect(done.stderr).toContain(`The work is on branch ${branch}; land it with: spool land ${change}`);
  expect(project.exists(worktree)).toBe(false);
  expect(project.git('log', '--format=%s', branch).split('\n')).toHaveLength(3);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('an interrupted run goes on in its worktree, and a rewind is made there', async () => {
  const project = createProject({ agent: ['echo x > x.txt', 'kill -INT $PPID; sleep 5', `echo y > y.txt; exit 3`] });

  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 130 });
  expect(await project.spool(...run, '--fail-fast')).toMatchObject({ code: 1 });

  expect(existsSync(project.path(`${worktree}/y.txt`))).toBe(true);
  expect(project.exists('y.txt')).toBe(false);
  expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
  expect(existsSync(project.path(`${worktree}/x.txt`))).toBe(false);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('what a person does in a worktree between two runs is not the work of the agent', async () => {
  const project = createProject({
    agent: ['echo a > a.txt', 'echo b > b.txt', 'touch "$HOME/third"; sleep 300', promise],
  });
  const loop = project.start([...run, '--worktree']);
  await eventually(() => existsSync(join(project.home, 'third')), 'the third iteration');
  loop.kill('SIGINT');
  await loop.result;
  expect(await project.spool('rewind', change, '1')).toMatchObject({ code: 0 });

  await project.spool(...run);

  expect(project.history().at(-1)).toMatchObject({ iteration: 4, commit: null, git: { files: [] } });
});

test('in a worktree, commands are about the project that the run belongs to', async () => {
  const project = createProject({ agent: ['echo a > a.txt'] });
  await project.spool(...run, '--worktree', '--max-iterations', '1', '--verify', 'false');
  const cwd = `.spool/worktrees/${change}`;
  const there = (...args: string[]) => project.start(args, { cwd }).result;

  expect((await there('ralph', '--status', '--change', change)).stdout).toContain('limit, iteration 1');
  expect((await there('diff', change, '1')).stdout).toContain('+a');
  await there('ralph', '--change', change, '--add-context', 'Mind the gap.');
  expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toContain('Mind the gap.');
  expect(await there('land', change)).toMatchObject({ code: 1, stderr: expect.stringContaining('false') });
  expect((await there('create', 'module', 'more')).stdout).toContain('Made module');
  expect(project.exists(`${cwd}/.spool/modules/003_more/module.md`)).toBe(true);
});

test('two changes can be worked on at once, one of them in a worktree', async () => {
  const other = '002-02_another';
  const project = createProject({
    files: { [`.spool/changes/${other}/proposal.md`]: '# Another\n' },
    agent: [`echo waiting; until [ -e "$HOME/go" ]; do sleep 0.01; done; ${promise}`],
  });
  const first = project.start(run);
  await first.printed('waiting');
  const second = project.start(['ralph', '--change', other, '--worktree']);
  await second.printed('waiting');
  project.write('../home/go', '');

  expect(await first.result).toMatchObject({ code: 0 });
  expect(await second.result).toMatchObject({ code: 0 });
});

test.each([
  [
    'a setup that fails',
    ['--worktree', '--worktree-setup', 'echo no; exit 3'],
    1,
    /The setup of the worktree failed \(echo no; exit 3\): see .*setup\.log/,
  ],
  ['a branch that git refuses', ['--branch', 'bad..name'], 2, /Cannot work on branch bad\.\.name: /],
])('%s is one line, and no agent starts', async (_, args, code, message) => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...run, ...args);

  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(message);
  expect(project.calls()).toEqual([]);
});

test('--branch makes the branch, or goes to it, with what the user has in the tree', async () => {
  const project = createProject({ agent: [`echo $$ > x.txt; ${promise}`] });
  project.write('mine.txt', 'of the user\n');

  expect(await project.spool(...run, '--branch', 'feature/x')).toMatchObject({ code: 0 });
  expect(project.git('symbolic-ref', '--short', 'HEAD')).toBe('feature/x');
  project.git('switch', '-q', 'main');
  expect(await project.spool(...run, '--branch', 'feature/x')).toMatchObject({ code: 0 });

  expect(project.git('log', '--format=%s', 'main..feature/x').split('\n')).toHaveLength(2);
  expect(project.git('status', '--porcelain')).toBe('?? mine.txt');
});

test('without a repository, or without a commit in it, a worktree is refused', async () => {
  const none = createProject({ git: false, agent: [promise] });
  expect(await none.spool(...run, '--worktree')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a worktree needs a git repository'),
  });
});

describe('nothing is lost with a worktree', () => {
  test('an agent that deletes the .git of its worktree does not reach the repository around it', async () => {
    const project = createProject({ files: { 'a.txt': 'one\n' }, agent: ['rm .git; git commit -qam mine; exit 1'] });
    project.write('a.txt', 'dirty work of the user\n');
    const head = project.git('rev-parse', 'HEAD');

    const result = await project.spool(...run, '--worktree', '--max-iterations', '2', '--retry-delay', '1ms');

    expect(result.code).toBe(3);
    expect(project.git('rev-parse', 'HEAD')).toBe(head);
    expect(project.git('status', '--porcelain')).toBe('M a.txt');
  });

  test.each([
    ['another branch', 'git checkout -q -b feature/x; echo x > x.txt', 'it is on feature/x, not on'],
    ['no branch', 'git checkout -q --detach; echo x > x.txt', 'it is on no branch'],
    [
      'a repository inside',
      'git init -q nested; cd nested; git commit -q --allow-empty -m x; cd ..; git add -A; git commit -qm x',
      'there are repositories inside it',
    ],
  ])('a worktree with %s stays', async (_, script, why) => {
    const project = createProject({ agent: [`${script}; ${promise}`] });

    const result = await project.spool(...run, '--worktree');

    expect(result.stderr).toContain(`${worktree} stays: ${why}`);
    expect(project.exists(worktree)).toBe(true);
  });

  test('a repository that an agent made inside is not committed as a bare link', async () => {
    const project = createProject({
      agent: [`git init -q nested; git -C nested commit -q --allow-empty -m x; echo x > x.txt; ${promise}`],
    });

    const result = await project.spool(...run);

    expect(result.stderr).toContain('Not committed: nested (a repository of its own).');
    expect(project.git('show', '--format=', '--name-only')).toBe('x.txt');
  });

  test('a setup that failed is done anew, and so is a worktree whose folder was deleted', async () => {
    const project = createProject({ agent: [`cat setup.txt > seen.txt; exit 1`] });
    const setup = ['--worktree', '--worktree-setup', '[ -e "$HOME/ok" ] && echo ready > setup.txt', '--fail-fast'];
    expect(await project.spool(...run, ...setup)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The setup of the worktree failed'),
    });
    project.write('../home/ok', '');
    await project.spool(...run, ...setup);
    expect(readFileSync(project.path(`${worktree}/seen.txt`), 'utf8')).toBe('ready\n');

    rmSync(project.path(worktree), { recursive: true });
    await project.spool(...run, ...setup);
    expect(readFileSync(project.path(`${worktree}/seen.txt`), 'utf8')).toBe('ready\n');
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('a setup that %s ends is done anew', async (signal, code) => {
    const project = createProject({ agent: [`cat setup.txt > seen.txt; exit 1`] });
    const setup = `touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.01; done; echo ready > setup.txt`;
    const args = [...run, '--worktree', '--worktree-setup', setup, '--fail-fast'];
    const first = project.start(args);
    await eventually(() => project.exists('../home/begun'), 'the setup to begin');
    first.kill(signal);

    expect(await first.result).toMatchObject({
      code,
      stderr: expect.stringMatching(/ending what runs.*\nspool: Interrupted: nothing was started\.\n$/),
    });
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    project.write('../home/go', '');
    await project.spool(...args);
    expect(readFileSync(project.path(`${worktree}/seen.txt`), 'utf8')).toBe('ready\n');
  });

  test('a setup whose Spool was killed is ended before it is done anew', async () => {
    const project = createProject({ agent: [promise] });
    const setup = `exec 2> /dev/null; trap 'rmdir "$HOME/only-one"; exit 1' TERM; mkdir "$HOME/only-one" || touch "$HOME/both"
      echo begun >> "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.01; done`;
    const args = [...run, '--worktree', '--worktree-setup', setup];
    const first = project.start(args);
    await eventually(() => project.exists('../home/begun'), 'the setup to begin');
    first.kill('SIGKILL');
    await first.result;
    const second = project.start(args);
    await eventually(() => project.read('../home/begun') === 'begun\nbegun\n', 'the setup to begin anew');
    project.write('../home/go', '');

    expect(await second.result).toMatchObject({ code: 0 });
    expect(project.exists('../home/both')).toBe(false);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('a rewind is refused when the worktree of the run is gone', async () => {
    const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
    await project.spool(...run, '--worktree');
    project.write('mine.txt', 'of the user\n');

    expect(await project.spool('rewind', change, '0')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('which is gone'),
    });
    expect(project.exists('mine.txt')).toBe(true);
  });
});

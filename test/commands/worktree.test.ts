import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', '--change', change];
const worktree = `.spool/worktrees/${change}`;
const branch = `ralph/${change}`;

test('--worktree runs in a separate work tree and leaves the commits on a branch', async () => {
  const project = createProject({
    files: { '.gitignore': '.env\nnode_modules\n', '.worktreeinclude': '.env\n', '.env': 'KEY=1\n' },
    agent: [`cp .env seen.txt; cat setup.txt >> seen.txt; pwd > "$HOME/cwd"; ${promise}`],
  });
  project.write('.spool/config.json', JSON.stringify({ worktree: { setup: 'echo ready > setup.txt' } }));
  project.trust();
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
  expect(result.stderr).toContain(`Kept ${worktree}: there is uncommitted work in it, such as setup.txt.`);
});

test('a clean worktree is removed after success, otherwise it is kept and its path is printed', async () => {
  const project = createProject({ agent: [`echo x > x.txt; exit 1`, `echo y > y.txt; ${promise}`] });

  const failed = await project.spool(...run, '--worktree', '--fail-fast');
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.stderr).toContain(`The work is in ${worktree} (branch ${branch}).`);
  expect(existsSync(project.path(`${worktree}/x.txt`))).toBe(true);

  const done = await project.spool(...run, '--worktree');
  expect(done).toMatchObject({ code: 0 });
  expect(done.stderr).toContain(`The work is on branch ${branch}; land it with: spool land ${change}`);
  expect(project.exists(worktree)).toBe(false);
  expect(project.git('log', '--format=%s', branch).split('\n')).toHaveLength(3);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('the end of a run is its last event, with what is left of its workspace', async () => {
  const project = createProject({ agent: [`echo y > y.txt; ${promise}`] });

  const { stdout } = await project.spool(...run, '--worktree', '--json');

  const printed = stdout.trimEnd().split('\n');
  const journal = readFileSync(join(project.stateFile('runs'), project.state().run, 'events.jsonl'), 'utf8');
  const journalled = (JSON.parse(journal.trimEnd().split('\n').at(-1)!) as { event: object }).event;
  const notes = [`The work is on branch ${branch}; land it with: spool land ${change}`];
  expect(JSON.parse(printed.at(-1)!)).toMatchObject({ type: 'run-ended', notes, view: { status: 'complete' } });
  expect(journalled).toMatchObject({ type: 'run-ended', notes });
});

test('a run that is killed right after its worktree was removed is complete when it is resumed', async () => {
  const project = createProject({ agent: [`echo y > y.txt; ${promise}`] });
  const isRemoval = `case " $* " in *" worktree remove "*) true;; *) false;; esac`;
  const git = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  project.write(
    '../bin/git',
    `#!/bin/sh\nif ${isRemoval}; then ${git} "$@"; kill -KILL $PPID; else exec ${git} "$@"; fi\n`,
  );
  chmodSync(project.path('../bin/git'), 0o755);
  const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };

  expect(await project.start([...run, '--worktree'], { env }).result).toMatchObject({ signal: 'SIGKILL' });
  expect(project.exists(worktree)).toBe(false);
  const resumed = await project.spool(...run);

  expect(resumed).toMatchObject({ code: 0 });
  expect(resumed.stderr).toContain(`The work is on branch ${branch}; land it with: spool land ${change}`);
  expect(project.calls()).toHaveLength(1);
  expect(project.exists(worktree)).toBe(false);
  expect(await project.spool('land', change)).toMatchObject({ code: 0 });
  expect(project.read('y.txt')).toBe('y\n');
});

test('a signal while the notify command runs is no event of the run', async () => {
  const project = createProject({ agent: [promise] });

  const notify = ['--notify', 'kill -INT $PPID'];
  const { stdout, stderr } = await project.spool(...run, '--json', ...notify);

  expect(stderr).toContain('Stopping…');
  expect(JSON.parse(stdout.trimEnd().split('\n').at(-1)!)).toMatchObject({ type: 'run-ended', reason: 'complete' });
});

test('an interrupted run resumes in its worktree, and a rewind applies there', async () => {
  const project = createProject({ agent: ['echo x > x.txt', 'kill -INT $PPID; sleep 5', `echo y > y.txt; exit 3`] });

  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 130 });
  expect(await project.spool(...run, '--fail-fast')).toMatchObject({ code: 1 });

  expect(existsSync(project.path(`${worktree}/y.txt`))).toBe(true);
  expect(project.exists('y.txt')).toBe(false);
  expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
  expect(existsSync(project.path(`${worktree}/x.txt`))).toBe(false);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('edits that the user makes in a worktree between two runs are not attributed to the agent', async () => {
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

test('in a worktree, commands apply to the project of the run', async () => {
  const project = createProject({ agent: ['echo a > a.txt'] });
  await project.spool(...run, '--worktree', '--max-iterations', '1', '--verify', 'false');
  const cwd = `.spool/worktrees/${change}`;
  const there = (...args: string[]) => project.start(args, { cwd }).result;

  expect((await there('ralph', '--status', '--change', change)).stdout).toContain(
    'Not complete: stopped at --max-iterations 1',
  );
  expect((await there('diff', change, '1')).stdout).toContain('+a');
  await there('ralph', '--change', change, '--add-context', 'Mind the gap.');
  expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toContain('Mind the gap.');
  expect(await there('land', change, '--force')).toMatchObject({ code: 1, stderr: expect.stringContaining('false') });
  expect((await there('create', 'module', 'more')).stdout).toContain('Created module');
  expect(project.exists(`${cwd}/.spool/modules/003_more/module.md`)).toBe(true);
});

test('two changes can run at the same time, one of them in a worktree', async () => {
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
    'a failing setup',
    ['--worktree', '--worktree-setup', 'echo no; exit 3'],
    1,
    /Worktree setup failed \(echo no; exit 3\): see .*setup\.log/,
  ],
  ['a branch name that git rejects', ['--branch', 'bad..name'], 2, /Cannot work on branch bad\.\.name: /],
])('%s is reported in one line, and no agent starts', async (_, args, code, message) => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...run, ...args);

  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(message);
  expect(project.calls()).toEqual([]);
});

test('--branch creates or checks out the branch and keeps uncommitted files', async () => {
  const project = createProject({ agent: [`echo $$ > x.txt; ${promise}`] });
  project.write('mine.txt', 'of the user\n');

  expect(await project.spool(...run, '--branch', 'feature/x')).toMatchObject({ code: 0 });
  expect(project.git('symbolic-ref', '--short', 'HEAD')).toBe('feature/x');
  project.git('switch', '-q', 'main');
  expect(await project.spool(...run, '--branch', 'feature/x')).toMatchObject({ code: 0 });

  expect(project.git('log', '--format=%s', 'main..feature/x').split('\n')).toHaveLength(2);
  expect(project.git('status', '--porcelain')).toBe('?? mine.txt');
});

describe('files that --branch would overwrite', () => {
  const ignored = '.env.local\nnotes\ndata/\n';
  /** `feat` tracks what `main` ignores. */
  const withBranch = (name: string) => {
    const project = createProject({ files: { '.gitignore': ignored }, agent: [promise] });
    project.git('switch', '-qc', 'feat');
    project.write(name, 'of the branch\n');
    project.git('add', '--force', name);
    project.git('commit', '-qm', 'with the file');
    project.git('switch', '-q', 'main');
    return project;
  };

  test.each([
    ['an ignored file', '.env.local', '.env.local', '.env.local'],
    ['an ignored file in place of a folder', 'notes/a b.md', 'notes', 'notes'],
    ['an ignored folder in place of a file', 'data', 'data/mine.txt', 'data'],
    ['an untracked file', 'new.txt', 'new.txt', 'new.txt'],
    ['a modified file', 'README.md', 'README.md', 'README.md'],
  ])('are kept and named: %s', async (_, name, file, shown) => {
    const project = withBranch(name);
    project.write(file, 'of the user\n');
    const snapshot = () => [
      project.git('symbolic-ref', 'HEAD'),
      project.git('for-each-ref', 'refs/heads'),
      project.git('status', '--porcelain', '--ignored', '--', '.', ':!.spool'),
      project.git('config', '--list', '--local'),
    ];
    const before = snapshot();

    const result = await project.spool(...run, '--branch', 'feat');

    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(
      `spool: Nothing was started: uncommitted files would be overwritten by the checkout of feat: ${shown}. Commit or move them first.\n`,
    );
    expect(project.read(file)).toBe('of the user\n');
    expect(snapshot()).toEqual(before);
    expect(project.calls()).toEqual([]);

    renameSync(project.path(file), project.path('../moved'));
    if (file === 'data/mine.txt') rmSync(project.path('data'), { recursive: true });
    if (file === 'README.md') project.git('restore', file);
    expect(await project.spool(...run, '--branch', 'feat')).toMatchObject({ code: 0 });
  });

  test('are kept if a filter of the branch fails as well', async () => {
    const project = withBranch('.env.local');
    project.git('switch', '-q', 'feat');
    project.write('.gitattributes', 'z.bin filter=broken\n');
    project.write('.gitignore', '');
    project.write('z.bin', 'z\n');
    project.git('add', '-A');
    project.git('commit', '-qm', 'with a filter');
    project.git('switch', '-q', 'main');
    project.git('config', 'filter.broken.smudge', 'exit 3');
    project.git('config', 'filter.broken.required', 'true');
    project.write('.env.local', 'of the user\n');
    project.write('notes', 'of the user\n');

    expect(await project.spool(...run, '--branch', 'feat')).toMatchObject({ code: 2 });
    expect(project.read('.env.local')).toBe('of the user\n');
    renameSync(project.path('.env.local'), project.path('../moved'));
    const failed = await project.spool(...run, '--branch', 'feat');

    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot work on branch feat: ') });
    expect(project.read('notes')).toBe('of the user\n');
    expect(project.git('status', '--porcelain')).toBe('');
    expect(project.exists('.env.local')).toBe(false);
  });
});

test('--worktree fails without a repository or a commit', async () => {
  const none = createProject({ git: false, agent: [promise] });
  expect(await none.spool(...run, '--worktree')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a worktree needs a git repository'),
  });

  const empty = createProject({ git: false, agent: [promise] });
  empty.git('init', '-q');
  expect(await empty.spool(...run, '--worktree')).toMatchObject({
    code: 2,
    stderr: 'spool: --worktree needs a repository with at least one commit: commit something first.\n',
  });
  expect(empty.calls()).toEqual([]);
});

test('a run in a worktree that completes without changes prints so', async () => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...run, '--worktree');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain(`Nothing was changed in the worktree: branch ${branch} has no commits.`);
  expect(result.stderr).not.toContain('land it with');
  expect(project.exists(worktree)).toBe(false);
});

test('a run outside of the worktree with the finished work of the last run says so', async () => {
  const project = createProject({ agent: [`echo x > x.txt; ${promise}`, promise, promise, promise] });
  const notice = `The last run has completed this change on ${branch}, which has not landed.`;
  await project.spool(...run, '--worktree');

  expect((await project.spool(...run, '--worktree', '--fresh')).stderr).not.toContain(notice);
  const result = await project.spool(...run);

  expect(result.stderr.replaceAll(/\s+/g, ' ')).toContain(
    `${notice} This run starts without that work. To land it: spool land ${change} --force. To continue with it instead: spool ralph ${change} --worktree`,
  );
  expect(await project.spool('land', change, '--force')).toMatchObject({ code: 0 });
  expect(project.exists('x.txt')).toBe(true);
  expect((await project.spool(...run)).stderr).not.toContain('has not landed');
});

describe('a failing post-checkout hook', () => {
  const hooked = (script: string) => {
    const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
    project.write('.git/hooks/post-checkout', `#!/bin/sh\n${script}\n`);
    chmodSync(project.path('.git/hooks/post-checkout'), 0o755);
    return project;
  };

  test.each([
    ['with a message', 'echo "git-lfs was not found on your path" >&2; exit 2', 'git-lfs was not found on your path'],
    ['without one', 'exit 1', 'exit code 1'],
  ])('%s does not stop a run with --worktree, and landing knows the base', async (_, script, message) => {
    const project = hooked(script);

    const result = await project.spool(...run, '--worktree');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain(`${branch} is checked out, but the post-checkout hook failed: ${message}`);
    expect(project.git('config', `branch.${branch}.spoolBase`)).toBe('main');
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(project.read('x.txt')).toBe('x\n');
  });

  test('does not stop a run with --branch, and landing knows the base', async () => {
    const project = hooked('exit 1');

    const result = await project.spool(...run, '--branch', 'feature');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('feature is checked out, but the post-checkout hook failed: exit code 1');
    expect(project.git('config', 'branch.feature.spoolBase')).toBe('main');
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(project.git('show', 'main:x.txt')).toBe('x');
  });

  test.each([
    ['--branch', ['--branch', 'feature'], 'feature'],
    ['--worktree', ['--worktree'], branch],
  ])('a failing checkout for %s leaves nothing behind and prints the reason', async (_, args, name) => {
    const project = createProject({ files: { 'a.bin': 'a\n' }, agent: [promise] });
    project.git('switch', '-qc', 'other');
    project.write('.gitattributes', '*.bin filter=broken\n');
    project.write('a.bin', 'b\n');
    project.git('add', '-A');
    project.git('commit', '-qm', 'with a filter');
    if (name === 'feature') {
      project.git('branch', 'feature');
      project.git('switch', '-q', 'main');
    }
    project.git('config', 'filter.broken.clean', 'cat');
    project.git('config', 'filter.broken.smudge', 'exit 3');
    project.git('config', 'filter.broken.required', 'true');
    const before = [project.git('symbolic-ref', 'HEAD'), project.git('for-each-ref', 'refs/heads')];

    const result = await project.spool(...run, ...args);

    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(new RegExp(`spool: Cannot work on branch ${name}: .*filter`));
    expect([project.git('symbolic-ref', 'HEAD'), project.git('for-each-ref', 'refs/heads')]).toEqual(before);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(project.exists(worktree)).toBe(false);
    expect(project.git('status', '--porcelain')).toBe('');
    expect(project.calls()).toEqual([]);
  });
});

describe('ignored files in a worktree', () => {
  const ignored = ['out/', '.env', '*.db', 'node_modules/', 'deps/', 'data/', 'dist/'];
  const files = {
    '.gitignore': `${ignored.join('\n')}\n`,
    '.worktreeinclude': '.env\ndata/\n',
    '.env': 'KEY=1\n',
    'data/seed.csv': 'seed\n',
  };
  const setup = ['--worktree-setup', 'mkdir -p deps; echo lib > deps/lib.txt; echo log > setup.db'];

  test.each([
    ['a new folder', 'mkdir -p out/deep; echo r > out/deep/report.html', 'out/'],
    ['a new file', 'echo rows > local.db', 'local.db'],
    ['a folder that contains one named like build output', 'mkdir -p out/build; echo r > out/build/r.sqlite', 'out/'],
    ['a changed file from the project', 'echo MORE=1 >> .env', '.env'],
    ['a new file in a folder from the project', 'echo more > data/more.csv', 'data/more.csv'],
    ['a changed file from the setup', 'echo rows >> setup.db', 'setup.db'],
    ['a new file in a folder from the setup', 'echo r > deps/report.md', 'deps/report.md'],
    ['a changed file in a folder from the setup', 'echo more >> deps/lib.txt', 'deps/'],
  ])('%s keeps the worktree, is named, and survives a landing', async (_, script, name) => {
    const project = createProject({ files, agent: [`echo x > x.txt; ${script}; ${promise}`] });

    const result = await project.spool(...run, '--worktree', ...setup);

    expect(result).toMatchObject({ code: 0 });
    const stays = `Kept ${worktree}: it has ignored files: ${name}. To remove it anyway: git worktree remove --force ${worktree}`;
    expect(result.stderr).toContain(stays);
    expect(result.stderr).toContain(`land it with: spool land ${change}`);

    const landed = await project.spool('land', change);
    expect(landed).toMatchObject({ code: 0, stderr: expect.stringContaining(stays) });
    expect(landed.stdout).toContain('Branch kept');
    expect(project.exists(`${worktree}/${name}`)).toBe(true);
    expect(project.git('rev-parse', branch)).toBe(project.git('rev-parse', 'main'));
    expect((await project.spool('land', change)).stdout).toContain('Nothing to land');
  });

  test('are not overwritten by a landing whose base has such a file by now', async () => {
    const project = createProject({ files, agent: [`echo x > x.txt; echo rows > local.db; ${promise}`] });
    await project.spool(...run, '--worktree');
    project.write('local.db', 'of the base\n');
    project.git('add', '--force', 'local.db');
    project.git('commit', '-qm', 'meanwhile');

    const landed = await project.spool('land', change);

    expect(landed).toMatchObject({ code: 0, stdout: expect.stringContaining('Branch kept') });
    expect(project.read(`${worktree}/local.db`)).toBe('rows\n');
    expect(project.read('local.db')).toBe('of the base\n');
    expect(project.git('show', 'main:x.txt')).toBe('x');
  });

  test('unchanged copies, files from the setup and files that tools recreate do not keep the worktree', async () => {
    const project = createProject({
      files,
      agent: [
        `echo x > x.txt; mkdir -p node_modules/a dist; echo a > node_modules/a/i.js; echo a > dist/a.js; ${promise}`,
      ],
    });

    const result = await project.spool(...run, '--worktree', ...setup);

    expect(result.stderr).toContain('Deleted with the worktree, as build output: dist/.');
    expect(result.stderr).toContain(`The work is on branch ${branch}; land it with: spool land ${change}`);
    expect(project.exists(worktree)).toBe(false);
  });

  test('a folder from the setup with too many files to compare is named when it is deleted', async () => {
    const project = createProject({ files, agent: [`echo x > x.txt; echo more > deps/more.txt; ${promise}`] });
    const many = 'mkdir deps; n=0; while [ $n -le 5000 ]; do : > deps/$n; n=$((n + 1)); done';

    const result = await project.spool(...run, '--worktree', '--worktree-setup', many);

    expect(result.stderr).toContain(
      'Deleted with the worktree, created by its setup and too large to look for changes in: deps/.',
    );
    expect(project.exists(worktree)).toBe(false);
  });

  test('a long list is truncated', async () => {
    const script = 'for n in 1 2 3 4 5 6 7 8; do echo $n > $n.db; done';
    const project = createProject({ files, agent: [`${script}; ${promise}`] });

    const result = await project.spool(...run, '--worktree');

    expect(result.stderr).toContain('it has ignored files: 1.db, 2.db, 3.db, 4.db, 5.db and 3 more.');
    expect(result.stderr).not.toContain('land it with');
  });
});

describe('the change is edited in the project while a worktree has a copy', () => {
  const tasks = `.spool/changes/${change}/tasks.md`;
  const proposal = `.spool/changes/${change}/proposal.md`;
  const two = '- [ ] one\n- [ ] two\n';
  const tick = (title: string) => `sed -i 's/\\[ \\] ${title}/[x] ${title}/' '${tasks}'`;
  const gate = ['--worktree', '--require-tasks'];
  const listed = async (project: ReturnType<typeof createProject>) =>
    JSON.parse((await project.spool('list', '--json')).stdout) as { tasks: unknown; lastRun: unknown }[];

  test('a task added between two runs must be done and is shown everywhere', async () => {
    const project = createProject({
      files: { [tasks]: two },
      agent: [tick('one'), `${tick('two')}; ${promise}`, `${tick('three')}; ${promise}`],
    });
    expect(await project.spool(...run, ...gate, '--max-iterations', '1')).toMatchObject({ code: 3 });
    project.write(tasks, `${two}- [ ] three\n`);
    expect(await listed(project)).toMatchObject([{ tasks: { done: 1, total: 3 }, lastRun: { landed: false } }]);
    expect((await project.spool('show', change)).stdout).toContain(
      'Tasks     1 of 3 done\n  [x] one\n  [ ] two\n  [ ] three\n',
    );

    const result = await project.spool(...run, ...gate);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain(`Copied your changes to the worktree: ${tasks}.`);
    expect(project.history().map(({ rejected }) => rejected)).toEqual([null, '1 open task: "three"', null]);
    expect(project.state().tasks).toEqual({ done: 3, total: 3 });
    expect(project.read(tasks)).toBe(`${two}- [ ] three\n`);
    expect(await listed(project)).toMatchObject([{ tasks: { done: 3, total: 3 }, lastRun: { landed: false } }]);
    expect((await project.spool('list')).stdout).toMatch(/ 3\/3 +complete, not landed +2 +just now$/m);

    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(project.read(tasks)).toBe('- [x] one\n- [x] two\n- [x] three\n');
    expect((await project.spool('list')).stdout).toMatch(/ 3\/3 +landed +2 +just now$/m);
    expect((await project.spool('show', change)).stdout).toContain('Last run  landed, iteration 2');
  });

  test('an edit during an iteration applies to it and is not attributed to the agent', async () => {
    const added = `${two}- [ ] three\n`.replaceAll('\n', String.raw`\n`);
    const edit = `printf -- '${added}' > "$ROOT/${tasks}"; echo '# Other' > "$ROOT/${proposal}"`;
    const project = createProject({
      files: { [tasks]: two },
      agent: [`${tick('one')}; ${tick('two')}; ${edit}; ${promise}`, `${tick('three')}; ${promise}`],
    });

    const result = await project.start([...run, ...gate], { env: { ROOT: project.folder } }).result;

    expect(result).toMatchObject({ code: 0 });
    expect(project.history().map(({ rejected }) => rejected)).toEqual(['1 open task: "three"', null]);
    expect(project.history()[1]!.git!.files).toEqual([tasks]);
    expect(project.git('show', `${branch}:${tasks}`)).toBe('- [x] one\n- [x] two\n- [x] three');
    expect(project.read(proposal)).toBe('# Other\n');
  });

  test('an edit after a kill is not attributed to the agent', async () => {
    const project = createProject({
      files: { [tasks]: two },
      agent: ['touch "$HOME/ready"; sleep 300', `${tick('one')}; ${promise}`],
    });
    const loop = project.start([...run, ...gate]);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the agent to work');
    loop.kill('SIGKILL');
    await loop.result;
    project.write(tasks, '- [ ] one\n');
    project.write(proposal, '# Less\n');

    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([{ completionFound: true, tasks: { done: 1, total: 1 } }]);
  });

  test('an edit of the goal by the agent stays its own after an edit of the user is merged', async () => {
    const lines = Array.from({ length: 9 }, (_, index) => `Line ${index + 1}.\n`);
    const tamper = `sed -i 's/^Line 9.$/Nothing./' '${proposal}'`;
    const edit = `sed -i 's/^Line 1.$/First of all./' "$ROOT/${proposal}"`;
    const project = createProject({
      files: { [proposal]: lines.join('\n') },
      agent: [`${tamper}; ${edit}; ${promise}`, promise],
    });

    const args = [...run, '--worktree', '--max-iterations', '2'];
    const result = await project.start(args, { env: { ROOT: project.folder } }).result;

    expect(result).toMatchObject({ code: 3 });
    expect(project.history().map(({ rejected }) => rejected)).toEqual([
      expect.stringContaining('proposal.md was changed'),
      expect.stringContaining('proposal.md was changed'),
    ]);
  });

  test('tasks that both sides append are kept', async () => {
    const project = createProject({
      files: { [tasks]: two },
      agent: [`${tick('one')}; echo '- [ ] found by the agent' >> '${tasks}'`, `${tick('')}; ${promise}`],
    });
    expect(await project.spool(...run, ...gate, '--max-iterations', '1')).toMatchObject({ code: 3 });
    project.write(tasks, `${two}- [ ] added by a person\n`);

    expect(await listed(project)).toMatchObject([{ tasks: { done: 1, total: 4 } }]);
    expect(await project.spool(...run, ...gate)).toMatchObject({ code: 0 });
    const both = '- [x] one\n- [x] two\n- [x] added by a person\n- [x] found by the agent';
    expect(project.git('show', `${branch}:${tasks}`)).toBe(both);
  });

  test('a ticked box without a space next to an added line does not conflict', async () => {
    const project = createProject({
      files: { [tasks]: '- [] one\n- [  ] two\n' },
      agent: [`sed -i 's/- \\[\\] one/- [x] one/' '${tasks}'`, `sed -i 's/\\[ *\\]/[x]/' '${tasks}'; ${promise}`],
    });
    expect(await project.spool(...run, ...gate, '--max-iterations', '1')).toMatchObject({ code: 3 });
    project.write(tasks, '- [] one\n- [  ] zero\n- [  ] two\n');

    expect(await project.spool(...run, ...gate)).toMatchObject({ code: 0 });
    expect(project.git('show', `${branch}:${tasks}`)).toBe('- [x] one\n- [x] zero\n- [x] two');
  });

  test('a task that both sides reworded is an error that names the file', async () => {
    const project = createProject({
      files: { [tasks]: two },
      agent: [`sed -i 's/two/zwei/' '${tasks}'`],
    });
    expect(await project.spool(...run, '--worktree', '--max-iterations', '1')).toMatchObject({ code: 3 });
    project.write(tasks, '- [ ] one\n- [ ] deux\n');

    const result = await project.spool(...run, '--worktree');
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(tasks) });
    expect(await project.spool('list')).toMatchObject({ code: 0 });
  });

  test('added, deleted and changed files are copied', async () => {
    const design = `.spool/changes/${change}/design.md`;
    const extra = `.spool/changes/${change}/specs/x/spec.md`;
    const project = createProject({
      files: { [tasks]: two, [design]: '# Design\n' },
      agent: [
        tick('one'),
        `cat ${extra} '${proposal}' > seen.txt; [ -e '${design}' ] || echo gone >> seen.txt; exit 1`,
      ],
    });
    await project.spool(...run, '--worktree', '--max-iterations', '1');
    project.write(extra, '# Spec\n');
    project.write(proposal, '# Better\n');
    rmSync(project.path(design));

    await project.spool(...run, '--worktree', '--fail-fast');

    expect(project.read(`${worktree}/seen.txt`)).toBe('# Spec\n# Better\ngone\n');
    expect(project.calls()[1]!.prompt).toContain('# Better');
    expect(project.calls()[1]!.prompt).toContain('- specs/x/spec.md\n- tasks.md\n\n');
    expect(project.read(`${worktree}/${tasks}`)).toContain('- [x] one');
  });

  test('a branch created right before a kill gets the current change', async () => {
    const project = createProject({ files: { [tasks]: two }, agent: ['exit 1'] });
    project.git('worktree', 'add', '-q', '-b', branch, worktree);
    project.write(proposal, '# Not committed\n');

    await project.spool(...run, '--worktree', '--fail-fast');

    expect(project.read(`${worktree}/${proposal}`)).toBe('# Not committed\n');
  });

  test('lines that both sides changed are an error at the start that says what to do', async () => {
    const project = createProject({ agent: [`echo '# Of the agent' > '${proposal}'`, promise] });
    await project.spool(...run, '--worktree', '--max-iterations', '1', '--allow-tampering');
    project.write(proposal, '# Of the person\n');

    const result = await project.spool(...run, '--worktree', '--allow-tampering');

    const how = `cp ${proposal} ${worktree}/${proposal}`;
    expect(result).toMatchObject({ code: 2 });
    expect(result.stderr).toContain(
      `Conflict in ${proposal}: the same lines were changed in the project and in the worktree. To keep yours: ${how}\n`,
    );
    expect(project.calls()).toHaveLength(1);
    project.write(`${worktree}/${proposal}`, '# Of the person\n');
    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
  });

  test.each([
    ['not committed', false],
    ['committed', true],
  ])("once both sides are equal it lands, with the user's version %s", async (_, isCommitted) => {
    const project = createProject({ agent: [`echo '# Of the agent' > '${proposal}'; echo x > x.txt`, promise] });
    await project.spool(...run, '--worktree', '--max-iterations', '1', '--allow-tampering');
    project.write(proposal, '# Of the person\n');
    project.write(`${worktree}/${proposal}`, '# Of the person\n');

    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });

    expect(project.git('show', `${branch}:${proposal}`)).toBe('# Of the person');
    if (isCommitted) project.git('commit', '-qam', 'mine');
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(project.git('show', `HEAD:${proposal}`)).toBe('# Of the person');
    expect(project.read(proposal)).toBe('# Of the person\n');
    expect(project.read('x.txt')).toBe('x\n');
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('a merged edit is part of the next commit if git tracks the file', async () => {
    const config = '.spool/config.json';
    const project = createProject({
      files: { [tasks]: two, [config]: '{ "maxIterations": 9 }\n' },
      agent: ['echo x > x.txt', `echo y > y.txt; ${promise}`],
    });
    await project.spool(...run, '--worktree', '--max-iterations', '1');
    project.write(tasks, `${two}- [ ] three\n`);
    project.write(`.spool/changes/${change}/design.md`, '# Not tracked\n');
    project.write(config, '{}\n');

    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });

    expect(project.git('show', '--format=', '--name-only', branch).split('\n')).toEqual([tasks, 'y.txt']);
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(project.read(tasks)).toBe(`${two}- [ ] three\n`);
    expect(project.read(config)).toBe('{}\n');
    expect(project.git('status', '--porcelain').split('\n')).toEqual([
      `M ${config}`,
      `?? .spool/changes/${change}/design.md`,
    ]);
  });

  test('a conflict during a run is reported once, and promises are rejected until it is resolved', async () => {
    const mess = `echo '# Of the agent' > '${proposal}'; echo '# Of the person' > "$ROOT/${proposal}"`;
    const project = createProject({
      agent: [`${mess}; ${promise}`, promise, `cp "$ROOT/${proposal}" '${proposal}'; ${promise}`],
    });

    const args = [...run, '--worktree', '--allow-tampering'];
    const result = await project.start(args, { env: { ROOT: project.folder } }).result;

    expect(result).toMatchObject({ code: 0 });
    const why = `Conflict in ${proposal}: it was changed in the project and in the worktree; to use yours: cp ${proposal} ${worktree}/${proposal}`;
    expect(project.history().map(({ rejected }) => rejected)).toEqual([why, why, null]);
    expect(project.calls()[1]!.prompt).toContain(why);
  });

  test('the copy in a deleted worktree is restored in the next one', async () => {
    const project = createProject({
      files: { [tasks]: two },
      agent: [`${tick('one')}; git commit -q --allow-empty -m mine; ${promise}`, 'exit 1'],
    });
    project.git('rm', '-rq', '--cached', '.spool');
    project.git('commit', '-qm', 'without .spool');
    await project.spool(...run, '--worktree', '--no-commit');
    expect(project.exists(worktree)).toBe(false);
    project.write(tasks, `${two}- [ ] three\n`);
    expect(await listed(project)).toMatchObject([{ tasks: { done: 1, total: 3 } }]);

    await project.spool(...run, '--worktree', '--fail-fast');

    expect(project.read(`${worktree}/${tasks}`)).toBe('- [x] one\n- [ ] two\n- [ ] three\n');
  });
});

describe('no work is lost with a worktree', () => {
  test('an agent that deletes the .git of its worktree does not reach the surrounding repository', async () => {
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
    ['a detached HEAD', 'git checkout -q --detach; echo x > x.txt', 'it is on no branch'],
    [
      'a nested repository',
      'git init -q nested; cd nested; git commit -q --allow-empty -m x; cd ..; git add -A; git commit -qm x',
      'there are repositories inside it',
    ],
  ])('a worktree with %s is kept', async (_, script, why) => {
    const project = createProject({ agent: [`${script}; ${promise}`] });

    const result = await project.spool(...run, '--worktree');

    expect(result.stderr).toContain(`Kept ${worktree}: ${why}`);
    expect(project.exists(worktree)).toBe(true);
  });

  test('a nested repository that an agent creates is not committed as a gitlink', async () => {
    const project = createProject({
      agent: [`git init -q nested; git -C nested commit -q --allow-empty -m x; echo x > x.txt; ${promise}`],
    });

    const result = await project.spool(...run);

    expect(result.stderr).toContain('Not committed: nested (nested repository).');
    expect(project.git('show', '--format=', '--name-only')).toBe('x.txt');
  });

  test('a failed setup runs again, and a deleted worktree is created again', async () => {
    const project = createProject({ agent: [`cat setup.txt > seen.txt; exit 1`] });
    const setup = ['--worktree', '--worktree-setup', '[ -e "$HOME/ok" ] && echo ready > setup.txt', '--fail-fast'];
    expect(await project.spool(...run, ...setup)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Worktree setup failed'),
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
  ] as const)('a setup terminated by %s runs again', async (signal, code) => {
    const project = createProject({ agent: [`cat setup.txt > seen.txt; exit 1`] });
    const setup = `touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.01; done; echo ready > setup.txt`;
    const args = [...run, '--worktree', '--worktree-setup', setup, '--fail-fast'];
    const first = project.start(args);
    await eventually(() => project.exists('../home/begun'), 'the setup to begin');
    first.kill(signal);

    expect(await first.result).toMatchObject({
      code,
      stderr: expect.stringMatching(/Ctrl-C again to force quit\)\nspool: Interrupted: nothing was started\.\n$/),
    });
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    project.write('../home/go', '');
    await project.spool(...args);
    expect(readFileSync(project.path(`${worktree}/seen.txt`), 'utf8')).toBe('ready\n');
  });

  test('a setup of a killed Spool is terminated before it runs again', async () => {
    const project = createProject({ agent: [promise] });
    const setup = `exec 2> /dev/null; trap 'rmdir "$HOME/only-one"; exit 1' TERM; mkdir "$HOME/only-one" || touch "$HOME/both"
      echo begun >> "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.01; done`;
    const args = [...run, '--worktree', '--worktree-setup', setup];
    const first = project.start(args);
    await eventually(() => project.exists('../home/begun'), 'the setup to begin');
    first.kill('SIGKILL');
    await first.result;
    const second = project.start(args);
    await eventually(() => project.read('../home/begun') === 'begun\nbegun\n', 'the setup to begin again');
    project.write('../home/go', '');

    expect(await second.result).toMatchObject({ code: 0 });
    expect(project.exists('../home/both')).toBe(false);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('a rewind fails if the worktree of the run is gone', async () => {
    const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
    await project.spool(...run, '--worktree');
    project.write('mine.txt', 'of the user\n');

    expect(await project.spool('rewind', change, '0')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no longer exists'),
    });
    expect(project.exists('mine.txt')).toBe(true);
  });
});

describe('a worktree that its agent deletes', () => {
  const left = `${worktree} was deleted during the run. Branch ${branch} has its commits, and the next run creates the worktree again.`;

  test.each([
    ['with rm', 'rm -rf "$PWD"'],
    ['with git', `git -C "$HOME/../project" worktree remove --force "$PWD"`],
    ['together with its promise', `rm -rf "$PWD"; ${promise}`],
  ])('%s ends the run, which says what is left and how to continue', async (_, deletion) => {
    const project = createProject({ agent: ['echo a > a.txt', deletion, `echo b > b.txt; ${promise}`] });

    const failed = await project.spool(...run, '--worktree', '--max-iterations', '9');

    const text = failed.stderr.replaceAll(/\s+/g, ' ');
    expect(failed.code).toBe(1);
    expect(text).toContain(`the agent could not be started: ${project.path(worktree)} does not exist any more`);
    expect(text).toContain(`${project.path(worktree)} was deleted: changes are no longer tracked or committed.`);
    expect(text).toContain(left);
    expect(text).not.toMatch(/interpreter|The work is in|\.git was deleted/);
    const again = /Try again (spool ralph .*? --resume)/.exec(text)![1]!;
    expect(await project.spool(...again.split(' ').slice(1))).toMatchObject({ code: 0 });
    expect(project.git('ls-tree', '--name-only', branch).split('\n')).toEqual(
      expect.arrayContaining(['a.txt', 'b.txt']),
    );
  });

  test('with its branch has its work in checkpoints', async () => {
    const inProject = 'git -C "$HOME/../project"';
    const deletion = `${inProject} worktree remove --force "$PWD"; ${inProject} branch -q -D ${branch}`;
    const project = createProject({ agent: ['echo a > a.txt', deletion] });

    const { stderr } = await project.spool(...run, '--worktree');

    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `${worktree} was deleted during the run. So was branch ${branch}. Checkpoints of its work: spool diff ${change} --all`,
    );
    expect((await project.spool('diff', change, '--all')).stdout).toContain('a.txt');
  });
});

import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change];
const files = { 'staged.txt': 'old\n', 'dirty.txt': 'old\n', 'touched.txt': 'old\n', 'gone.txt': 'old\n' };

test('the commit includes what the iteration changed, and no changes of the user', async () => {
  const project = createProject({
    files,
    agent: [
      `echo new > made.txt; echo new > touched.txt; rm gone.txt; mkdir -p 'od d'; echo x > 'od d/na"me*'; echo x > HEAD; ${promise}`,
    ],
  });
  project.write('staged.txt', 'staged by the user\n');
  project.git('add', 'staged.txt');
  project.write('dirty.txt', 'edited by the user\n');
  project.write('untracked.txt', 'made by the user\n');
  const before = project.git('status', '--porcelain');

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(project.git('status', '--porcelain')).toBe(before);
  expect(project.git('log', '-1', '--format=%s')).toBe('ralph(002-01): iteration 1');
  expect(project.git('diff', '--name-status', '-z', 'HEAD~1', 'HEAD', '--').split('\0').filter(Boolean)).toEqual(
    [
      ['A', 'HEAD'],
      ['D', 'gone.txt'],
      ['A', 'made.txt'],
      ['A', 'od d/na"me*'],
      ['M', 'touched.txt'],
    ].flat(),
  );
  expect(project.history()[0]!.git).toMatchObject({ filesChanged: 5 });
});

test('--no-commit leaves the changes uncommitted', async () => {
  const project = createProject({ agent: [`echo new > made.txt; ${promise}`] });

  await project.spool(...run, '--no-commit');

  expect(project.git('log', '--format=%s')).toBe('start');
  expect(project.git('status', '--porcelain')).toBe('?? made.txt');
  expect(project.history()).toMatchObject([{ commit: null, git: { files: ['made.txt'] } }]);
});

test('commits of the agent are counted and not committed again', async () => {
  const project = createProject({
    agent: [`echo a > a.txt; git add a.txt; git commit -qm mine; echo b > b.txt; ${promise}`],
  });

  await project.spool(...run);

  expect(project.git('log', '--format=%s').split('\n')).toEqual(['ralph(002-01): iteration 1', 'mine', 'start']);
  expect(project.git('show', '--format=', '--name-only')).toBe('b.txt');
  expect(project.history()[0]!.git).toMatchObject({ files: ['a.txt', 'b.txt'] });
});

test('an agent that commits everything itself causes no commit and no message', async () => {
  const project = createProject({
    agent: [`unset GIT_DIR GIT_INDEX_FILE; echo a > a.txt; git add a.txt; git commit -qm mine; ${promise}`],
  });

  const result = await project.start(run, { env: { GIT_DIR: '/nowhere', GIT_INDEX_FILE: '/nowhere' } }).result;

  expect(result.stderr).not.toContain('No commit');
  expect(project.history()).toMatchObject([{ commit: null }]);
});

test('an unusable repository is reported, and the loop continues without git', async () => {
  const project = createProject({ agent: [promise] });
  project.write('.git/config', '[core]\n\trepositoryformatversion = 99\n');

  const result = await project.spool(...run);

  expect(result.code).toBe(0);
  expect(result.stderr).toMatch(/Nothing will be committed, because git refuses: \S+/);
});

test('an iteration without changes creates no commit', async () => {
  const project = createProject({ agent: [promise] });
  project.write('dirty.txt', 'x\n');

  await project.spool(...run);

  expect(project.git('log', '--format=%s')).toBe('start');
  expect(project.history()).toMatchObject([{ commit: null, git: { filesChanged: 0, files: [] } }]);
});

test('works in a repository without commits and in a subfolder of a repository', async () => {
  const project = createProject({
    git: false,
    files: { 'deep/.spool/changes/001-01_x/proposal.md': '# X\n' },
    agent: [`echo x > made.txt; ${promise}`],
  });
  project.git('init', '--quiet');

  expect(await project.start(['ralph', '--change', '001'], { cwd: 'deep' }).result).toMatchObject({ code: 0 });

  expect(project.git('show', '--format=%s', '--name-only', 'HEAD').split('\n').filter(Boolean)).toEqual([
    'ralph(001-01): iteration 1',
    'deep/made.txt',
  ]);
});

test('a rejection by a hook is reported, and the index stays unchanged', async () => {
  const project = createProject({ agent: [`echo x > made.txt; ${promise}`] });
  project.write('.git/hooks/pre-commit', '#!/bin/sh\necho "no such luck" >&2\nexit 1\n');
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

  const result = await project.spool(...run);

  expect(result.code).toBe(0);
  expect(result.stderr).toContain('No commit: no such luck');
  expect(project.git('status', '--porcelain')).toBe('?? made.txt');
  expect(project.history()).toMatchObject([{ commit: null, completionFound: true, git: { files: ['made.txt'] } }]);
});

test('files that a hook adds to the commit are in the index afterwards, and files that the user staged stay staged', async () => {
  const project = createProject({
    files: { 'list.txt': 'old\n', 'staged.txt': 'old\n' },
    agent: [`echo x > made.txt; ${promise}`],
  });
  project.write('staged.txt', 'staged by the user\n');
  project.git('add', 'staged.txt');
  const hook = 'echo new > list.txt; echo new > more.txt; echo hook > staged.txt; git add list.txt more.txt staged.txt';
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${hook}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

  await project.spool(...run);

  expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual([
    'list.txt',
    'made.txt',
    'more.txt',
    'staged.txt',
  ]);
  expect(project.git('status', '--porcelain')).toBe('MM staged.txt');
  expect(project.git('show', ':staged.txt')).toBe('staged by the user');
});

test('hooks get the same environment as without Spool', async () => {
  const project = createProject({ agent: [`echo 'a' > code.js; ${promise}`] });
  project.write(
    '.git/hooks/pre-commit',
    "#!/bin/sh\ngit diff --cached --name-only -- '*.js' > .git/seen\nenv > .git/env\n",
  );
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

  await project.spool(...run);

  expect(project.read('.git/seen')).toBe('code.js\n');
  expect(project.read('.git/env')).not.toMatch(/^(GIT_LITERAL_PATHSPECS|LC_ALL)=/m);
});

test('a hook that starts a background process does not block the loop', async () => {
  const project = createProject({ agent: [`echo x > made.txt; ${promise}`] });
  project.write('.git/hooks/post-commit', '#!/bin/sh\n(until [ -e .git/go-on ]; do sleep 0.05; done) &\n');
  chmodSync(project.path('.git/hooks/post-commit'), 0o755);

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  project.write('.git/go-on', '');
});

test('a hanging hook is killed by the second signal, and git leaves no lock behind', async () => {
  const project = createProject({ agent: [`echo x > made.txt; ${promise}`] });
  project.write('.git/hooks/pre-commit', '#!/bin/sh\ntrap "" TERM\ntouch .git/hangs\nwhile :; do sleep 0.05; done\n');
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
  const loop = project.start(run);
  await eventually(() => project.exists('.git/hangs'), 'the hook to hang');

  loop.kill('SIGINT');
  await loop.printed('Ctrl-C again to force quit');
  loop.kill('SIGINT');

  const result = await loop.result;
  expect(result.stderr).toContain('No commit: git was terminated by SIGTERM');
  expect(project.git('status', '--porcelain')).toBe('?? made.txt');
  expect(project.history()).toMatchObject([{ completionFound: true, commit: null }]);
});

test('a nested repository, even without commits, does not hide other changes', async () => {
  const project = createProject({ agent: [`git init -q nested; echo x > nested/file; echo y > made.txt; ${promise}`] });

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(project.history()).toMatchObject([{ git: { files: ['made.txt', 'nested'] } }]);
  expect(project.git('show', '--format=', '--name-only')).toBe('made.txt');
});

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { gitState, rewindsExactly, treeOf } from '../support/rewinds.ts';

const run = ['ralph', '--change', change, '--max-stalled', 'unlimited'];

const tempFolders = (project: TestProject) => readdirSync(join(project.home, '.local/state/spool/tmp'));

/** Starts a run, and kills it once its agent has created the file `ready`. */
const killedWhenReady = async (project: TestProject): Promise<void> => {
  const loop = project.start(run);
  await eventually(() => existsSync(join(project.home, 'ready')), 'the agent');
  loop.kill('SIGKILL');
  await loop.result;
};

const refuseUntilOk = (project: TestProject): void => {
  project.write('.git/hooks/pre-commit', '#!/bin/sh\n[ -e ok ]\n');
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
};

test('each iteration creates a checkpoint with its own diff and leaves branch and index unchanged', async () => {
  const project = createProject({
    files: { 'a.txt': 'one\n', 'gone.txt': 'x\n' },
    agent: [
      'echo two >> a.txt; echo new > new.txt',
      'rm gone.txt; git mv a.txt b.txt 2>/dev/null || mv a.txt b.txt',
      promise,
    ],
  });
  project.write('staged.txt', 'staged\n');
  project.git('add', 'staged.txt');
  const before = gitState(project);

  expect(await project.spool(...run, '--no-commit')).toMatchObject({ code: 0 });

  expect(gitState(project)).toEqual({ ...before, index: expect.stringContaining('staged.txt') });
  const [first, second, third] = project.history();
  expect(first!.git).toMatchObject({
    filesChanged: 2,
    changes: [
      { status: 'modified', path: 'a.txt' },
      { status: 'added', path: 'new.txt' },
    ],
    commits: [],
  });
  expect(second!.git!.changes).toContainEqual({ status: 'renamed', path: 'b.txt', from: 'a.txt' });
  expect(second!.git!.changes).toContainEqual({ status: 'deleted', path: 'gone.txt' });
  expect(third!.git).toMatchObject({ filesChanged: 0 });
  const refs = project.git('for-each-ref', '--format=%(refname:lstrip=4) %(objectname)', 'refs/spool').split('\n');
  expect(refs.map((line) => line.split(' ')[0])).toEqual(['0', '1', '2', '3']);
  expect(refs[2]).toContain(second!.checkpoint);

  const diff = await project.spool('diff', change, '2', '--stat');
  expect(diff).toMatchObject({ code: 0 });
  expect(diff.stdout).toMatch(/a\.txt => b\.txt/);
  expect(diff.stdout).not.toContain('new.txt');
  const all = await project.spool('diff', change, '0..2');
  expect(all.stdout).toContain('+++ b/new.txt');
  expect((await project.spool('diff', change, '3')).stdout).toBe('');
});

test('spool diff shows the latest iteration of a run that is running, and the whole run when it has ended', async () => {
  const project = createProject({
    agent: ['echo 1 > first.txt', 'echo 2 > second.txt', `${waitsFor('go-on')}; ${promise}`],
  });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  const running = await project.spool('diff', change, '--stat');
  project.write('go-on', '');
  await loop.result;
  const id = project.history()[0]!.run;

  expect(running.stdout).toMatch(/second\.txt/);
  expect(running.stdout).not.toMatch(/first\.txt/);
  expect((await project.spool('diff', change, '--stat')).stdout).toMatch(/first\.txt[^]*second\.txt/);

  project.write('../home/agent/3.sh', `rm -f go-on; ${waitsFor('go-on')}; ${promise}`);
  const next = project.start([...run, '--fresh']);
  await next.printed('waiting for go-on');
  expect((await project.spool('diff', change, '--stat', '--run', id)).stdout).toMatch(/first\.txt[^]*second\.txt/);
  project.write('go-on', '');
  await next.result;
});

test('edits that the user makes between two iterations belong to neither', async () => {
  const project = createProject({ agent: ['echo 1 > agent.txt; exit 1', 'echo 2 > agent.txt', promise] });
  const loop = project.start([...run, '--retry-delay', '1s']);
  await loop.printed('Resuming');
  project.write('person.txt', 'mine\n');

  expect(await loop.result).toMatchObject({ code: 0 });
  expect(project.history().map(({ git }) => git!.files)).toEqual([['agent.txt'], ['agent.txt'], []]);
  expect((await project.spool('diff', change, '2')).stdout).not.toContain('person.txt');
  expect((await project.spool('diff', change, '1..2')).stdout).toContain('person.txt');
  expect(project.git('status', '--porcelain')).toBe('?? person.txt');
});

test('an iteration without changes has a checkpoint with an empty diff, even after edits by the user', async () => {
  const project = createProject({ agent: ['echo 1 > a.txt', 'true', 'true', 'true'] });
  const loop = (n: string) => project.spool(...run, '--max-iterations', n);
  await loop('2');
  const diff = (...args: string[]) => project.spool('diff', change, ...args);

  expect((await diff('1')).stdout).toContain('+1');
  expect((await diff('2')).stdout).toBe('');
  expect((await diff('0..2')).stdout).toContain('+1');

  const kept = createProject({ agent: ['true', 'echo "{}" > "$HOME/limit"; sleep 300', 'true'] });
  const first = kept.start([...run, '--no-commit']);
  await eventually(() => existsSync(join(kept.home, 'limit')), 'the second iteration');
  first.kill('SIGKILL');
  await first.result;
  kept.write('mine.txt', 'a person\n');
  await kept.spool(...run, '--no-commit', '--max-iterations', '3');
  expect(kept.history().map(({ git }) => git?.files)).toEqual([[], [], []]);
  expect((await kept.spool('diff', change, '2')).stdout).toBe('');
  expect((await kept.spool('diff', change, '1..2')).stdout).toContain('+a person');
});

test('commits that a branch already had are not attributed to the agent', async () => {
  const project = createProject({
    agent: [
      'git switch --quiet other; git commit --quiet --allow-empty -m mine',
      `git reset --quiet --hard HEAD~1; ${promise}`,
    ],
  });
  project.git('switch', '--quiet', '-c', 'other');
  for (const message of ['one', 'two', 'three']) project.git('commit', '--quiet', '--allow-empty', '-m', message);
  project.git('switch', '--quiet', '-');

  await project.spool(...run, '--no-commit');

  const subjects = project
    .history()
    .map(({ git }) => git?.commits.map((commit) => project.git('show', '--no-patch', '--format=%s', commit)));
  expect(subjects).toEqual([['mine'], []]);
});

describe('checkpoints survive', () => {
  test('an agent that runs git gc', async () => {
    const project = createProject({ agent: ['true', 'git gc --quiet --prune=now; echo b > b.txt', promise] });

    await project.spool(...run, '--verify-each', '--verify', 'echo h >> human.txt');

    expect(project.history().map(({ git }) => git?.files)).toEqual([[], ['b.txt'], []]);
    expect(project.history().every(({ checkpoint }) => checkpoint !== null)).toBe(true);
    expect((await project.spool('diff', change, '2')).stdout).toContain('+b');
    expect(await project.spool('rewind', change, 'before-2')).toMatchObject({ code: 0 });
    expect(project.exists('b.txt')).toBe(false);
    expect(project.read('human.txt')).toBe('h\n');
  });

  test('an agent that recreates the repository', async () => {
    const project = createProject({
      agent: ['echo a > a.txt', 'rm -rf .git; git init --quiet; echo b > b.txt', `echo c > c.txt; ${promise}`],
    });

    const { stderr } = await project.spool(...run, '--no-commit');

    expect(stderr).toContain('git cannot read the work tree: no checkpoint or commit');
    expect(project.history().map(({ checkpoint }) => checkpoint !== null)).toEqual([true, false, true]);
    expect(project.history()[2]).toMatchObject({ git: { files: ['c.txt'] } });
    expect((await project.spool('diff', change, '3')).stdout).toContain('+c');
  });
});

test('files that a gate writes are not attributed to the next iteration', async () => {
  const project = createProject({ agent: ['echo 1 > a.txt', 'true', promise] });

  await project.spool(...run, '--verify', 'date +%N > coverage.txt', '--verify-each');

  expect(project.history().map(({ git }) => git?.files)).toEqual([['a.txt'], [], []]);
  expect(project.git('status', '--porcelain')).toBe('?? coverage.txt');
});

test('newly ignored files are no longer committed or counted', async () => {
  const project = createProject({
    agent: [
      'echo 2 > build/a; echo build/ > .gitignore',
      'echo 3 > build/a; echo b > b.txt',
      'echo 2 > notes.txt; echo notes.txt >> .git/info/exclude',
      `echo 3 > notes.txt; ${promise}`,
    ],
  });
  project.write('build/a', '1\n');
  project.write('notes.txt', '1\n');

  await project.spool(...run);

  expect(project.git('log', '--format=', '--name-only').split('\n')).not.toContain('build/a');
  expect(project.git('log', '--format=', '--name-only').split('\n')).not.toContain('notes.txt');
  expect(project.history().map(({ commit }) => commit !== null)).toEqual([true, true, false, false]);
  expect(project.history().map(({ git }) => git!.files)).toEqual([
    ['.gitignore', 'build/a'],
    ['b.txt'],
    ['notes.txt'],
    [],
  ]);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('in a sparse checkout, files that an agent writes outside the cone are counted, committed and restored', async () => {
  const project = createProject({
    files: { 'in/a.txt': 'a\n', 'out/b.txt': 'b\n' },
    agent: [`mkdir -p out; echo new > out/new.txt; echo more >> in/a.txt; ${promise}`],
  });
  project.git('sparse-checkout', 'set', 'in', '.spool');
  expect(project.exists('out/b.txt')).toBe(false);

  await project.spool(...run);

  expect(project.history()[0]).toMatchObject({ git: { files: ['in/a.txt', 'out/new.txt'], deletions: 0 } });
  expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['in/a.txt', 'out/new.txt']);
  expect(project.git('ls-tree', '-r', '--name-only', 'HEAD', 'out').split('\n')).toEqual(['out/b.txt', 'out/new.txt']);
  expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
  expect(project.read('in/a.txt')).toBe('a\n');
  expect(project.exists('out/new.txt')).toBe(false);
  expect(project.exists('out/b.txt')).toBe(false);
});

test('commits and edits in a submodule are counted, and a rewind leaves the submodule unchanged', async () => {
  const library = createProject({ files: { 'lib.txt': 'one\n' } });
  const inside = 'git -C sub -c user.name=A -c user.email=a@localhost';
  const project = createProject({
    agent: [
      `echo two > sub/lib.txt; echo new > own.txt`,
      `${inside} commit --quiet --all -m two; echo three > sub/lib.txt; ${promise}`,
    ],
  });
  project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.folder, 'sub');
  project.git('commit', '--quiet', '-m', 'a submodule');
  const before = project.git('-C', 'sub', 'rev-parse', 'HEAD');

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  const after = project.git('-C', 'sub', 'rev-parse', 'HEAD');
  expect(project.history().map(({ git }) => git?.changes)).toEqual([
    [
      { status: 'added', path: 'own.txt' },
      { status: 'modified', path: 'sub/lib.txt' },
    ],
    [
      { status: 'modified', path: 'sub' },
      { status: 'modified', path: 'sub/lib.txt' },
    ],
  ]);
  expect(project.git('ls-tree', 'HEAD', 'sub')).toContain(after);
  expect(project.git('ls-tree', 'HEAD~1', 'sub')).toContain(before);

  expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
  expect(project.exists('own.txt')).toBe(false);
  expect(project.git('-C', 'sub', 'rev-parse', 'HEAD')).toBe(after);
  expect(project.read('sub/lib.txt')).toBe('three\n');
});

test('the history lists the commits that an agent creates itself', async () => {
  const project = createProject({
    agent: [`git commit -q --allow-empty -m one; git commit -q --allow-empty -m two; ${promise}`],
  });

  await project.spool(...run);

  const commits = project.git('log', '--reverse', '--format=%H', '-2').split('\n');
  expect(project.history()[0]!.git).toMatchObject({ filesChanged: 0, commits });
});

describe('spool rewind', () => {
  test('restores the work tree, saves the current state, and can be undone', async () => {
    const project = createProject({
      files: { 'a.txt': 'one\n', '.gitignore': 'ignored\n' },
      agent: ['echo 1 > new.txt; echo 1 > a.txt; mkdir -p d/e; echo x > d/e/f', 'rm -r d; rm a.txt', promise],
    });
    await project.spool(...run);
    project.write('ignored', 'stays\n');
    project.write('person.txt', 'mine\n');
    project.git('add', 'person.txt');
    const now = treeOf(project.folder);
    const state = gitState(project);

    const dry = await project.spool('rewind', change, '1', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: 'A  a.txt\nA  d/e/f\nD  person.txt\n' });
    expect(treeOf(project.folder)).toEqual(now);

    const back = await project.spool('rewind', change, '1');
    expect(back).toMatchObject({ code: 0, stderr: '' });
    expect(back.stdout).toContain(`Undo: spool rewind ${change} r1\n`);
    expect(treeOf(project.folder)).toEqual({
      '.gitignore': '- ignored\n',
      'README.md': '- A project.\n',
      'a.txt': '- 1\n',
      'd/e/f': '- x\n',
      'new.txt': '- 1\n',
      ignored: '- stays\n',
    });
    expect(gitState(project)).toEqual(state);

    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(treeOf(project.folder)).not.toHaveProperty('new.txt');
    expect(await project.spool('rewind', change, 'r1')).toMatchObject({ code: 0 });
    expect(treeOf(project.folder)).toEqual(now);
    expect((await project.spool('rewind', change, 'r1')).stdout).toContain('Already at r1; nothing to do.');

    expect(await project.spool('diff', change, 'r1')).toMatchObject({
      code: 2,
      stderr: 'spool: n must be an iteration, starting at 1 (got "r1").\n',
    });
    expect((await project.spool('diff', change, '0..r1', '--stat')).stdout).toContain('person.txt');
  });

  test('says which commits are still on the branch, and the command that drops them', async () => {
    const project = createProject({ agent: ['echo 1 > a.txt', 'echo 2 > a.txt', 'echo 3 > b.txt', promise] });
    await project.spool(...run);
    const [first, second] = project.history();
    const line = (text: string) => /^.* still on [^]*/m.exec(text)?.[0].trimEnd();

    const back = await project.spool('rewind', change, '1');
    const reset = `git reset ${first!.commit!.slice(0, 12)}`;
    const text = `The commits of iterations 2 to 3 are still on main.\nUndo the commits, keep the files: ${reset}`;
    expect(line(back.stdout)).toBe(text);
    expect(line((await project.spool('rewind', change, '1')).stdout)).toBe(text);
    expect(line((await project.spool('rewind', change, '2')).stdout)).toBe(
      `The commit of iteration 3 is still on main.\nUndo the commit, keep the files: git reset ${second!.commit!.slice(0, 12)}`,
    );
    expect(line((await project.spool('rewind', change, '3')).stdout)).toBeUndefined();

    await project.spool('rewind', change, '1');
    project.git(...reset.split(' ').slice(1));
    expect(project.git('status', '--porcelain')).toBe('');
    expect(project.git('rev-parse', 'HEAD')).toBe(first!.commit);
    expect(line((await project.spool('rewind', change, '1')).stdout)).toBeUndefined();
  });

  test('names no command that would drop commits of the user, and names the worktree of the run', async () => {
    const project = createProject({ agent: ['echo 1 > a.txt', 'echo 2 > b.txt'] });
    await project.spool(...run, '--worktree', '--max-iterations', '2');
    const tree = `.spool/worktrees/${change}`;
    const [first] = project.history();
    expect((await project.spool('rewind', change, '1')).stdout).toContain(
      `The commit of iteration 2 is still on ralph/${change}.\nUndo the commit, keep the files: git -C ${tree} reset ${first!.commit!.slice(0, 12)}\n`,
    );
    project.git('-C', tree, 'commit', '--quiet', '--allow-empty', '-m', 'mine');
    expect((await project.spool('rewind', change, '1')).stdout).toContain(
      `The commit of iteration 2 is still on ralph/${change}, among other commits.\n`,
    );
  });

  test('fails while a loop is running and without a checkpoint to restore', async () => {
    const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
    expect(await project.spool('rewind', change, '1')).toMatchObject({
      code: 2,
      stderr: `spool: ${change} has no checkpoints yet: a run creates them.\n`,
    });
    const loop = project.start(run);
    await loop.printed('waiting for go-on');
    const refused = await project.spool('rewind', change, '0');
    project.write('go-on', '');
    await loop.result;

    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`${change} is already running`) });
    expect(await project.spool('rewind', change, '9')).toMatchObject({
      code: 2,
      stderr: `spool: ${change} has no checkpoint "9". Available: 0, 1.\n`,
    });
    const none = createProject({ git: false });
    expect(await none.spool('rewind', change, '1')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Cannot use git in/),
    });
  });

  test('restores folders that became files or links, and files that became folders', async () => {
    const project = createProject({
      files: { 'a/x': 'x\n', 'b/x': 'x\n', c: 'c\n' },
      agent: [`rm -r a; echo file > a; mv b moved; ln -s moved b; rm c; mkdir c; echo x > c/x`],
    });
    const before = treeOf(project.folder);
    await project.spool(...run, '--max-iterations', '1');
    const after = treeOf(project.folder);

    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(treeOf(project.folder)).toEqual(before);
    expect(await project.spool('rewind', change, '1')).toMatchObject({ code: 0 });
    expect(treeOf(project.folder)).toEqual(after);
  });

  // test/trials/properties.trial.ts runs it more often.
  test('restores exactly the tree of that iteration, for any tree', () => rewindsExactly({ numRuns: 2 }));
});

describe('spool rewind loses no data', () => {
  test('keeps ignored files and files in a nested repository', async () => {
    const project = createProject({ agent: [`echo 1 > notes.txt; mkdir lib; echo 1 > lib/a; ${promise}`] });
    await project.spool(...run);
    project.git('rm', '-q', '--cached', 'notes.txt', 'lib/a');
    project.git('commit', '-qm', 'untrack');
    project.write('notes.txt', 'precious\n');
    project.write('.gitignore', 'notes.txt\n');
    project.git('init', '-q', 'lib');
    project.write('lib/a', 'precious\n');

    const result = await project.spool('rewind', change, '1');

    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^spool: Nothing was rewound: .*notes\.txt/),
    });
    expect(project.read('notes.txt')).toBe('precious\n');
    expect(project.read('lib/a')).toBe('precious\n');
  });

  test('keeps an ignored file or link in place of a folder', async () => {
    const project = createProject({
      files: { 'out/a': '1\n', 'link/a': '1\n', 'kept/a': 'precious\n' },
      agent: [`git rm -rq out link; printf '/out\\n/link\\n' > .gitignore; echo precious > out; ln -s kept link`],
    });
    await project.spool(...run, '--max-iterations', '1');

    const result = await project.spool('rewind', change, '0');

    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^spool: Nothing was rewound: .*: link, out\. Move/),
    });
    expect(project.read('out')).toBe('precious\n');
    expect(project.read('link/a')).toBe('precious\n');
  });

  test('keeps the mode of a file that only its owner can read', async () => {
    const project = createProject({ agent: [`echo 1 > key.txt; chmod 600 key.txt`, `echo 2 > key.txt; ${promise}`] });
    await project.spool(...run, '--no-commit');

    expect(await project.spool('rewind', change, '1')).toMatchObject({ code: 0 });
    expect(project.read('key.txt')).toBe('1\n');
    expect(lstatSync(project.path('key.txt')).mode & 0o777).toBe(0o600);
  });

  test('changes nothing if the current state cannot be saved', async () => {
    const project = createProject({ agent: [`echo 1 > a.txt; ${promise}`] });
    await project.spool(...run);
    const { run: id } = project.history()[0]!;
    project.write('a.txt', 'precious\n');

    project.write(`.git/refs/spool/${change}/${id}/r1.lock`, '');
    expect((await project.spool('rewind', change, '0')).code).toBe(2);
    expect(project.read('a.txt')).toBe('precious\n');
  });

  test('leaves a file unchanged that git cannot add to the checkpoint of the current state', async () => {
    const project = createProject({ agent: [`echo 1 > a.txt; echo 1 > b.txt; ${promise}`] });
    await project.spool(...run);
    project.git('config', 'core.autocrlf', 'input');
    project.git('config', 'core.safecrlf', 'true');
    project.write('a.txt', 'precious\r\n');

    const back = await project.spool('rewind', change, '0');

    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toContain('Skipped: a.txt (git cannot add it)');
    expect(project.read('a.txt')).toBe('precious\r\n');
    expect(project.exists('b.txt')).toBe(false);
  });
});

describe('a commit', () => {
  test('has a short body, or the message of a template', async () => {
    const project = createProject({ agent: [`echo a > a.txt; ${promise}`, `echo b > b.txt; ${promise}`] });

    await project.spool(...run);
    const { run: id } = project.history()[0]!;
    expect(project.git('log', '-1', '--format=%B')).toBe(
      `ralph(002-01): iteration 1\n\n1 file changed, +1 -0\n\nSpool-Change: ${change}\nSpool-Iteration: 1\nSpool-Run: ${id}`,
    );

    await project.spool(...run, '--commit-message', 'chore({change}): #{iteration} {unknown}');
    expect(project.git('log', '-1', '--format=%B')).toBe(`chore(${change}): #1 {unknown}`);
  });

  test('excludes secrets and large files, and names each once', async () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    const script = [
      `echo KEY=1 > .env; echo KEY=1 > .envrc; echo KEY= > .env.example; echo 'const key = "${token}"' > key.js; head -c 6000000 /dev/zero > big.bin; echo fine > fine.txt`,
      `echo KEY=2 >> .env; echo more >> fine.txt; echo more >> old.js; echo more >> größe.js`,
      promise,
    ];
    const known = { 'old.js': `// ${token}\n`, 'größe.js': `// ${token}\n` };
    const project = createProject({ files: known, agent: script });

    const result = await project.spool(...run);

    const committed = project.git('log', '-z', '--format=', '--name-only', '-2').split('\0').filter(Boolean);
    expect(committed.toSorted()).toEqual(['.env.example', 'fine.txt', 'fine.txt', 'größe.js', 'old.js']);
    const named = result.stderr.split('\n').filter((line) => line.startsWith('Not committed'));
    expect(named.toSorted()).toEqual([
      'Not committed: .env (its name suggests secrets).',
      'Not committed: .envrc (its name suggests secrets).',
      'Not committed: big.bin (5.7 MB, more than 5 MB).',
      'Not committed: key.js (it contains what looks like a key).',
    ]);
  });

  test('includes files that became folders and folders that became links, and leaves the index unchanged if a hook rejects it', async () => {
    const project = createProject({
      files: { bar: 'file\n', 'sl/a': 'a\n', 'q/x': 'x\n', 'staged.txt': 'old\n' },
      agent: [`rm bar; mkdir bar; echo n > bar/n; rm -r sl; ln -s bar sl; rm -r q; echo file > q; ${promise}`],
    });
    project.write('staged.txt', 'staged by the user\n');
    project.git('add', 'staged.txt');
    project.write('.git/hooks/pre-commit', '#!/bin/sh\n[ -e "$HOME/ok" ]\n');
    chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
    const index = project.git('ls-files', '--stage');

    await project.spool(...run);
    expect(project.git('ls-files', '--stage')).toBe(index);
    expect(project.git('log', '--format=%s')).toBe('start');

    project.write('../home/ok', '');
    project.git('checkout', '-q', '--', '.');
    await project.spool(...run, '--fresh');
    expect(project.git('status', '--porcelain')).toBe('M  staged.txt');
    expect(project.git('ls-tree', '-r', '--name-only', 'HEAD', 'bar', 'q', 'sl').split('\n')).toEqual([
      'bar/n',
      'q',
      'sl',
    ]);
  });

  test('is skipped with a message during a merge', async () => {
    const project = createProject({ files: { 'a.txt': 'start\n' }, agent: [`echo new > new.txt; ${promise}`] });
    project.git('checkout', '-q', '-b', 'side');
    project.write('a.txt', 'side\n');
    project.git('commit', '-qam', 'side');
    project.git('checkout', '-q', 'main');
    project.write('a.txt', 'main\n');
    project.git('commit', '-qam', 'main');
    try {
      execFileSync('git', ['merge', 'side'], { cwd: project.folder, env: project.env, stdio: 'ignore' });
    } catch {
      // The merge conflicts.
    }
    const before = project.git('status', '--porcelain');

    const result = await project.spool(...run);

    expect(result.stderr).toContain('No commit: a merge is in progress.');
    expect(project.git('status', '--porcelain')).toBe(`${before}\n?? new.txt`);
    expect(project.history()[0]).toMatchObject({ commit: null, git: { files: ['new.txt'] } });
  });

  test('includes the files of a rejected commit before it', async () => {
    const project = createProject({ agent: ['echo a > a.js', `touch ok; ${promise}`] });
    refuseUntilOk(project);

    await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['a.js', 'ok']);
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('includes the files of a rejected commit before it, even after Spool was killed', async () => {
    const project = createProject({
      agent: ['echo a > a.js', 'touch "$HOME/ready"; sleep 300', `touch ok; ${promise}`],
    });
    refuseUntilOk(project);
    await killedWhenReady(project);
    expect(tempFolders(project)).toHaveLength(1);

    await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['a.js', 'ok']);
    expect(project.git('status', '--porcelain')).toBe('');
    expect(tempFolders(project)).toEqual([]);
  });

  test('after a rejected one does not include files that must not be committed', async () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    const project = createProject({
      agent: [
        'echo KEY=1 > .env; echo a > a.js; git init -q lib; git -C lib commit -q --allow-empty -m inner',
        'touch "$HOME/ready"; sleep 300',
        'echo b > b.js',
        `echo 'const key = "${token}"' > b.js; touch ok; ${promise}`,
      ],
    });
    refuseUntilOk(project);
    await killedWhenReady(project);

    const result = await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['a.js', 'ok']);
    expect(project.git('status', '--porcelain')).toBe('?? .env\n?? b.js\n?? lib/');
    expect(result.stderr).toContain('Not committed: .env (its name suggests secrets).');
    expect(result.stderr).toContain('Not committed: b.js (it contains what looks like a key).');
  });

  test('that a hook rejects is reported in the next prompt', async () => {
    const project = createProject({ agent: [`echo new > new.txt; ${says('Hi.')}`, promise] });
    project.write('.git/hooks/pre-commit', '#!/bin/sh\necho "lint: new.txt has no newline"; exit 1\n');
    chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

    await project.spool(...run);

    expect(project.history()[0]).toMatchObject({
      commit: null,
      commitProblem: expect.stringContaining('lint: new.txt'),
    });
    expect(project.calls()[1]!.prompt).toContain('could not be committed:\n\n```\nlint: new.txt has no newline\n```');
  });
});

test('spool prune deletes the checkpoints and logs of old runs after confirmation and keeps the history', async () => {
  const project = createProject({ agent: [`echo $$ > work.txt; ${promise}`] });
  for (let count = 0; count < 4; count++) await project.spool(...run);
  const folder = project.stateFile('runs');

  expect(await project.spool('prune')).toMatchObject({
    code: 2,
    stderr:
      'spool: This would delete 1 old run of 1 change (2 checkpoints, prompts and logs): pass --yes in non-interactive mode.\n',
  });
  expect(readdirSync(folder)).toHaveLength(4);

  expect(await project.spool('prune', '--keep', '2', '--yes')).toMatchObject({
    code: 0,
    stdout: 'Deleted 2 old runs of 1 change (4 checkpoints, prompts and logs). History is kept.\n',
  });
  expect(readdirSync(folder)).toHaveLength(2);
  expect(project.git('for-each-ref', 'refs/spool').split('\n')).toHaveLength(4);
  expect(project.history()).toHaveLength(4);
  expect((await project.spool('prune', '--keep', '2')).stdout).toBe(
    'Nothing to prune (keeping the last 2 runs per change).\n',
  );
});

test.each([
  ['a linked worktree', ['worktree', 'add', '-q', '../linked']],
  ['a detached HEAD', ['checkout', '-q', '--detach']],
])('checkpoints work in %s', async (where, args) => {
  const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
  project.git(...args);
  const cwd = where === 'a linked worktree' ? '../linked' : '.';

  const result = await project.start(run, { cwd }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(project.git('-C', cwd, 'log', '-1', '--format=%s')).toBe('ralph(002-01): iteration 1');
  expect((await project.start(['diff', change, '1'], { cwd }).result).stdout).toContain('+++ b/x.txt');
  expect(await project.start(['rewind', change, '0'], { cwd }).result).toMatchObject({ code: 0 });
  expect(project.exists(join(cwd, 'x.txt'))).toBe(false);
});

test('two folders of one repository do not share checkpoints', async () => {
  const project = createProject({ agent: [`echo $$ > x.txt; ${promise}`] });
  project.git('worktree', 'add', '-q', '../other');
  await project.spool(...run);
  await project.start(run, { cwd: '../other' }).result;

  expect((await project.spool('diff', change, '1')).stdout).toContain(`+${project.read('x.txt')}`);
  expect((await project.spool('prune', '--keep', '1', '--yes')).stdout).toContain('Nothing to prune');
  expect((await project.start(['diff', change, '1'], { cwd: '../other' }).result).stdout).toContain(
    `+${project.read('../other/x.txt')}`,
  );
});

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, startProcess, type TestProject } from '../support/project.ts';

/** Commits are never reverted, and work that is not committed is always reported. */

const run = ['ralph', '--change', change];
const second = '002-02_second';

const hook = (project: TestProject, name: string, script: string): void => {
  project.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(project.path(`.git/hooks/${name}`), 0o755);
};

const filesInHead = (project: TestProject) => project.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n');

/** Commits one file with git, as agents and users do. */
const commitsOwn = (file: string) => `echo own > ${file}; git add ${file}; git commit -qm 'own ${file}'`;

const log = (project: TestProject, iteration = 1): string => {
  const { run: id } = project.state();
  const file = project.stateFile(`runs/${id}/${String(iteration).padStart(4, '0')}.log`);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

/** Kills Spool, but not the agent, once the agent has written `text` to the log. */
const killedWhenLogged = async (project: TestProject, text: string, args: readonly string[] = run): Promise<void> => {
  const loop = project.start(args);
  await loop.printed(text);
  await eventually(() => log(project).includes(text), `${text} in the log`);
  loop.kill('SIGKILL');
  await loop.result;
};

describe('a commit that is not in the index yet', () => {
  const lock = '.git/index.lock';

  test('is not reverted if another process holds the index lock for longer than Spool waits', async () => {
    const project = createProject({
      agent: [`echo a > a.txt; touch ${lock}`, `${commitsOwn('b.txt')}; ${promise}`],
    });
    const loop = project.start(run);
    await loop.printed(`${lock} exists`);
    rmSync(project.path(lock));

    const result = await loop.result;

    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/The index could not be updated after commit [\da-f]{8}: \.git\/index\.lock exists/);
    expect(result.stderr).toContain('Index updated to the last commit: a.txt.');
    expect(filesInHead(project)).toEqual(expect.arrayContaining(['a.txt', 'b.txt']));
    expect(project.git('show', '--format=', '--name-status', 'HEAD')).toBe('A\tb.txt');
    expect(project.git('status', '--porcelain')).toBe('');
    expect(existsSync(project.path('.git/spool-index.json'))).toBe(false);
  });

  test.each([
    ['resumed', run],
    ['resumed without commits', [...run, '--no-commit']],
    ['started again with --fresh', [...run, '--fresh']],
    ['followed by another change', ['ralph', '--change', second]],
  ])('is not reverted if Spool is killed right after it, and %s', async (_, next) => {
    const project = createProject({
      files: { [`.spool/changes/${second}/proposal.md`]: '# Second\n', 'old.txt': 'old\n' },
      agent: [`echo a > a.txt; echo new > old.txt; rm README.md`, `${commitsOwn('b.txt')}; ${promise}`],
    });
    hook(project, 'pre-commit', 'echo hook > hook.txt; git add hook.txt');
    hook(project, 'post-commit', `rm .git/hooks/*; kill -9 $(sed -n 's/^PPid:\\t*//p' /proc/$PPID/status)`);
    expect(await project.spool(...run)).toMatchObject({ signal: 'SIGKILL' });
    await eventually(() => !existsSync(project.path('.git/HEAD.lock')), 'git to end');
    expect(filesInHead(project)).toContain('a.txt');
    expect(project.git('diff', '--cached', '--name-only')).not.toBe('');
    project.write('staged.txt', 'mine\n');
    project.git('add', 'staged.txt');

    const result = await project.spool(...next);

    expect(result.code).toBe(0);
    expect(result.stderr).toContain('Index updated to the last commit: ');
    const own = project.git('log', '--format=%H', '--grep=own b.txt');
    expect(project.git('show', '--format=', '--name-status', own).split('\n')).toEqual(['A\tb.txt', 'A\tstaged.txt']);
    expect(filesInHead(project)).toEqual(expect.arrayContaining(['a.txt', 'b.txt', 'hook.txt', 'old.txt']));
    expect(filesInHead(project)).not.toContain('README.md');
    expect(project.git('show', 'HEAD:old.txt')).toBe('new');
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('is not reverted if the user commits from an editor during the run and again afterwards', async () => {
    const project = createProject({
      files: { 'notes.txt': 'old\n' },
      agent: [
        `${waitsFor('.git/edited')}; echo a > a.txt`,
        `${waitsFor('.git/committed')}; ${commitsOwn('b.txt')}; ${promise}`,
      ],
    });
    project.write('notes.txt', 'edited\n');
    const loop = project.start(run);
    await loop.printed('waiting for .git/edited');
    writeFileSync(
      join(project.home, 'editor'),
      `#!/bin/sh\necho notes > "$1"; touch .git/edited; until [ -e .git/saved ]; do sleep 0.01; done\n`,
    );
    chmodSync(join(project.home, 'editor'), 0o755);
    const person = startProcess('git', ['commit', '-a'], {
      cwd: project.folder,
      env: { ...project.env, GIT_EDITOR: join(project.home, 'editor') },
    });
    await loop.printed('delete that file');
    project.write('.git/saved', '');
    await person.result;
    await loop.printed('Index updated to the last commit: a.txt.');
    project.git('commit', '-qam', 'notes');
    expect(project.git('show', '--format=', '--name-status', 'HEAD')).toBe('M\tnotes.txt');
    project.write('.git/committed', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(filesInHead(project)).toEqual(expect.arrayContaining(['a.txt', 'b.txt', 'notes.txt']));
    expect(project.git('show', '--format=', '--name-status', 'HEAD')).toBe('A\tb.txt');
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('is reported while a stale lock is in the way, and added to the index once the lock is gone', async () => {
    const project = createProject({
      agent: [`echo a > a.txt; touch ${lock}; ${promise}`, `echo b > b.txt; ${promise}`],
    });

    const first = await project.spool(...run);

    expect(first.code).toBe(0);
    expect(first.stderr).toContain(`${lock} exists, so the index does not include the last commit.`);
    expect(existsSync(project.path('.git/spool-index.json'))).toBe(true);
    rmSync(project.path(lock));
    const next = await project.spool(...run);
    expect(next.stderr).toContain('Index updated to the last commit: a.txt.');
    expect(project.git('status', '--porcelain')).toBe('');
    expect(filesInHead(project)).toEqual(expect.arrayContaining(['a.txt', 'b.txt']));
  });

  test('keeps what the user has staged since, and updates what was staged before', async () => {
    const project = createProject({
      files: { 'both.txt': 'old\n', 'since.txt': 'old\n' },
      agent: [`echo agent >> both.txt; echo agent >> since.txt; touch ${lock}; ${promise}`, promise],
    });
    project.write('both.txt', 'old\nstaged\n');
    project.git('add', 'both.txt');
    await project.spool(...run);
    rmSync(project.path(lock));
    project.write('since.txt', 'old\nagent\nperson\n');
    project.git('add', 'since.txt');

    await project.spool(...run);

    expect(project.git('show', 'HEAD:both.txt')).toBe('old\nstaged\nagent');
    expect(project.git('status', '--porcelain')).toBe('M  since.txt');
    expect(project.git('show', ':since.txt')).toBe('old\nagent\nperson');
  });

  test('is repeated if another commit reverted it before the index was updated', async () => {
    const project = createProject({
      agent: [
        `echo a > a.txt; touch ${lock}`,
        // Creates the lock again at once, so that Spool never gets it.
        `cp .git/index .git/other; GIT_INDEX_FILE=.git/other git add README.md; GIT_INDEX_FILE=.git/other git commit -qm undone --allow-empty; rm ${lock}; ${promise}`,
      ],
    });

    const result = await project.spool(...run);

    expect(project.git('show', '--format=%s', '--name-status', 'HEAD~1')).toContain('D\ta.txt');
    expect(result.stderr).toContain('A commit from a stale index reverted committed work: a.txt.');
    expect(filesInHead(project)).toContain('a.txt');
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

describe('work that could not be committed', () => {
  const conflict = (project: TestProject): void => {
    project.git('checkout', '-q', '-b', 'side');
    project.write('a.txt', 'side\n');
    project.git('commit', '-qam', 'side');
    project.git('checkout', '-q', 'main');
    project.write('a.txt', 'main\n');
    project.git('commit', '-qam', 'main');
  };

  test('because of a merge is committed after the merge', async () => {
    const project = createProject({
      files: { 'a.txt': 'start\n' },
      agent: [
        'echo f > feature.txt; git merge side >/dev/null; true',
        `echo merged > a.txt; git add a.txt; git commit -qm merged; ${promise}`,
      ],
    });
    conflict(project);

    const result = await project.spool(...run);

    expect(result.stderr).toContain('No commit: a merge is in progress.');
    expect(filesInHead(project)).toContain('feature.txt');
    expect(project.git('status', '--porcelain')).toBe('');
    expect(result.stderr).not.toContain('Uncommitted');
  });

  test('because of a rebase is committed after the rebase, even after a kill', async () => {
    const project = createProject({
      files: { 'a.txt': 'start\n' },
      agent: [
        'echo f > feature.txt; git rebase side >/dev/null 2>&1; true',
        `touch "$HOME/ready"; ${waitsFor('never')}`,
        `echo merged > a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue >/dev/null; ${promise}`,
      ],
    });
    conflict(project);
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the second iteration');
    loop.kill('SIGKILL');
    await loop.result;

    await project.spool(...run);

    expect(filesInHead(project)).toContain('feature.txt');
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('because of a merge that does not end is listed in the summary', async () => {
    const project = createProject({
      files: { 'a.txt': 'start\n' },
      agent: [`echo f > feature.txt; git merge side >/dev/null; ${promise}`],
    });
    conflict(project);

    const result = await project.spool(...run);

    expect(result.stderr).toMatch(/Uncommitted 2 files: a\.txt, feature\.txt \(a merge is in progress\)/);
    expect((await project.spool('ralph', '--status', '--change', change)).stdout).toContain('feature.txt');
    expect(project.state()).toMatchObject({
      uncommitted: [{ why: 'a merge is in progress', files: ['a.txt', 'feature.txt'], count: 2 }],
    });
  });

  test('because it cannot be signed is reported with the reason, in a notice and in the summary', async () => {
    const project = createProject({ agent: [`echo a > a.txt; ${promise}`] });
    project.git('config', 'commit.gpgsign', 'true');
    project.git('config', 'gpg.program', 'no-such-gpg');

    const result = await project.spool(...run);

    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/^No commit: .*gpg failed to sign the data/m);
    expect(result.stderr).toMatch(/^ {2}Uncommitted 1 file: a\.txt \(.*gpg failed to sign the data/m);
  });

  test('is not listed with --no-commit', async () => {
    const project = createProject({ agent: [`echo a > a.txt; ${promise}`] });

    expect((await project.spool(...run, '--no-commit')).stderr).not.toContain('Uncommitted');
  });
});

describe('a rejected commit', () => {
  test('is included in the next one after a power failure that leaves only the history', async () => {
    const project = createProject({
      agent: ['echo a > a.js', `touch "$HOME/ready"; ${waitsFor('never')}`, `touch ok; ${promise}`],
    });
    hook(project, 'pre-commit', '[ -e ok ]');
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the second iteration');
    loop.kill('SIGKILL');
    await loop.result;
    const projects = join(project.home, '.local/state/spool/projects');
    const notes = join(projects, readdirSync(projects)[0]!, change, 'runs', project.state().run);
    rmSync(join(notes, 'uncommitted.json'));

    await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['a.js', 'ok']);
  });

  test('is not reported if a post-commit hook is killed, because the commit exists', async () => {
    const project = createProject({ agent: [`echo a > a.txt; ${promise}`] });
    hook(project, 'post-commit', 'touch .git/hangs; trap "" TERM; while :; do sleep 0.05; done');
    const loop = project.start(run);
    await eventually(() => existsSync(project.path('.git/hangs')), 'the hook to hang');
    loop.kill('SIGINT');
    await loop.printed('Ctrl-C again to force quit');
    loop.kill('SIGINT');

    const result = await loop.result;

    expect(result.stderr).not.toContain('No commit');
    expect(project.history()).toMatchObject([{ commit: project.git('rev-parse', 'HEAD'), commitProblem: null }]);
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

describe('work of an interrupted iteration', () => {
  const written = `echo f > feature.txt; rm sub/old.txt; echo 'all written'; ${waitsFor('never')}`;

  test('is committed by the run that resumes it', async () => {
    const project = createProject({ files: { 'sub/old.txt': 'old\n' }, agent: [written, promise] });
    await killedWhenLogged(project, 'waiting for never');

    const result = await project.spool(...run);

    expect(result.stderr).toContain(
      'Uncommitted from interrupted iteration 1: feature.txt, sub/old.txt (included in the next commit).',
    );
    expect(filesInHead(project)).toContain('feature.txt');
    expect(filesInHead(project)).not.toContain('sub/old.txt');
    expect(result.stderr).not.toContain('  Uncommitted ');
    expect(project.git('status', '--porcelain')).toBe('');
    countsAll(project, result.stderr);
  });

  /** The report, the record and the commit message have the same figures as the commit. */
  const countsAll = (project: TestProject, stderr: string) => {
    expect(project.git('show', '--format=', '--shortstat')).toContain('2 files changed, 1 insertion(+), 1 deletion(-)');
    expect(project.git('show', '-s', '--format=%b')).toContain('2 files changed, +1 -1');
    expect(project.history()).toMatchObject([{ git: { filesChanged: 2, insertions: 1, deletions: 1 } }]);
    expect(stderr).toMatch(/^ {2}Changed +2 files \+1 -1 · 1 commit/m);
    expect(stderr).not.toContain('Your uncommitted changes');
  };

  test('is committed, and possible edits of the user are listed and not committed', async () => {
    const project = createProject({ files: { 'sub/old.txt': 'old\n' }, agent: [written, promise] });
    project.write('before.txt', 'dirty before\n');
    await killedWhenLogged(project, 'waiting for never');
    project.write('person.txt', 'mine\n');

    const result = await project.spool(...run);

    expect(result.stderr).toContain(
      'Uncommitted from interrupted iteration 1: feature.txt, sub/old.txt (included in the next commit).',
    );
    expect(result.stderr).toContain('Changed since the last output of interrupted iteration 1: person.txt.');
    expect(result.stderr).toMatch(/Uncommitted 1 file: person\.txt/);
    expect(filesInHead(project)).toContain('feature.txt');
    expect(project.git('status', '--porcelain')).toBe('?? before.txt\n?? person.txt');
    countsAll(project, result.stderr);
  });

  test('is committed after a second interruption', async () => {
    const project = createProject({
      files: { 'sub/old.txt': 'old\n' },
      agent: [written, `echo 'second try'; ${waitsFor('never')}`, promise],
    });
    await killedWhenLogged(project, 'waiting for never');
    project.write('person.txt', 'mine\n');
    await killedWhenLogged(project, 'second try');

    const result = await project.spool(...run);

    expect(filesInHead(project)).toContain('feature.txt');
    expect(result.stderr).toMatch(/Uncommitted 1 file: person\.txt/);
    expect(project.git('status', '--porcelain')).toBe('?? person.txt');
  });
});

describe('a commit that includes changes of the user', () => {
  test('is reported, whether they were staged or not, and its message counts them', async () => {
    const project = createProject({
      files: { 'f.txt': 'one\n', 'g.txt': 'one\n', 'h.txt': 'one\n' },
      agent: [`echo agent >> f.txt; echo agent >> g.txt; echo agent >> new.txt; ${promise}`],
    });
    project.write('f.txt', 'one\nstaged\n');
    project.git('add', 'f.txt');
    project.write('f.txt', 'one\nstaged\nnot staged\n');
    project.write('h.txt', 'mine\n');
    project.write('new.txt', 'mine\n');

    const result = await project.spool(...run);

    const commit = project.history()[0]!.commit!.slice(0, 8);
    expect(result.stderr).toContain(`Your uncommitted changes to f.txt, new.txt are in commit ${commit}.`);
    expect(project.git('show', 'HEAD:f.txt')).toBe('one\nstaged\nnot staged\nagent');
    expect(project.git('show', '-s', '--format=%b')).toContain('3 files changed, +6 -0');
    expect(project.git('status', '--porcelain')).toBe('M h.txt');
  });

  test('is not reported for commits of the agent or after a rejected commit', async () => {
    const project = createProject({
      files: { 'f.txt': 'one\n', 'g.txt': 'one\n' },
      agent: [
        'echo agent >> f.txt; git commit -qam own; echo more >> f.txt',
        'echo agent >> g.txt; touch .git/refuse',
        `rm .git/refuse; echo agent >> g.txt; ${promise}`,
      ],
    });
    project.write('elsewhere.txt', 'mine\n');
    hook(project, 'pre-commit', '[ ! -e .git/refuse ]');

    const result = await project.spool(...run);

    expect(result.stderr).not.toContain('Your uncommitted changes');
    expect(project.git('show', 'HEAD:g.txt')).toBe('one\nagent\nagent');
    expect(project.git('status', '--porcelain')).toBe('?? elsewhere.txt');
  });
});

test('an unresolved conflict from a stash does not prevent a commit, and committing the file resolves it', async () => {
  const project = createProject({
    files: { 'a.txt': 'start\n', 'b.txt': 'start\n' },
    agent: ['echo n > new.txt', `echo settled > a.txt; ${promise}`],
  });
  for (const name of ['a.txt', 'b.txt']) project.write(name, 'stashed\n');
  project.git('stash', '-q');
  for (const name of ['a.txt', 'b.txt']) project.write(name, 'main\n');
  project.git('commit', '-qam', 'main');
  spawnSync('git', ['stash', 'pop'], { cwd: project.folder, env: project.env });
  expect(project.git('status', '--porcelain')).toBe('UU a.txt\nUU b.txt');

  await project.spool(...run);

  expect(project.git('log', '-2', '--format=', '--name-only').split('\n')).toEqual(['a.txt', 'new.txt']);
  expect(project.git('show', 'HEAD:a.txt')).toBe('settled');
  expect(project.git('status', '--porcelain')).toBe('UU b.txt');
});

test('a tracked file that already exceeds the size limit is committed', async () => {
  const big = 'x'.repeat(6 * 1024 * 1024);
  const project = createProject({
    files: { 'fixture.dat': big, 'small.dat': 'small\n' },
    agent: [`echo more >> fixture.dat; cp fixture.dat small.dat; ${promise}`],
  });

  const result = await project.spool(...run);

  expect(project.git('show', '--format=', '--name-only')).toBe('fixture.dat');
  expect(result.stderr).toContain('Not committed: small.dat (6.0 MB, more than 5 MB).');
});

test('a detached HEAD is reported once, at the start, with the command that keeps the commits', async () => {
  const project = createProject({ agent: ['echo a > a.txt', `echo b > b.txt; ${promise}`] });
  project.git('checkout', '-q', '--detach');

  const result = await project.spool(...run);

  const lines = result.stderr.split('\n').filter((line) => line.includes('Detached'));
  expect(lines).toEqual(['Detached HEAD: commits are not on a branch. To keep them: git switch -c <name>']);
  expect(result.stderr.indexOf('Detached HEAD')).toBeLessThan(result.stderr.indexOf('Iteration 1'));
  expect((await project.spool(...run, '--no-commit')).stderr).not.toContain('Detached');
});

test('an agent that deletes the repository ends neither the iteration nor the run, and the last screen says so', async () => {
  const project = createProject({ agent: ['rm -rf .git; echo a > a.txt', 'true', promise] });

  const result = await project.spool(...run);

  expect(result.code).toBe(0);
  expect(project.history()).toMatchObject([
    { iteration: 1, git: null, commit: null, checkpoint: null },
    { iteration: 2, git: null },
    { iteration: 3, git: null, completionFound: true },
  ]);
  const notices = result.stderr.split('\n').filter((line) => /git/.test(line) && !line.includes('no git'));
  expect(notices).toEqual([
    '.git was deleted: changes are no longer tracked or committed.',
    '  Uncommitted unknown (.git was deleted: changes are no longer tracked or committed)',
  ]);
  expect(project.state().uncommitted).toMatchObject([{ files: [], count: 0 }]);
  expect(spawnSync('git', ['status'], { cwd: project.folder, env: project.env }).status).not.toBe(0);
});

test.each([
  ['until the end', ['echo w > w.txt; git config core.bare true', promise]],
  ['in one iteration', ['echo w > w.txt; git config core.bare true', `git config core.bare false; ${promise}`]],
])(
  'a repository that an agent breaks %s: the summary and the status say that its work is unknown',
  async (_, agent) => {
    const project = createProject({ agent });

    const { code, stderr } = await project.spool(...run);

    expect(code).toBe(0);
    expect(stderr).toContain('git cannot read the work tree: no checkpoint or commit for this iteration.');
    const unknown = 'unknown (git could not read the work tree in iteration 1: this operation must be run in';
    const shown = [stderr, (await project.spool('status', change)).stdout].map((text) => text.replaceAll(/\s+/g, ' '));
    for (const text of shown) {
      expect(text).toContain(`Uncommitted ${unknown}`);
      expect(text).not.toMatch(/Changed\s+nothing/);
    }
    expect(project.state().uncommitted).toMatchObject([{ files: [], count: 0 }]);
  },
);

describe('a concurrent commit of the user', () => {
  const hook = (script: string) => `#!/bin/sh\n[ -e "$HOME/once" ] && exit 0\ntouch "$HOME/once"\n${script}\n`;
  const personCommits =
    'unset GIT_INDEX_FILE GIT_DIR; echo p > person.txt; git add person.txt; git commit --no-verify -qm person';

  test.each([
    [
      'while the branch is locked',
      `(while kill -0 $PPID; do sleep 0.01; done; rm .git/refs/heads/main.lock; ${personCommits}) >/dev/null 2>&1 &`,
    ],
    ['while a hook runs', `(${personCommits}) >/dev/null 2>&1`],
  ])('is not reverted: %s', async (name, script) => {
    const lock = name.includes('locked') ? 'touch .git/refs/heads/main.lock;' : '';
    const project = createProject({ agent: [`${lock} echo w > w1.txt; ${promise}`] });
    project.write('.git/hooks/pre-commit', hook(script));
    chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

    expect(await project.spool(...run)).toMatchObject({ code: 0 });

    expect(project.git('log', '--format=%s').split('\n')).toEqual(['ralph(002-01): iteration 1', 'person', 'start']);
    expect(project.git('show', '--format=', '--name-status')).toBe('A\tw1.txt');
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

describe('changes of HEAD by the agent', () => {
  test('commits on a HEAD that it detached are reported with the command that keeps them', async () => {
    const project = createProject({
      agent: ['git checkout -q --detach; echo 1 > w1.txt', `git checkout -q main; echo 2 > w2.txt; ${promise}`],
    });

    const result = await project.spool(...run);

    const loose = project.history()[0]!.commit!.slice(0, 8);
    expect(result.stderr).toContain(`Commit ${loose} is on no branch`);
    expect(result.stderr).toContain(`git branch ralph-${loose} ${loose}`);
    expect(project.state().uncommitted).toMatchObject([{ files: ['w1.txt'], count: 1 }]);
  });

  test('work that it removes from HEAD is listed in the summary', async () => {
    const project = createProject({ agent: ['echo 1 > w1.txt', `git reset -q --soft HEAD~1; ${promise}`] });

    const result = await project.spool(...run);

    expect(result.stderr).toMatch(/^ {2}Uncommitted 1 file: w1\.txt \(/m);
  });

  test('edits of the user that it stashes and restores are not attributed to it', async () => {
    const project = createProject({
      agent: ['git stash -uq; echo 1 > w1.txt', `git stash pop -q; echo 2 > w2.txt; ${promise}`],
    });
    project.write('README.md', 'edited by a person\n');
    project.write('mine.txt', 'mine\n');

    expect(await project.spool(...run)).toMatchObject({ code: 0 });

    expect(project.git('log', '--format=', '--name-only').split('\n').filter(Boolean)).not.toContain('mine.txt');
    expect(project.git('status', '--porcelain')).toBe('M README.md\n?? mine.txt');
  });
});

test('uncommitted files are listed in the summary: rejected and very large ones', async () => {
  const project = createProject({
    files: { '.gitattributes': '*.bin filter=broken\n' },
    agent: [`echo x > a.bin; truncate -s 52M large.dat; echo y > code.txt; ${promise}`],
  });
  project.git('config', 'filter.broken.clean', 'false');
  project.git('config', 'filter.broken.required', 'true');

  const result = await project.spool(...run);

  expect(project.git('show', '--format=', '--name-only')).toBe('code.txt');
  expect(
    project
      .state()
      .uncommitted!.flatMap(({ files }) => files)
      .toSorted(),
  ).toEqual(['a.bin', 'large.dat']);
  expect(result.stderr).toMatch(/Uncommitted 1 file: large\.dat/);
});

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, spoolProgram, startProcess, type TestProject } from '../support/project.ts';

const run = ['ralph', '--change', change, '--max-stalled', 'unlimited'];

const filesIn = (project: TestProject, commit: string) =>
  project.git('ls-tree', '-r', '--name-only', commit).split('\n');

const checkpoint = (project: TestProject, name: string) =>
  `refs/spool/${change}/${project.history().at(-1)!.run}/${name}`;

/** Size of the object store in bytes, packed or not. */
const storeSize = (project: TestProject): number => {
  const lines = project.git('count-objects', '-v').split('\n');
  const value = (key: string) => Number(lines.find((line) => line.startsWith(`${key}: `))?.slice(key.length + 2));
  return (value('size') + value('size-pack')) * 1024;
};

describe('files that were ignored before the agent changed the ignore rules', () => {
  const ignored = { 'data/users.csv': 'u\n', 'private.txt': 'diary\n', 'local.db': 'db\n', '.env': 'S=1\n' };
  const writeIgnored = (project: TestProject) => {
    for (const [name, text] of Object.entries(ignored)) project.write(name, text);
  };

  test('are not committed, counted or in a checkpoint, and a rewind keeps them', async () => {
    const project = createProject({
      files: { '.gitignore': 'data/\nprivate.txt\n*.db\n.env\n' },
      agent: [`echo 'node_modules/' > .gitignore; echo w > w.txt`, `echo more >> data/users.csv; ${promise}`],
    });
    writeIgnored(project);

    const result = await project.spool(...run);

    expect(result).toMatchObject({ code: 0 });
    expect(project.history().map(({ git }) => git!.files)).toEqual([['.gitignore', 'w.txt'], []]);
    expect(project.git('show', '--format=', '--name-only', 'HEAD').split('\n')).toEqual(['.gitignore', 'w.txt']);
    for (const name of Object.keys(ignored)) expect(filesIn(project, checkpoint(project, '2'))).not.toContain(name);
    expect(result.stderr).toContain(
      'Excluded from commits and checkpoints: .env, data/users.csv, local.db, private.txt (was ignored before the ignore rules changed).',
    );
    expect(result.stderr.match(/Excluded from commits/g)).toHaveLength(1);

    const back = await project.spool('rewind', change, '0');

    expect(back).toMatchObject({ code: 0, stderr: '' });
    for (const name of Object.keys(ignored)) expect(project.exists(name)).toBe(true);
    expect(project.read('data/users.csv')).toBe('u\nmore\n');
    expect(project.exists('w.txt')).toBe(false);
    expect(back.stdout).toContain('Skipped: .env, data/users.csv, local.db, private.txt');
    expect(back.stdout).toContain('Restored the other files to iteration 0 ');
    expect(await project.spool('rewind', change, 'r1')).toMatchObject({ code: 0 });
    expect(project.read('w.txt')).toBe('w\n');
    expect(project.read('private.txt')).toBe('diary\n');
  });

  test('are excluded in a folder with many files, after an interruption, and with .git/info/exclude', async () => {
    const project = createProject({
      files: { '.gitignore': 'node_modules\n' },
      agent: [
        'rm .gitignore; : > .git/info/exclude; echo 1 > a.txt',
        'echo 2 > a.txt; touch "$HOME/ready"; sleep 300',
        `echo 3 > a.txt; ${promise}`,
      ],
    });
    project.write('.git/info/exclude', '*.sqlite\n');
    project.write('dev.sqlite', 'db\n');
    for (let n = 0; n < 400; n++) project.write(`node_modules/p${n % 20}/f${n}`, `${n}\n`);
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the second iteration');
    loop.kill('SIGKILL');
    await loop.result;

    const result = await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['.gitignore', 'a.txt'], ['a.txt']]);
    expect(filesIn(project, 'HEAD').filter((name) => /node_modules|sqlite/.test(name))).toEqual([]);
    expect(result.stderr).not.toContain('Excluded from commits');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('node_modules/p19/f399')).toBe('399\n');
    expect(project.read('dev.sqlite')).toBe('db\n');
  });

  test('are excluded if the iteration that changed the rules was interrupted', async () => {
    const project = createProject({
      files: { '.gitignore': 'private.txt\n' },
      agent: ['echo > .gitignore; echo w > w.txt; touch "$HOME/ready"; sleep 300', `echo 1 >> private.txt; ${promise}`],
    });
    project.write('private.txt', 'diary\n');
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the agent');
    loop.kill('SIGKILL');
    await loop.result;

    await project.spool(...run);

    expect(filesIn(project, 'HEAD')).not.toContain('private.txt');
    expect(filesIn(project, checkpoint(project, '1'))).not.toContain('private.txt');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('private.txt')).toBe('diary\n1\n');
  });

  test('are excluded if an interrupted iteration changed .git/info/exclude', async () => {
    const project = createProject({
      agent: [': > .git/info/exclude; echo w > w.txt; touch "$HOME/ready"; sleep 300', promise],
    });
    project.write('.git/info/exclude', 'private.txt\n');
    project.write('private.txt', 'diary\n');
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the agent');
    loop.kill('SIGKILL');
    await loop.result;

    const result = await project.spool(...run);

    expect(result.stderr).toContain('Excluded from commits and checkpoints: private.txt (was ignored before');
    expect(filesIn(project, 'HEAD')).not.toContain('private.txt');
    expect(filesIn(project, checkpoint(project, '1'))).not.toContain('private.txt');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('private.txt')).toBe('diary\n');
  });

  test.each([
    ['in the default file', '.config/git/ignore', 'git config core.excludesFile .other'],
    ['in the configured file', 'rules', 'git config --global --unset core.excludesFile'],
    ['in the same file, emptied', 'rules', ': > "$HOME/rules"'],
  ])("are excluded if the user's own rules no longer apply: %s", async (_, file, command) => {
    const project = createProject({ agent: ['echo 1 > w.txt', `${command}; echo 2 > w.txt; ${promise}`] });
    mkdirSync(dirname(join(project.home, file)), { recursive: true });
    writeFileSync(join(project.home, file), 'notes.txt\n');
    if (file === 'rules') project.git('config', '--global', 'core.excludesFile', '~/rules');
    project.write('notes.txt', 'mine\n');

    await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['w.txt'], ['w.txt']]);
    expect(filesIn(project, 'HEAD')).not.toContain('notes.txt');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('notes.txt')).toBe('mine\n');
  });

  test('are excluded even if the agent replaced them in the same iteration', async () => {
    const project = createProject({
      files: { '.gitignore': 'private.txt\ndata/\n' },
      agent: [
        `: > .gitignore; for f in private.txt data/grün.csv; do sed s/a/b/ $f > t; mv t $f; done; echo n > data/new.csv; ${promise}`,
      ],
    });
    project.write('private.txt', 'a\n');
    project.write('data/grün.csv', 'a\n');

    await project.spool(...run);

    expect(project.history()[0]!.git!.files).toEqual(['.gitignore', 'data/new.csv']);
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect([project.read('private.txt'), project.read('data/grün.csv')]).toEqual(['b\n', 'b\n']);
  });

  test.each([
    ['counted and committed in a small folder', 1],
    ['named in a very large folder', 1001],
  ])('do not hide work of a later iteration, which is %s', async (_, files) => {
    const project = createProject({
      files: { '.gitignore': 'lib/\n' },
      agent: [': > .gitignore; echo 1 > w.txt', 'echo code > lib/feature.js', `echo 2 > lib/feature.js; ${promise}`],
    });
    for (let n = 0; n < files; n++) project.write(`lib/old${n}`, 'o\n');

    const result = await project.spool(...run);

    const work = files === 1 ? ['lib/feature.js'] : [];
    expect(project.history().map(({ git }) => git!.files)).toEqual([['.gitignore', 'w.txt'], work, work]);
    expect(filesIn(project, 'HEAD').filter((name) => name.startsWith('lib/'))).toEqual(work);
    const named = result.stderr.split('\n').filter((line) => line.startsWith('Excluded'));
    const old = 'was ignored before the ignore rules changed';
    expect(named).toEqual(
      files === 1
        ? [`Excluded from commits and checkpoints: lib/old0 (${old}).`]
        : [
            `Excluded from commits and checkpoints: lib/ (${old}).`,
            `Excluded from commits and checkpoints: lib/feature.js (in a folder that ${old}).`,
          ],
    );
  });

  test('do not include files that the agent created there, or a tracked file that matched the rules', async () => {
    const project = createProject({
      files: { 'dist/kept.js': '1\n' },
      agent: [`: > .gitignore; echo 2 > dist/kept.js; echo new > dist/new.js; ${promise}`],
    });
    project.write('.gitignore', 'dist/\n');
    project.git('add', '.gitignore');
    project.git('commit', '-qm', 'ignore');
    project.write('dist/old.js', 'old\n');

    await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only', 'HEAD').split('\n')).toEqual([
      '.gitignore',
      'dist/kept.js',
      'dist/new.js',
    ]);
    expect(project.git('status', '--porcelain')).toBe('?? dist/old.js');
  });

  test('are not committed if the agent staged them, and stay staged', async () => {
    const project = createProject({
      files: { '.gitignore': 'private.txt\n' },
      agent: [`: > .gitignore; echo w > w.txt; git add --all; ${promise}`],
    });
    project.write('private.txt', 'diary\n');

    await project.spool(...run);

    expect(project.git('show', '--format=', '--name-only', 'HEAD').split('\n')).toEqual(['.gitignore', 'w.txt']);
    expect(project.git('status', '--porcelain')).toBe('A  private.txt');
    expect(filesIn(project, checkpoint(project, '1'))).not.toContain('private.txt');
  });

  test('are not deleted by a rewind that only has the target checkpoint', async () => {
    const project = createProject({
      files: { '.gitignore': 'data/\n' },
      agent: [`echo a > a.txt; ${promise}`],
    });
    await project.spool(...run);
    project.write('data/users.csv', 'u\n');
    project.write('.gitignore', '\n');
    project.git('add', '--all');
    project.git('commit', '-qm', 'mine');

    const back = await project.spool('rewind', change, '0');

    expect(back).toMatchObject({ code: 0, stderr: '' });
    expect(back.stdout).toContain('Skipped: data/users.csv (ignored in that checkpoint)');
    expect(project.read('data/users.csv')).toBe('u\n');
    expect(project.exists('a.txt')).toBe(false);
  });
});

test('a list of excluded files from another machine excludes only the files it names', async () => {
  const project = createProject({ agent: [`echo a > a.txt; ${promise}`] });
  await project.spool(...run);
  const list = ['', '/', './', '../home/', 'a/../', null, 'b.txt'].map((name) => ({ name, kind: 'output', why: '' }));
  writeFileSync(project.stateFile(`runs/${project.history()[0]!.run}/skipped.json`), JSON.stringify([...list, 1]));
  rmSync(join(project.home, '.local'), { recursive: true });
  project.write('b.txt', 'b\n');

  const back = await project.spool('rewind', change, '0');

  expect(back).toMatchObject({ code: 0, stderr: expect.stringContaining('was not started here') });
  expect(project.exists('a.txt')).toBe(false);
  expect(project.exists('b.txt')).toBe(true);
});

describe("Spool's own output in the project", () => {
  const stalls = `"$NODE" ${spoolProgram} ralph --change ${change} --max-stalled 2 --max-iterations 9`;
  const shell = (project: TestProject, command: string) =>
    startProcess('/bin/sh', ['-c', command], { cwd: project.folder, env: project.env }).result;

  test.each([
    ['stdout', `${stalls} > night.log`],
    ['both', `${stalls} > night.log 2>&1`],
    ['stderr, appended', `${stalls} 2>> night.log`],
    ...(process.platform === 'linux'
      ? [
          ['tee', `${stalls} 2>&1 | tee night.log`],
          ['tee behind another', `${stalls} 2>&1 | cat | tee -a night.log`],
        ]
      : []),
  ])('does not count as progress: %s', async (_, command) => {
    const project = createProject({ agent: ['echo thinking'] });

    await shell(project, command);

    expect(project.history()).toHaveLength(2);
    expect(project.history().map(({ git }) => git!.files)).toEqual([[], []]);
    expect(project.state()).toMatchObject({ status: 'blocked' });
    expect(project.git('log', '--format=%s')).toBe('start');
  });

  test('is not committed, is named once, and is kept by a rewind', async () => {
    const project = createProject({ agent: ['echo 1 > a.txt', `echo 2 > b.txt; ${promise}`] });

    await shell(project, `"$NODE" ${spoolProgram} ${run.join(' ')} > night.log 2>&1`);

    expect(filesIn(project, 'HEAD')).not.toContain('night.log');
    expect(project.history().map(({ git }) => git!.files)).toEqual([['a.txt'], ['b.txt']]);
    expect(project.read('night.log').match(/Excluded from commits and checkpoints: night\.log/g)).toHaveLength(1);
    const back = await project.spool('rewind', change, '0');
    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toContain('Skipped: night.log');
    expect(project.exists('night.log')).toBe(true);
    expect(project.exists('a.txt')).toBe(false);
  });
});

describe('a very large untracked file', () => {
  const grow = (project: TestProject, name: string, megabytes: number) => {
    project.write(name, '');
    truncateSync(project.path(name), megabytes * 1024 * 1024);
  };

  test('is not copied into the object store, is named once, and is kept by a rewind', async () => {
    const project = createProject({
      agent: ['head -c 61000000 /dev/urandom > made.bin; echo 1 > a.txt', `echo x >> made.bin; ${promise}`],
    });
    grow(project, 'data.bin', 300);
    execFileSync('sh', ['-c', 'head -c 60000000 /dev/urandom > noise.bin'], { cwd: project.folder });

    const result = await project.spool(...run);

    expect(storeSize(project)).toBeLessThan(1_000_000);
    expect(project.history().map(({ git }) => git!.files)).toEqual([['a.txt'], []]);
    const named = result.stderr.split('\n').filter((line) => line.startsWith('Not in'));
    expect(named).toEqual([
      'Not in checkpoints: data.bin (300 MB, over 50 MB).',
      'Not in checkpoints: noise.bin (57 MB, over 50 MB).',
      'Not in checkpoints: made.bin (58 MB, over 50 MB).',
    ]);
    expect(result.stderr).toMatch(/^ {2}Uncommitted 1 file: made\.bin \(58 MB, over 50 MB\)$/m);

    const back = await project.spool('rewind', change, '0');

    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toContain('Skipped: data.bin, noise.bin, made.bin');
    expect(project.exists('made.bin')).toBe(true);
    expect(project.exists('data.bin')).toBe(true);
    expect(project.exists('a.txt')).toBe(false);
    expect(storeSize(project)).toBeLessThan(1_000_000);
  });

  test('that was deleted is named by a rewind to a checkpoint that had it', async () => {
    const project = createProject({
      agent: [
        'echo 1 > a.txt; truncate -s 51M made.bin',
        'rm person.bin; echo 2 > a.txt',
        `rm made.bin; echo 3 > a.txt; ${promise}`,
      ],
    });
    grow(project, 'person.bin', 51);
    await project.spool(...run);
    const back = async (name: string) => (await project.spool('rewind', change, name)).stdout;

    for (const [name, gone] of [
      ['0', 'person.bin'],
      ['1', 'made.bin, person.bin'],
      ['2', 'made.bin'],
    ] as const) {
      const stdout = await back(name);
      expect(stdout).toContain(`Not restored: ${gone} (over 50 MB)\n`);
      expect(stdout).toContain(`Restored the other files to iteration ${name} `);
    }
    expect(await back('2')).toContain('The other files are already at iteration 2; nothing to do.');
    expect(await back('3')).toMatch(/^M {2}a\.txt\nRestored files to iteration 3 /);
  });

  test('that the user deleted after the run is named as well', async () => {
    const project = createProject({ agent: [`echo 1 > a.txt; ${promise}`] });
    grow(project, 'person.bin', 51);
    await project.spool(...run);
    rmSync(project.path('person.bin'));

    const { stdout } = await project.spool('rewind', change, '0');

    expect(stdout).toContain('Not restored: person.bin (over 50 MB)\n');
  });

  test('is counted like any other file once it is committed', async () => {
    const project = createProject({
      agent: ['git add data.bin; git commit -qm data', `echo x >> data.bin; ${promise}`],
    });
    grow(project, 'data.bin', 51);

    await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['data.bin'], ['data.bin']]);
  });

  test('is stored if git tracks it, and one that grew is not reported as deleted', async () => {
    const project = createProject({ agent: ['echo x >> tracked.bin; head -c 60000000 /dev/zero > grows.bin'] });
    grow(project, 'tracked.bin', 51);
    project.git('add', 'tracked.bin');
    project.git('commit', '-qm', 'large');
    grow(project, 'grows.bin', 10);

    await project.spool(...run, '--max-iterations', '1');

    expect(project.history()[0]!.git!.changes).toEqual([{ status: 'modified', path: 'tracked.bin' }]);
    expect(project.git('cat-file', '-s', `${checkpoint(project, '1')}:tracked.bin`)).toBe(String(51 * 1024 * 1024 + 2));
  });
});

describe('a file that git cannot add', () => {
  test('is excluded and named, and other files are counted, saved and committed: a missing filter', async () => {
    const project = createProject({
      files: { '.gitattributes': '*.bin filter=lfs\n' },
      agent: ['echo x > big.bin; echo x > größer.bin; echo y > code.txt', `echo z > code.txt; ${promise}`],
    });
    project.git('config', 'filter.lfs.required', 'true');
    project.git('config', 'filter.lfs.clean', 'no-such-lfs clean -- %f');

    const result = await project.spool(...run);

    expect(project.git('log', '--format=', '--name-only').split('\n')).toContain('code.txt');
    expect(filesIn(project, 'HEAD')).not.toContain('big.bin');
    expect(project.history().map(({ git }) => git!.files)).toEqual([['code.txt'], ['code.txt']]);
    expect(project.history().every((record) => record.checkpoint !== null && record.commit !== null)).toBe(true);
    expect(result.stderr).toContain("Skipped big.bin: git add failed: big.bin: clean filter 'lfs' failed");
    expect(result.stderr.match(/git add failed/g)).toHaveLength(2);
    const back = await project.spool('rewind', change, '0');
    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toMatch(/Skipped: .*big\.bin/);
    expect(project.exists('big.bin')).toBe(true);
    expect(project.exists('code.txt')).toBe(false);
  });

  test.each([
    ['a missing filter', 'png', { 'filter.lfs.required': 'true', 'filter.lfs.clean': 'no-such-lfs clean' }],
    ['line endings', 'txt', { 'core.autocrlf': 'input', 'core.safecrlf': 'true' }],
  ])('is excluded with hundreds of others: %s', async (_, ending, config) => {
    const project = createProject({
      files: { '.gitattributes': '*.png filter=lfs\n' },
      agent: [
        `for n in old $(seq 250); do printf 'x\\r\\n' > img/$n.${ending}; done; echo y > code.js`,
        `printf 'x\\r\\n' > img/more.${ending}; echo z > code.js; ${promise}`,
      ],
    });
    project.write(`img/old.${ending}`, 'x\n');
    // For files as new as the index, git compares the contents.
    utimesSync(project.path(`img/old.${ending}`), 1e9, 1e9);
    project.git('add', 'img');
    project.git('commit', '-qm', 'tracked');
    for (const [key, value] of Object.entries(config)) project.git('config', key, value);

    const result = await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['code.js'], ['code.js']]);
    expect(project.history().every(({ commit }) => commit !== null)).toBe(true);
    expect(project.git('status', '--porcelain', '--no-renames', '--', 'code.js')).toBe('');
    const named = result.stderr.split('\n').filter((line) => line.startsWith('Skipped '));
    expect(named).toHaveLength(12);
    expect(named[10]).toBe('Skipped 241 more files: git add failed.');
    expect(named[11]).toContain(`Skipped img/more.${ending}: git add failed`);
  });

  test('is added once it is fixed: line endings', async () => {
    const project = createProject({
      agent: [`printf 'x\\r\\n' > crlf.txt; echo y > code.txt`, `printf 'x\\n' > crlf.txt; ${promise}`],
    });
    project.git('config', 'core.autocrlf', 'input');
    project.git('config', 'core.safecrlf', 'true');

    const result = await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['code.txt'], ['crlf.txt']]);
    expect(project.history().every(({ commit }) => commit !== null)).toBe(true);
    expect(result.stderr).toContain('Skipped crlf.txt: git add failed: CRLF would be replaced by LF in crlf.txt');
  });
});

describe('a nested repository', () => {
  const stalls = ['ralph', '--change', change, '--max-stalled', '2', '--max-iterations', '4'];
  const addSubmodule = (project: TestProject) => {
    const library = createProject({ files: { 's.txt': 'one\n' } });
    project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.folder, 'lib');
    project.git('commit', '--quiet', '-m', 'a submodule');
  };
  const addPlain = (project: TestProject) => {
    project.write('lib/s.txt', 'one\n');
    project.git('init', '-q', 'lib');
    project.git('-C', 'lib', 'add', '--all');
    project.git('-C', 'lib', 'commit', '-qm', 'inner');
  };
  const addEmpty = (project: TestProject) => {
    project.write('lib/s.txt', 'one\n');
    project.git('init', '-q', 'lib');
  };

  test.each([
    ['submodule', addSubmodule],
    ['plain repository', addPlain],
    ['repository without commits', addEmpty],
  ])('work in it counts as progress but is not committed: a %s', async (_, add) => {
    const project = createProject({ agent: ['echo more >> lib/s.txt'] });
    add(project);
    const head = project.git('rev-parse', 'HEAD');

    const result = await project.spool(...stalls);

    expect(result.code).toBe(3);
    expect(project.history().map(({ git }) => git!.changes)).toEqual(
      Array.from({ length: 4 }, () => [{ status: 'modified', path: 'lib/s.txt' }]),
    );
    expect(project.calls()[1]!.prompt).not.toContain('changed no file');
    expect(project.git('rev-parse', 'HEAD')).toBe(head);
    expect(result.stderr.match(/Not committed: lib \(nested repository\)/g)).toHaveLength(1);
    expect(result.stderr).toMatch(/^ {2}Changed +1 file \+0 -0$/m);

    const back = await project.spool('rewind', change, '0');
    expect(back).toMatchObject({ code: 0 });
    expect(back.stdout).toContain('Skipped: lib (nested repository)');
    expect(back.stdout).not.toContain('Restored files');
  });

  test('work in it from before an interruption is in the summary of the resumed run', async () => {
    const project = createProject({ agent: ['echo more >> lib/s.txt', 'kill -INT $PPID; sleep 5', promise] });
    addPlain(project);
    await project.spool(...run);

    expect((await project.spool(...run)).stderr).toMatch(/^ {2}Changed +1 file \+0 -0$/m);
  });

  test('files created and deleted in it count, ignored files and rewrites with the same content do not', async () => {
    const project = createProject({
      agent: [
        'echo 1 > lib/new.txt; rm lib/s.txt',
        'echo 2 > lib/out.log',
        'echo 3 > lib/new.txt',
        'echo 3 > lib/new.txt',
        'echo 3 > lib/new.txt',
      ],
    });
    addPlain(project);
    project.write('lib/.gitignore', '*.log\n');

    await project.spool(...run, '--max-iterations', '5');

    expect(project.history().map(({ git }) => git!.changes)).toEqual([
      [
        { status: 'added', path: 'lib/new.txt' },
        { status: 'deleted', path: 'lib/s.txt' },
      ],
      [],
      [{ status: 'modified', path: 'lib/new.txt' }],
      [],
      [],
    ]);
  });

  test('is excluded if it was ignored before the rules changed', async () => {
    const project = createProject({
      files: { '.gitignore': 'lib/\n' },
      agent: [': > .gitignore', `echo more >> lib/s.txt; ${promise}`],
    });
    addPlain(project);

    const result = await project.spool(...run);

    expect(project.history().map(({ git }) => git!.files)).toEqual([['.gitignore'], []]);
    expect(result.stderr).toContain('Excluded from commits and checkpoints: lib/ (was ignored before');
  });

  test('does not count as progress if the agent does nothing', async () => {
    const project = createProject({ agent: ['true'] });
    addSubmodule(project);
    project.write('lib/s.txt', 'dirty\n');

    expect(await project.spool(...stalls)).toMatchObject({ code: 4 });
    expect(project.history()).toHaveLength(2);
  });
});

describe('a rewind is allowed for an ignored file', () => {
  test('with the content of the target checkpoint', async () => {
    const project = createProject({ agent: [`echo '*.log' > .gitignore; echo a > a.txt; ${promise}`] });
    project.write('notes.log', 'notes\n');
    await project.spool(...run);

    const back = await project.spool('rewind', change, '0');

    expect(back).toMatchObject({ code: 0, stderr: '' });
    expect(project.read('notes.log')).toBe('notes\n');
    expect(project.exists('a.txt')).toBe(false);
    expect(project.exists('.gitignore')).toBe(false);
  });

  test('with the content of another checkpoint of the run', async () => {
    const project = createProject({
      agent: ['echo one >> notes.log', `echo '*.log' > .gitignore; ${promise}`],
    });
    project.write('notes.log', 'notes\n');
    await project.spool(...run, '--no-commit');

    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0, stderr: '' });
    expect(project.read('notes.log')).toBe('notes\n');
    expect(await project.spool('rewind', change, '1')).toMatchObject({ code: 0, stderr: '' });
    expect(project.read('notes.log')).toBe('notes\none\n');
  });

  test('only if a checkpoint has its content', async () => {
    const project = createProject({ agent: [`echo '*.log' > .gitignore; ${promise}`] });
    project.write('notes.log', 'notes\n');
    await project.spool(...run);
    project.write('notes.log', 'precious\n');

    expect(await project.spool('rewind', change, '0')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('notes.log'),
    });
    expect(project.read('notes.log')).toBe('precious\n');
  });
});

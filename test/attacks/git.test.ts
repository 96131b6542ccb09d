import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type ProjectOptions, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Git settings that start a program, written by an agent or brought by a clone. No command of Spool may run one. */

const run = ['ralph', '--change', change];

/** The program of the attacker. It appends a line to a file outside the project. */
const armed = (options: ProjectOptions = {}) => {
  const project = createProject(options);
  const marker = join(project.home, 'ran');
  writeFileSync(
    join(project.home, 'evil'),
    `#!/bin/sh\necho "$@" >> '${marker}'\n[ "$1" = fetch ] || cat 2>/dev/null\n`,
  );
  chmodSync(join(project.home, 'evil'), 0o755);
  return {
    ...project,
    /** The runs of it by Spool so far. */
    ran: () => (existsSync(marker) ? readFileSync(marker, 'utf8') : ''),
    forget: () => rmSync(marker, { force: true }),
  };
};

/** An agent that attacks in its first call. Runs of the program by the agent itself do not count. */
const once = (attack: string) =>
  `echo x >> made.txt; [ -e "$HOME/done" ] || { ${attack}; touch "$HOME/done"; rm -f "$HOME/ran"; }`;

/** A nested repository with an attack. Its file looks modified, so that git would run a filter. */
const nested = (attack: string, name = 'sub') =>
  `git init -q ${name}; cd ${name}; echo '*.t filter=evil' > .gitattributes; echo x > x.t
   git add .; git commit -qm inner; touch -d 2001-01-01 x.t; ${attack}; cd ..`;

const fsmonitor = 'git config core.fsmonitor "$HOME/evil fsmonitor"';
const cleanFilter = 'git config filter.evil.clean "$HOME/evil clean"';
const processFilter = 'git config filter.evil.process "$HOME/evil process"';
const hooks = `mkdir -p .git/hooks; for hook in post-index-change pre-commit post-commit post-checkout reference-transaction
  do cp "$HOME/evil" .git/hooks/$hook; done`;
/** A missing tree in a sparse index makes git fetch it from the remote. */
const lazyFetch = `mkdir d; echo y > d/y; git add .; git commit -qm more; git sparse-checkout set --cone --sparse-index
  rm -f .git/objects/$(git rev-parse HEAD:d | sed 's|..|&/|'); git config core.repositoryFormatVersion 1
  git config extensions.partialClone evil; git config remote.evil.url /tmp; git config remote.evil.uploadpack "$HOME/evil fetch"`;
const all = `${fsmonitor}; ${cleanFilter}; ${hooks}`;

const asGitlink = 'git add sub 2> /dev/null; git commit -qm "a gitlink"';
const asSubmodule = `printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = ./sub\\n\\tignore = none\\n' > .gitmodules
  git add .gitmodules sub 2> /dev/null; git commit -qm "a submodule"`;
const ignoredGitlink = 'echo /sub/ > .gitignore; git add -f sub 2> /dev/null; git commit -qm "an ignored gitlink"';

/** What Spool does after an attack: the rest of the iteration, one more, and other commands. */
const useAll = async (project: TestProject, ...flags: string[]) => {
  await project.spool(...run, '--max-iterations', '2', ...flags);
  const readers = [
    ['diff', change, '1'],
    ['diff', change, '0..1', '--stat'],
    ['rewind', change, '0', '--dry-run'],
    ['list'],
    ['show', change],
    [...run, '--status'],
    ['doctor'],
  ];
  await Promise.all(readers.map((call) => project.spool(...call)));
  await project.spool('prune', '--yes');
};

describe('git does not work in another repository that', () => {
  test.each([
    ['a link in place of a nested repository leads to', 'sub', 'rm -rf sub; ln -s "$HOME/other" sub'],
    [
      'a link named like a nested repository, whose name is not UTF-8, leads to',
      `"$(printf 's\\377')"`,
      `ln -s "$HOME/other" "$(printf 's\\357\\277\\275')"`,
    ],
  ])('%s', async (_, name, attack) => {
    const nest = `git init -q ${name}; (cd ${name}; git commit -q --allow-empty -m inner); git add ${name} 2> /dev/null`;
    const agent = [`${nest}; git commit -qm gitlink; echo 1 > 1.txt`, `${attack}; echo 2 > 2.txt`, promise];
    const project = createProject({ agent });
    const other = join(project.home, 'other');
    const inOther = (command: string) =>
      execFileSync('sh', ['-ec', command], { cwd: other, env: project.env, encoding: 'utf8' });
    mkdirSync(other);
    inOther('git init -q; git commit -q --allow-empty -m theirs; echo x > private-name.txt');

    const { code, stdout } = await project.spool(...run, '--max-iterations', '3', '--json');

    expect(code).toBe(0);
    const checkpoints = project.git('for-each-ref', '--format=%(refname)', 'refs/spool').split('\n');
    const entries = checkpoints.map((ref) => project.git('ls-tree', ref));
    expect(entries.join('\n')).not.toContain(inOther('git rev-parse HEAD').trim());
    expect(stdout).not.toContain('private-name');
  });
});

test.each([
  ['a .git file', `mkdir sub; echo "gitdir: $HOME/other/.git" > sub/.git`],
  ['a .git file and a link', `mkdir sub; ln -s "$HOME/other" l; echo 'gitdir: ../l/x/../.git' > sub/.git`],
  ['a .git link', `mkdir sub; ln -s "$HOME/other/.git" sub/.git`],
  ['a commondir', `git init -q sub; echo "$HOME/other/.git" > sub/.git/commondir`],
  [
    'core.worktree',
    `git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.worktree "$HOME/other"`,
  ],
])('a nested repository that %s leads out of the project is not followed', async (_, nest) => {
  const project = createProject({ agent: [`${nest}; echo 1 > 1.txt`, 'echo 2 > sub/2.txt; echo 2 > 2.txt', promise] });
  const other = join(project.home, 'other');
  const inOther = (command: string) =>
    execFileSync('sh', ['-ec', command], { cwd: other, env: project.env, encoding: 'utf8' });
  mkdirSync(join(other, 'x'), { recursive: true });
  inOther('git init -q; git commit -q --allow-empty -m theirs; echo x > private-name.txt');

  const { code, stdout } = await project.spool(...run, '--max-iterations', '3', '--json');

  expect(code).toBe(0);
  const checkpoints = project.git('for-each-ref', '--format=%(refname)', 'refs/spool').split('\n');
  expect(checkpoints.map((ref) => project.git('ls-tree', ref)).join('\n')).not.toContain('160000');
  expect(stdout).not.toContain('private-name');
  expect(stdout).toContain('Not committed: sub (nested repository).');
  expect(project.history().map(({ git }) => git?.files)).toEqual([expect.arrayContaining(['1.txt']), ['2.txt'], []]);
});

describe('a nested repository of the agent runs nothing', () => {
  test.each([
    ['fsmonitor, as a gitlink', fsmonitor, asGitlink],
    ['a clean filter, as a gitlink', cleanFilter, asGitlink],
    ['a clean filter, as a submodule with ignore = none', cleanFilter, asSubmodule],
    ['a clean filter, as an ignored gitlink', cleanFilter, ignoredGitlink],
    ['a filter process, as a submodule', processFilter, asSubmodule],
    ['hooks, as a gitlink', hooks, asGitlink],
    ['a remote for missing objects, untracked', lazyFetch, 'true'],
    ['a remote for missing objects, as a gitlink', lazyFetch, asGitlink],
    [
      'another repository in it',
      `${nested(all, 'deeper')}; git add deeper 2> /dev/null; git commit -qm more`,
      asGitlink,
    ],
  ])('with %s', async (_, attack, commit) => {
    const project = armed({ agent: [once(`${nested(attack)}; ${commit}`)] });

    await useAll(project);

    expect(project.ran()).toBe('');
    expect(project.history().map(({ git }) => git?.files)).toEqual([
      expect.arrayContaining(['made.txt']),
      ['made.txt'],
    ]);
  });

  test('in a commit that a hook leaves empty', async () => {
    const project = armed({ agent: [once(`${nested(cleanFilter)}; ${asSubmodule}`)] });
    project.write('.git/hooks/pre-commit', '#!/bin/sh\ngit reset -q -- made.txt\n');
    chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

    await project.spool(...run, '--max-iterations', '2');

    expect(project.ran()).toBe('');
  });
});

describe('settings that an agent adds to the repository', () => {
  test.each([
    ['fsmonitor', fsmonitor],
    ['an external diff', 'git config diff.external "$HOME/evil diff"'],
    [
      'diff drivers',
      `echo '*.txt diff=evil' > .gitattributes; git config diff.evil.command "$HOME/evil command"
       git config diff.evil.textconv "$HOME/evil textconv"`,
    ],
    [
      'pager and editor',
      'for key in core.pager pager.diff core.editor sequence.editor; do git config $key "$HOME/evil $key"; done',
    ],
    [
      'submodule diffs',
      `${nested('git config diff.external "$HOME/evil inner"; git commit -q --allow-empty -m more')}; git add sub 2> /dev/null
       git config diff.submodule diff; git config submodule.recurse true; git config status.submoduleSummary true`,
    ],
  ])('run nothing: %s', async (_, attack) => {
    const project = armed({ agent: [once(attack)] });

    await useAll(project);

    expect(project.ran()).toBe('');
    expect(project.history()).toHaveLength(2);
  });

  test.each([
    ['filter.evil.clean', `echo '*.txt filter=evil' > .gitattributes; ${cleanFilter}`],
    ['filter.evil.process', `echo '*.txt filter=evil' > .gitattributes; ${processFilter}`],
    ['gpg.program', 'git config commit.gpgSign true; git config gpg.program "$HOME/evil gpg"'],
    ['core.worktree', 'git config core.worktree "$HOME"'],
    [
      'filter.evil.clean',
      `echo '*.txt filter=evil' > .gitattributes; git config -f own.config filter.evil.clean "$HOME/evil clean"`,
      ['include.path', '../own.config'],
    ],
  ])('stop the use of git with one message if Spool depends on them: %s', async (key, attack, config?) => {
    const project = armed({ agent: [once(attack)] });
    if (config !== undefined) project.git('config', ...(config as string[]));
    const head = project.git('rev-parse', 'HEAD');

    const result = await project.spool(...run, '--max-iterations', '3');

    expect(project.ran()).toBe('');
    expect(result.code).toBe(3);
    expect(result.stderr.match(/was changed during the run: changes are no longer tracked/g)).toHaveLength(1);
    expect(result.stderr).toMatch(/Uncommitted unknown \(.* was changed during the run\)/);
    expect(result.stderr).toMatch(
      new RegExp(
        `${key} in (\\.git/|\\.git/\\.\\./own\\.)config was changed during the run: changes are no longer tracked`,
      ),
    );
    expect(project.history().map(({ git, commit }) => [git, commit])).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(readFileSync(project.path('.git/refs/heads/main'), 'utf8').trim()).toBe(head);
  });

  test('cause no signature checks when commits are listed', async () => {
    const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n -----END PGP SIGNATURE-----';
    const sign = `git commit -q --allow-empty -m more
      git reset -q --soft $(git cat-file commit HEAD | sed '/^committer/a ${signature}' | git hash-object -t commit -w --stdin)
      git commit -q --allow-empty -m top`;
    const project = armed({ agent: [`${once('true')}; ${sign}; rm -f "$HOME/ran"`] });
    project.git('config', 'log.showSignature', 'true');
    project.git('config', 'gpg.program', `${project.home}/evil`);

    await project.spool(...run, '--max-iterations', '1');

    expect(project.history()[0]!.git!.commits).toHaveLength(1);
    expect(project.ran()).toBe('');
  });

  test('stop the use of git only until they are removed', async () => {
    const project = armed({
      agent: [
        `echo '*.txt filter=evil' > .gitattributes; ${cleanFilter}`,
        'git config --remove-section filter.evil',
        'echo x > x',
      ],
    });

    const result = await project.spool(...run, '--max-iterations', '3');

    expect(project.ran()).toBe('');
    expect(result.stderr).toContain('filter.evil.clean in .git/config was changed during the run');
    expect(project.history().map(({ git }) => git?.files)).toEqual([undefined, undefined, ['x']]);
  });

  test('run no hooks without a commit', async () => {
    const project = armed({ agent: [once(`${hooks}; git config core.hooksPath .git/hooks`)] });

    await useAll(project, '--no-commit');
    await project.spool('rewind', change, '0');

    expect(project.ran()).toBe('');
    expect(project.exists('made.txt')).toBe(false);
  });

  test('are ignored if they are harmless', async () => {
    const project = createProject({
      agent: [
        `git config core.editor vi; git remote add fork /tmp/x; git config user.name Agent; echo x > x.txt; ${promise}`,
      ],
    });

    const result = await project.spool(...run);

    expect(result).toMatchObject({ code: 0 });
    expect(project.git('log', '-1', '--format=%s')).toBe('ralph(002-01): iteration 1');
  });
});

describe('with a worktree', () => {
  test.each([
    ['fsmonitor', fsmonitor],
    ['a clean filter', cleanFilter],
  ])('a nested repository with %s runs nothing, up to the landing', async (_, attack) => {
    const project = armed({ agent: [`${once(`${nested(attack)}; ${asSubmodule}`)}; ${promise}`] });

    const done = await project.spool(...run, '--worktree', '--verify', 'true');
    const landed = await project.spool('land', change);

    expect(done.code).toBe(0);
    expect(landed).toMatchObject({ code: 0 });
    expect(project.ran()).toBe('');
    expect(project.read('made.txt')).toBe('x\n');
  });

  test('a nested repository in the work tree of the base runs nothing during a landing', async () => {
    const project = armed({ agent: [`echo x > made.txt; ${promise}`] });
    project.write('plant.sh', `${nested(all)}; ${asSubmodule}`);
    execFileSync('sh', ['plant.sh'], { cwd: project.folder, env: project.env });
    project.forget();

    const done = await project.spool(...run, '--worktree', '--verify', 'true');
    const landed = await project.spool('land', change);

    expect([done.code, landed.code]).toEqual([0, 0]);
    expect(project.ran()).toBe('');
    expect(project.read('made.txt')).toBe('x\n');
  });
});

describe('a clone', () => {
  test('with a bare repository that configures programs runs nothing', async () => {
    const project = armed({ agent: [`echo x > made.txt; ${promise}`] });
    project.git('init', '-q', '--bare', 'sub');
    project.git('-C', 'sub', 'config', 'core.bare', 'false');
    project.git('-C', 'sub', 'config', 'core.worktree', '.');
    project.git('-C', 'sub', 'config', 'core.fsmonitor', `${project.home}/evil fsmonitor`);
    project.git('-C', 'sub', 'config', 'filter.evil.clean', `${project.home}/evil clean`);
    project.write('sub/.gitattributes', '*.txt filter=evil\n');
    project.write(`sub/.spool/changes/${change}/proposal.md`, '# Add\n\nThe proposal.\n');
    project.forget();

    const result = await project.start(run, { cwd: 'sub' }).result;
    for (const words of [['list'], ['show', change], ['diff', change], ['rewind', change, '0'], ['doctor'], ['prune']])
      await project.start(words, { cwd: 'sub' }).result;

    expect(project.ran()).toBe('');
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('Nothing will be committed, because git refuses:');
  });
});

test('hooks from git config (git 2.54) do not run in commands that do not commit', async () => {
  const project = armed({ agent: [`echo x > made.txt; ${promise}`] });
  await project.spool(...run);
  for (const event of ['reference-transaction', 'post-index-change', 'post-checkout']) {
    project.git('config', `hook.evil-${event}.command`, `${project.home}/evil ${event}`);
    project.git('config', `hook.evil-${event}.event`, event);
  }
  project.forget();

  for (const words of [['list'], ['diff', change, '1'], ['rewind', change, '0'], ['prune', '--yes']])
    expect(await project.spool(...words)).toMatchObject({ code: 0 });

  expect(project.ran()).toBe('');
});

describe('spool diff on a terminal', () => {
  const worked = async (home = '') => {
    const project = armed({ agent: [`echo one > a.txt; ${promise}`] });
    writeFileSync(join(project.home, '.gitconfig'), home, { flag: 'a' });
    await project.spool(...run);
    for (const key of ['core.pager', 'pager.diff', 'diff.external'])
      project.git('config', key, `${project.home}/evil ${key}`);
    return project;
  };

  test('does not use the pager of the repository', async () => {
    const project = await worked();
    const terminal = openTerminal({ ...project, env: { ...project.env, PAGER: 'cat' } } as TestProject, [
      'diff',
      change,
    ]);

    expect(await terminal.exitCode).toBe(0);
    expect(terminal.screen()).toContain('+one');
    expect(project.ran()).toBe('');
  });

  test('uses the pager of the user', async () => {
    const project = await worked('[core]\n\tpager = sed s/^/mine:/\n');
    const terminal = openTerminal(project, ['diff', change]);

    expect(await terminal.exitCode).toBe(0);
    expect(terminal.screen()).toContain('mine:+one');
    expect(project.ran()).toBe('');
  });

  test('keeps the colors of git and removes styles that hide lines of a file', async () => {
    const hidden = ['8', '0;8', '5', '31;8', '38;5;1;8', '38:2::0:0:0', '3', '9', '58;5;1'];
    const shown = ['1;31', '38;5;208', '48;2;1;2;3', '97', '107', ''];
    const lines = [...hidden, ...shown].map((codes) => `x\\033[${codes}my`);
    const project = createProject({ agent: [`printf '${lines.join('\\n')}\\n' > a.txt; ${promise}`] });
    await project.spool(...run);
    project.git('config', 'color.ui', 'always');
    const env = { ...project.env, PAGER: 'cat' };

    const terminal = openTerminal({ ...project, env } as TestProject, ['diff', change]);

    expect(await terminal.exitCode).toBe(0);
    const screen = terminal.raw();
    for (const codes of hidden) expect(screen).not.toContain(`\u001b[${codes}m`);
    for (const codes of shown) expect(screen).toContain(`x\u001b[${codes}my`);
    expect(screen).toContain('\u001b[32m+');
  });

  test.each([{ GIT_PAGER: 'cat' }, { PAGER: 'cat' }, { GIT_PAGER: 'sed s/^/mine:/' }, { GIT_PAGER: '' }])(
    'removes control characters from files with any pager: %o',
    async (pager) => {
      const controls = String.raw`\033]52;c;UFdORUQ=\007\033[2J\302\233\342\200\256`;
      const project = createProject({ agent: [`printf 'begin ${controls} end\n' > a.txt; ${promise}`] });
      await project.spool(...run);
      project.git('config', 'color.ui', 'always');
      const env = { ...project.env, ...pager };

      const terminal = openTerminal({ ...project, env } as TestProject, ['diff', change]);

      expect(await terminal.exitCode).toBe(0);
      expect(terminal.screen()).toContain('begin ]52;c;UFdORUQ=[2J end');
      expect(terminal.raw()).toContain('\u001b[32m');
      expect(terminal.raw()).not.toMatch(/\u001b\]52|\u001b\[2J|[\u0007\u009b\u202e]/);
    },
  );
});

test('environment variables that name another repository or a program are ignored', async () => {
  const project = armed({ agent: [`echo one > a.txt; ${promise}`] });
  const other = createProject();
  const env = {
    GIT_DIR: join(other.folder, '.git'),
    GIT_EXTERNAL_DIFF: `${project.home}/evil diff`,
    GIT_NAMESPACE: 'other',
    GIT_OBJECT_DIRECTORY: join(other.folder, '.git', 'objects'),
  };

  expect(await project.start(run, { env }).result).toMatchObject({ code: 0 });
  const shown = await project.start(['diff', change], { env }).result;

  expect(shown.stdout).toContain('+one');
  expect(project.ran()).toBe('');
  expect(project.git('log', '-1', '--format=%s')).toBe('ralph(002-01): iteration 1');
  expect(other.git('log', '--format=%s')).toBe('start');
});

describe('settings of the user keep working', () => {
  const hook = (project: TestProject, name: string, script: string) => {
    project.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
    chmodSync(project.path(`.git/hooks/${name}`), 0o755);
  };

  test('hooks run on commit, including those in core.hooksPath', async () => {
    const project = armed({ agent: [`echo x > x.txt; ${promise}`] });
    for (const name of ['pre-commit', 'post-commit']) hook(project, name, `echo ${name} >> "$HOME/ran"`);
    hook(project, 'commit-msg', 'echo "Checked: yes" >> "$1"');
    project.git('config', 'core.hooksPath', '.git/hooks');

    await project.spool(...run);

    expect(project.ran()).toBe('pre-commit\npost-commit\n');
    expect(project.git('log', '-1', '--format=%b')).toContain('Checked: yes');
  });

  test('a post-checkout hook runs when a worktree is created', async () => {
    const project = armed({ agent: [`echo x > x.txt; ${promise}`] });
    hook(project, 'post-checkout', 'echo post-checkout >> "$HOME/ran"');

    await project.spool(...run, '--worktree');

    expect(project.ran()).toBe('post-checkout\n');
  });

  test('commits are signed', async () => {
    const project = armed({ agent: [`echo x > x.txt; ${promise}`] });
    const sign = `#!/bin/sh\necho '[GNUPG:] SIG_CREATED ' >&2\ncat > /dev/null\necho signed by the user\n`;
    writeFileSync(join(project.home, 'sign'), sign, { mode: 0o755 });
    project.git('config', 'gpg.program', join(project.home, 'sign'));
    project.git('config', 'commit.gpgSign', 'true');

    await project.spool(...run);

    expect(project.git('cat-file', 'commit', 'HEAD')).toContain('signed by the user');
  });

  test('filters convert files on commit, checkout, rewind and landing', async () => {
    const project = createProject({
      files: { '.gitattributes': '*.big filter=store\n' },
      agent: ['echo plain > a.big', `echo other > a.big; ${promise}`],
    });
    // Like Git LFS: the content in the repository differs from the work tree.
    project.git('config', 'filter.store.clean', "sed 's/^/stored:/'");
    project.git('config', 'filter.store.smudge', "sed 's/^stored://'");
    project.git('config', 'filter.store.required', 'true');

    expect(await project.spool(...run, '--worktree', '--verify', 'test -e a.big')).toMatchObject({ code: 0 });
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });

    expect(project.git('cat-file', 'blob', 'HEAD:a.big')).toBe('stored:other');
    expect(project.read('a.big')).toBe('other\n');

    expect(await project.spool(...run, '--fresh')).toMatchObject({ code: 0 });
    project.write('a.big', 'mine\n');
    expect(await project.spool('rewind', change, '0')).toMatchObject({ code: 0 });
    expect(project.read('a.big')).toBe('other\n');
  });
});

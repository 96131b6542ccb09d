import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, spoolProgram, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change];
const config = '.spool/config.json';

/** A command of a hostile project. It creates a file outside the project. */
const evil = 'touch "$HOME/pwned"';
const isHit = (project: TestProject) => existsSync(join(project.home, 'pwned'));

/** A clone that the user has not trusted. */
const clone = (settings: object, files: Record<string, string> = {}) =>
  createProject({
    agent: [promise],
    untrusted: true,
    files: {
      [config]: JSON.stringify(settings),
      '.spool/changes/002-02_other/proposal.md': '# Other\n\nIt.\n',
      ...files,
    },
  });

/** An executable that creates the file and prints the promise. */
const tool = (project: TestProject, path = 'tools/agent') => {
  project.write(path, `#!/bin/sh\n${evil}\n${promise}\n`);
  chmodSync(project.path(path), 0o755);
};

const hashIn = (text: string) => /SPOOL_TRUST=(sha256:[\da-f]{64})/.exec(text)?.[1] ?? '';

describe('a clone does not run its own commands', () => {
  const hidden = `npm test --silent -- --reporter=dot --coverage=false --color${' '.repeat(200)}; ${evil}`;

  test.each<[string, object, string[], string]>([
    ['verify', { verify: hidden }, run, `[200 blanks] ; ${evil}`],
    ['a list in verify', { verify: ['true', evil] }, run, `config.json verify  ${evil}`],
    ['notify', { notify: evil }, run, `config.json notify  ${evil}`],
    ['the setup of worktrees', { worktree: { setup: evil } }, [...run, '--worktree'], evil],
    ['the setup by its short name', { worktreeSetup: evil }, [...run, '--worktree'], evil],
    ['verify of a change', { changes: { '002': { verify: evil } } }, run, `config.json changes.002 verify  ${evil}`],
    ['notify of a change', { changes: { '002-01': { notify: evil } } }, run, 'config.json changes.002-01 notify'],
    [
      'a setup of worktrees that only applies to all changes together',
      { parallel: 2, worktreeSetup: evil, changes: { '002': { parallel: 1 } } },
      ['ralph', '--all'],
      evil,
    ],
    ['several changes', { notify: evil }, ['ralph', '--all'], evil],
    [
      'an agent that the config file selects',
      { harness: 'mine', harnesses: { mine: { command: './tools/agent', args: ['--print'] } } },
      run,
      'config.json harnesses.mine  ./tools/agent --print',
    ],
    [
      'an agent that the user selects',
      { harnesses: { mine: { command: 'sh', args: ['tools/agent'], allowAllArgs: ['--yes'] } } },
      [...run, '--harness', 'mine'],
      'with --allow-all: --yes',
    ],
    [
      'the probe of an agent',
      { harness: 'mine', harnesses: { mine: { command: './tools/agent' } } },
      ['doctor', '--probe'],
      './tools/agent',
    ],
  ])('in %s', async (_, settings, args, shown) => {
    const project = clone(settings);
    tool(project);

    const result = await project.start(args, { env: { CI: '1' } }).result;

    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(shown);
    expect(result.stderr).toMatch(
      /^spool: \S+ would run the commands above, which you have not trusted\. .*SPOOL_TRUST=sha256:[\da-f]{64}$/m,
    );
    expect(isHit(project)).toBe(false);
    expect(project.calls()).toEqual([]);
    expect(project.exists('.spool/.state')).toBe(false);
  });

  test('and does not copy secrets to a worktree', async () => {
    const files = { '.worktreeinclude': '.env\n', '.gitignore': '.env\n', '.env': 'KEY=1\n' };
    const project = createProject({ agent: [promise], untrusted: true, files });

    const result = await project.spool(...run, '--worktree');

    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('.worktreeinclude  .env') as string });
    expect(project.exists(`.spool/worktrees/${change}`)).toBe(false);
    // Nothing is copied without an include file.
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
  });

  test('when its branch lands', async () => {
    const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
    project.write(config, JSON.stringify({ verify: evil, worktree: { setup: evil } }));

    expect(await project.spool('land', change)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('would run the commands above') as string,
    });
    expect(await project.spool('land', change, '--verify', 'true')).toMatchObject({ code: 2 });
    expect(isHit(project)).toBe(false);
    expect(project.exists('x.txt')).toBe(false);

    project.trust();
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(isHit(project)).toBe(true);
  });

  test('but read-only commands work', async () => {
    const project = clone({
      verify: evil,
      notify: evil,
      harness: 'mine',
      harnesses: { mine: { command: './tools/agent' } },
    });
    tool(project);

    for (const args of [
      ['list'],
      ['show', change],
      ['harnesses'],
      ['doctor'],
      [...run, '--status'],
      [...run, '--add-context', 'x'],
    ])
      expect(await project.spool(...args)).toMatchObject({ code: 0 });
    expect(isHit(project)).toBe(false);
  });

  test('but flags and variables of the user need no trust', async () => {
    const project = clone({ verify: evil, notify: evil });
    const args = [...run, '--verify', 'touch "$HOME/verified"'];
    expect(await project.start(args, { env: { SPOOL_NOTIFY: 'touch "$HOME/told"' } }).result).toMatchObject({
      code: 0,
    });

    expect(isHit(project)).toBe(false);
    for (const name of ['verified', 'told']) expect(existsSync(join(project.home, name))).toBe(true);
  });
});

describe('SPOOL_TRUST', () => {
  const hostile = { verify: evil };

  test('trusts exactly the settings with this hash, for one call', async () => {
    const project = clone(hostile);
    const pin = hashIn((await project.spool(...run)).stderr);
    const other = `sha256:${'0'.repeat(64)}`;

    const wrong = await project.start(run, { env: { SPOOL_TRUST: other } }).result;
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('SPOOL_TRUST has a different hash') as string,
    });
    expect(isHit(project)).toBe(false);

    const right = await project.start(run, { env: { SPOOL_TRUST: `${other}, ${pin}` } }).result;
    expect(right).toMatchObject({ code: 0, stderr: expect.stringContaining('(config.json, SPOOL_TRUST)') as string });
    expect(isHit(project)).toBe(true);
    expect(await project.spool(...run, '--fresh')).toMatchObject({ code: 2 });

    project.write(config, JSON.stringify({ verify: evil, notify: evil }));
    expect(await project.start(run, { env: { SPOOL_TRUST: pin } }).result).toMatchObject({ code: 2 });
  });

  test('is not enabled by accident, and prints when it trusts everything', async () => {
    const project = clone(hostile);
    for (const value of ['true', 'yes', 'sha256:12', `1,sha256:${'0'.repeat(64)}`])
      expect(await project.start(run, { env: { SPOOL_TRUST: value } }).result).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('SPOOL_TRUST must be') as string,
      });
    expect(isHit(project)).toBe(false);

    const all = await project.start(run, { env: { SPOOL_TRUST: '1' } }).result;
    expect(all).toMatchObject({ code: 0 });
    expect(all.stderr).toMatch(
      /^SPOOL_TRUST=1: everything in this project is trusted without review:\n {2}config\.json verify {2}touch/,
    );
  });
});

describe('trust', () => {
  test('is asked for once on a terminal, and shows everything', async () => {
    const sly = `: \u202e\u001b[2K\u200b; ${evil}`;
    const project = clone({ notify: sly });
    const no = openTerminal(project, run);
    await no.shows('Run these from this project?');
    expect(no.screen()).toContain(String.raw`: \u{202e}\u{1b}[2K\u{200b}; touch "$HOME/pwned"`);
    no.type('\r');
    expect(await no.exitCode).toBe(130);
    expect(no.screen()).toContain('Cancelled: the project is not trusted. Nothing was started.');
    expect(isHit(project)).toBe(false);
    expect(project.exists('.spool/.state')).toBe(false);

    const yes = openTerminal(project, run);
    await yes.shows('Run these from this project?');
    yes.type('y');
    expect(await yes.exitCode).toBe(0);
    expect(yes.screen()).toMatch(/Notify +: \\u\{202e\}.*\(config\.json, trusted \d{4}-\d\d-\d\d\)/s);
    expect(isHit(project)).toBe(true);

    const again = openTerminal(project, [...run, '--fresh']);
    expect(await again.exitCode).toBe(0);
    expect(again.screen()).not.toContain('Run these');
  });

  test('is not asked for with --no-interactive', async () => {
    const project = clone({ notify: evil });
    const terminal = openTerminal(project, [...run, '--no-interactive']);
    expect(await terminal.exitCode).toBe(2);
    expect(isHit(project)).toBe(false);
  });

  test('is lost for a changed value, which is shown as a diff, and for no other', async () => {
    const project = createProject({
      agent: [promise],
      files: { [config]: JSON.stringify({ verify: ['true', 'exit 0'], notify: 'true' }) },
    });
    expect(await project.spool(...run)).toMatchObject({ code: 0 });

    project.write(config, JSON.stringify({ notify: 'true', verify: ['true', evil], maxIterations: 3 }));
    const changed = await project.spool(...run, '--fresh');
    expect(changed).toMatchObject({ code: 2 });
    expect(changed.stderr).toContain(
      `has changed what it runs on this machine:\n  config.json verify  (changed)\n      true\n    - exit 0\n    + ${evil}\nspool: `,
    );
    expect(isHit(project)).toBe(false);

    const shown = await project.spool('trust', '--show');
    expect(shown.stdout).toMatch(/^config\.json verify {2}\(changed, not trusted\)\n {2}true$/m);
    expect(shown.stdout).toMatch(/^config\.json notify {2}\(trusted \d{4}-\d\d-\d\d\)$/m);

    // Other values are still trusted.
    project.write(config, JSON.stringify({ verify: ['true', 'exit 0'], notify: 'true' }));
    expect(await project.spool(...run, '--fresh')).toMatchObject({ code: 0 });
  });

  test.each([
    ['an agent', { harness: 'mine', harnesses: { mine: { command: './tools/agent' } } }],
    [
      'an agent with an interpreter',
      { harness: 'mine', harnesses: { mine: { command: 'sh', args: ['tools/agent'] } } },
    ],
    [
      'an agent with a shell',
      { harness: 'mine', harnesses: { mine: { command: 'sh', args: ['-c', 'exec ./tools/agent'] } } },
    ],
    ['notify', { notify: 'FOO=1 sh tools/agent; true' }],
    ['notify with a folder', { notify: 'cd tools && timeout 5 ./agent' }],
    ['the setup', { worktree: { setup: 'npm --version && sh -c "./tools/agent x"' } }],
    ['verify', { verify: 'sh tools/agent' }],
  ])('is lost if a script changes that is named by %s', async (_, settings) => {
    const project = clone(settings, { 'tools/agent': `#!/bin/sh\n${promise}\n` });
    chmodSync(project.path('tools/agent'), 0o755);
    const args = [...run, '--worktree', '--fresh'];
    project.git('commit', '-qam', 'executable');
    expect(await project.spool('trust', '--yes')).toMatchObject({ code: 0 });
    expect(await project.spool(...args)).toMatchObject({ code: 0 });

    tool(project);
    const changed = await project.spool(...args);
    expect(changed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('  ./tools/agent  (changed)\n') as string,
    });
    expect(changed.stderr).not.toContain('config.json');
    expect(isHit(project)).toBe(false);
  });

  test.each([
    ['not committed', () => {}],
    ['committed', (project: TestProject) => project.git('commit', '-qam', 'other')],
  ])('prints commands that show the change of a script and run nothing: %s', async (_, afterwards) => {
    const name = "tools/a';touch PWNED;'.sh";
    const project = clone(
      { harness: 'mine', harnesses: { mine: { command: `./${name}` } } },
      { [name]: '#!/bin/sh\n' },
    );
    chmodSync(project.path(name), 0o755);
    project.git('commit', '-qam', 'executable');
    await project.spool('trust', '--yes');
    tool(project, name);
    afterwards(project);

    const { stderr } = await project.spool(...run);
    const commands = stderr.match(/(?<=see what changed with: |, or in commits: ).+?(?=, or in commits: |\n)/g)!;
    const shown = commands.map((command) =>
      execFileSync('sh', ['-c', command], { cwd: project.folder, env: project.env, encoding: 'utf8' }),
    );

    expect(commands).toHaveLength(2);
    expect(shown.join('')).toContain(`+${evil}`);
    expect(project.exists('PWNED')).toBe(false);
  });

  test('is lost if commands are reordered, which is shown as a diff', async () => {
    const project = createProject({
      agent: [promise],
      files: { [config]: '{"verify":["true","exit 0","cd .","true"]}' },
    });
    project.write(config, '{"verify":["true","cd .","exit 0","true"]}');

    expect((await project.spool(...run)).stderr).toContain(
      'verify  (changed)\n      true\n    - exit 0\n    - cd .\n    + cd .\n    + exit 0\n      true\n',
    );

    project.write(config, '{"verify":["true","exit 0","cd .","true","true"]}');
    expect((await project.spool(...run)).stderr).toContain('      true\n    + true\n');
  });

  test('does not depend on the files that a verify command checks', async () => {
    const project = createProject({
      agent: [promise],
      files: { [config]: JSON.stringify({ verify: 'test -e src/work.js && node src/work.js' }), 'src/work.js': '' },
    });
    project.write('src/work.js', 'process.exitCode = 0;\n');
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
  });

  test('is lost if an agent edits the settings, and an agent cannot give it', async () => {
    const edit = `echo '${JSON.stringify({ verify: evil })}' > ${config}; "$NODE" "$SPOOL" trust --yes 2> "$HOME/answer"; ${promise}`;
    const project = createProject({ agent: [edit] });
    await project.start([...run, '--allow-tampering'], { env: { SPOOL: spoolProgram } }).result;

    expect(readFileSync(join(project.home, 'answer'), 'utf8')).toContain('"spool trust" cannot be run by an agent');
    expect(await project.spool(...run)).toMatchObject({ code: 2 });
    expect(isHit(project)).toBe(false);
  });

  test.each([
    ['changes', 'exit 0\n'],
    ['creates', null],
  ])('does not cover a notify script that the agent %s during the run', async (_, script) => {
    const project = createProject({
      agent: [`mkdir -p tools; echo '${evil}' > tools/tell.sh; ${promise}`],
      files: { [config]: JSON.stringify({ notify: 'sh tools/tell.sh' }), 'tools/tell.sh': script },
    });

    const result = await project.spool(...run);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('notify was not run: ./tools/tell.sh was changed during the run.');
    expect(isHit(project)).toBe(false);
  });

  test.each([
    'D=tools; sh $D/tell',
    'sh "$(git rev-parse --show-toplevel)/tools/tell"',
    'sh tools/te*',
    'cat tools/tell | sh',
    'env -C tools sh tell',
    'flock "$HOME/lock" sh tools/$(echo tell)',
  ])('does not cover a notify script that the agent changed, however it is named: %s', async (notify) => {
    const project = createProject({
      agent: [`echo '${evil}' > tools/tell; ${promise}`],
      files: { [config]: JSON.stringify({ notify }), 'tools/tell': 'exit 0\n' },
    });

    const result = await project.spool(...run);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('notify was not run: ./tools/tell was changed during the run.');
    expect(isHit(project)).toBe(false);
  });

  test('lists the files of a command that it cannot bind', async () => {
    const project = clone({ notify: 'sh "$TOOLS/$(date +%A).sh"' });
    expect((await project.spool('trust', '--show')).stdout).toContain(
      '  (runs files that Spool cannot see, which are not part of what you trust: $TOOLS/$().sh)\n',
    );
    expect((await project.spool(...run)).stderr).toContain('(runs files that Spool cannot see');
  });

  test.each([
    ['by its path', ['{root}/tools/agent']],
    ['by its path, for an interpreter', ['sh', '{root}/tools/agent']],
    ['in another folder', ['env', '--chdir=tools', 'sh', 'agent']],
  ])('is lost if the script of an agent changes that is named %s', async (_, words) => {
    const project = clone({}, { 'tools/agent': `${promise}\n` });
    const [command, ...args] = words.map((word) => word.replace('{root}', project.folder));
    project.write(config, JSON.stringify({ harness: 'mine', harnesses: { mine: { command, args } } }));
    expect(await project.spool('trust', '--yes')).toMatchObject({ code: 0 });

    tool(project);
    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('  ./tools/agent  (changed)\n') as string,
    });
    expect(isHit(project)).toBe(false);
  });

  test.each([
    ['tools/x.js', ['tools/x']],
    ['tools/index.js', ['tools']],
    ['tools/x.js', ['-e', 'require("./tools/x.js")']],
    ['tools/x.js', ['--import=./tools/x.js', '-e', '0']],
  ])('is lost if %s changes, which Node runs for %j', async (file, args) => {
    const project = clone({ harness: 'mine', harnesses: { mine: { command: 'node', args } } }, { [file]: '' });
    expect(await project.spool('trust', '--yes')).toMatchObject({ code: 0 });

    project.write(file, `require('fs').writeFileSync(process.env.HOME + '/pwned', '')\n`);
    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`  ./${file}  (changed)\n`) as string,
    });
    expect(isHit(project)).toBe(false);
  });

  test('prints that not all files are bound if it does not understand a command', async () => {
    const project = clone({ notify: 'trap "sh $X" EXIT', worktree: { setup: 'echo true | sh' } });
    const { stdout } = await project.spool('trust', '--show');
    expect(stdout).toContain('which are not part of what you trust: trap)');
    expect(stdout).toContain('which are not part of what you trust: a pipe to a shell)');
  });

  test.each([
    ['from the config file', { notify: 'npm run tell' }, []],
    ['from a flag', {}, ['--notify', 'npm run tell']],
  ])('does not cover a package.json script that notify %s runs and the agent edits', async (_, settings, flags) => {
    const edited = JSON.stringify({ scripts: { tell: evil } });
    const project = createProject({
      agent: [`cat > package.json <<'EOF'\n${edited}\nEOF\n${promise}`],
      files: { [config]: JSON.stringify(settings), 'package.json': '{"scripts":{"tell":"true"}}\n' },
    });

    const result = await project.spool(...run, ...flags);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('notify was not run: "tell" in package.json was changed during the run.');
    expect(isHit(project)).toBe(false);
  });

  test('belongs to one project at one path, and is stored in the home folder', async () => {
    const settings = { [config]: JSON.stringify({ notify: 'true' }) };
    const first = createProject({ agent: [promise], files: settings });
    const second = createProject({ agent: [promise], files: settings, untrusted: true });
    const env = { HOME: first.home };
    expect(await first.spool(...run)).toMatchObject({ code: 0 });
    expect(await second.start(run, { env }).result).toMatchObject({ code: 2 });

    const file = join(first.home, '.local', 'state', 'spool', 'trust.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);

    renameSync(first.folder, `${first.folder}-moved`);
    expect(
      await second.start(run, { env, cwd: `../../${first.folder.split('/').at(-2)}/project-moved` }).result,
    ).toMatchObject({ code: 2 });
    renameSync(`${first.folder}-moved`, first.folder);
    expect(await first.spool('untrust')).toMatchObject({
      code: 0,
      stdout: `${first.folder} is no longer trusted.\n`,
    });
    expect(await first.spool(...run)).toMatchObject({ code: 2 });
    expect(await first.spool('untrust')).toMatchObject({ code: 0, stdout: `${first.folder} was not trusted.\n` });
  });

  test('of the project applies to the same settings in the worktree of a run', async () => {
    const settings = {
      harness: 'mine',
      harnesses: { mine: { command: 'sh', args: ['-c', 'cat > /dev/null; touch "$HOME/ran"; echo no'] } },
    };
    const project = createProject({ files: { [config]: JSON.stringify(settings) } });
    expect(await project.spool(...run, '--worktree', '--max-iterations', '1')).toMatchObject({ code: 3 });
    const below = `.spool/worktrees/${change}`;
    const probe = ['doctor', '--probe', '--harness', 'mine'];
    expect((await project.start(probe, { cwd: below }).result).stderr).not.toContain('not trusted');

    settings.harnesses.mine.args = ['-c', evil];
    project.write(`${below}/${config}`, JSON.stringify(settings));
    expect(await project.start(probe, { cwd: below }).result).toMatchObject({ code: 2 });
    expect(isHit(project)).toBe(false);
  });

  describe('covers the files that a command actually runs in a worktree', () => {
    const script = 'tools/x.sh';
    const hostile = `${evil}; ${promise}`;
    const apart = [...run, '--worktree'];
    const refused = (source: string) =>
      expect.stringMatching(
        new RegExp(
          `^spool: config\\.json ${source} would run \\S+/tools/x\\.sh, which differs from the file that you trusted`,
          'm',
        ),
      ) as string;
    const trusting = (settings: object, agent: string = promise) =>
      createProject({ agent: [agent], files: { [config]: JSON.stringify(settings), [script]: `${promise}\n` } });
    const writing = (file: string, text: string) => `cat > ${file} <<'END'\n${text}\nEND\n${promise}`;
    /** As an agent in a sandbox can: the file in the project is unchanged, and git status is clean. */
    const commitUnseen = (project: TestProject) => {
      project.write('tools/y.sh', hostile);
      const blob = project.git('hash-object', '-w', 'tools/y.sh');
      rmSync(project.path('tools/y.sh'));
      project.git('update-index', '--cacheinfo', `100644,${blob},${script}`);
      project.git('commit', '-qm', 'unseen');
      project.git('update-index', '--skip-worktree', script);
    };
    const kinds: [string, string, object][] = [
      ['the setup', 'worktreeSetup', { worktree: { setup: `sh ${script}` } }],
      ['verify', 'verify', { verify: `sh ${script}` }],
      ['an agent', 'harnesses.mine', { harness: 'mine', harnesses: { mine: { command: 'sh', args: [script] } } }],
    ];

    test.each(kinds)('%s, on a commit with another version of the file', async (_, source, settings) => {
      const project = trusting(settings);
      commitUnseen(project);

      const result = await project.spool(...apart);

      expect(result).toMatchObject({ code: 2, stderr: refused(source) });
      expect(isHit(project)).toBe(false);
      const look = /Compare: (.*?)\. To run it/.exec(result.stderr)![1]!;
      expect(spawnSync('sh', ['-c', look], { cwd: project.folder, encoding: 'utf8' }).stdout).toContain(`+${evil}`);

      const again = await project.start(apart, { env: { SPOOL_TRUST: '1' } }).result;
      expect(again).toMatchObject({ code: 0 });
      expect(isHit(project)).toBe(true);
    });

    test('verify, in a worktree that an agent left, without a record of it', async () => {
      const project = trusting({ verify: `sh ${script}` }, writing(script, hostile));
      expect(await project.spool(...apart, '--max-iterations', '1')).toMatchObject({ code: 3 });

      expect(await project.spool(...apart, '--fresh')).toMatchObject({ code: 2, stderr: refused('verify') });
      expect(isHit(project)).toBe(false);
    });

    test('the setup, when a branch lands on which an agent changed it', async () => {
      const settings = { worktree: { setup: `sh ${script}` }, verify: 'true' };
      const project = trusting(settings, writing(script, hostile));
      expect(await project.spool(...apart)).toMatchObject({ code: 0 });

      const result = await project.spool('land', change);

      expect(result).toMatchObject({ code: 2, stderr: refused('worktreeSetup') });
      expect(result.stderr).toContain(`Compare: git diff main ralph/${change} -- ${script}.`);
      expect(isHit(project)).toBe(false);
      // Only the user sets a variable.
      const env = { SPOOL_WORKTREE_SETUP: 'true' };
      expect(await project.start(['land', change], { env }).result).toMatchObject({ code: 0 });
      expect(isHit(project)).toBe(false);
    });

    test('verify, when a landing sets up files that the agent left', async () => {
      const project = trusting(
        { worktree: { setup: 'sh build' }, verify: `sh ${script}` },
        writing('build', `case $PWD in *.land-*) echo '${evil}' > ${script};; esac`),
      );
      project.write('build', 'true\n');
      project.git('add', 'build');
      project.git('commit', '-qm', 'build');
      project.trust();
      expect(await project.spool(...apart)).toMatchObject({ code: 0 });
      // The setup of the agent needs consent, and still does not choose what verifies.
      const env = { SPOOL_WORKTREE_SETUP: 'sh build' };
      const result = await project.start(['land', change], { env }).result;

      expect(result).toMatchObject({ code: 2, stderr: refused('verify') });
      expect(isHit(project)).toBe(false);
    });

    test('and a landing ends if one verify command rewrites the script of the next', async () => {
      const build = `case $PWD in *.land-*) echo true > ${script};; esac`;
      const project = createProject({ agent: [writing('build', build)], files: { [script]: 'test -e build\n' } });
      expect(await project.spool(...apart, '--verify', 'sh build', '--verify', `sh ${script}`)).toMatchObject({
        code: 0,
      });

      expect(await project.spool('land', change)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`./${script} affects verification and was changed`) as string,
      });
      expect(project.exists('build')).toBe(false);
    });

    test('unless the user accepted the file', async () => {
      const project = trusting({ verify: `sh ${script}` }, `echo true > ${script}; ${promise}`);
      expect(await project.spool(...apart, '--max-iterations', '1')).toMatchObject({ code: 3 });
      expect(await project.spool('accept', change)).toMatchObject({ code: 0 });
      expect(await project.spool(...apart, '--fresh')).toMatchObject({ code: 0 });
      expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    });
  });

  test('is not lost if several settings are trusted at the same time', async () => {
    const projects = Array.from({ length: 6 }, (_, index) => clone({ notify: `echo ${index}` }));
    const env = { HOME: projects[0]!.home };

    await Promise.all(projects.map((project) => project.start(['trust', '--yes'], { env }).result));

    const runs = await Promise.all(projects.map((project) => project.start(run, { env }).result));
    expect(runs).toMatchObject(projects.map(() => ({ code: 0 })));
  });

  test('is not needed for settings that a resumed run does not use', async () => {
    const project = createProject({ agent: ['kill -INT $PPID; sleep 5', promise] });
    expect(await project.spool(...run, '--verify', 'true')).toMatchObject({ code: 130 });
    project.write(config, JSON.stringify({ verify: evil }));

    // The resumed run keeps its own command.
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
    expect(await project.spool(...run)).toMatchObject({ code: 2 });
    expect(isHit(project)).toBe(false);
  });

  test('does not exist if the file cannot be read', async () => {
    const project = createProject({ agent: [promise], files: { [config]: JSON.stringify({ notify: evil }) } });
    const file = join(project.home, '.local', 'state', 'spool', 'trust.json');
    writeFileSync(file, '{ "v": 1, "projects": ');
    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('trust.json is not a list of trusted projects') as string,
    });
    expect(isHit(project)).toBe(false);
  });

  test('is listed, in text and JSON, and needs --yes in non-interactive mode', async () => {
    const project = clone({ verify: ['npm test', 'npm run lint'] });
    expect(await project.spool('trust')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pass --yes') as string,
    });
    expect((await project.spool('trust', '--show')).stdout).toContain(
      'config.json verify  (not trusted)\n  npm test\n',
    );

    const yes = await project.spool('trust', '--yes');
    expect(yes).toMatchObject({ code: 0, stdout: `Trusted 1 setting of ${project.folder}.\n` });
    expect(yes.stderr).toContain('config.json verify  npm test\n  config.json verify  npm run lint\n');
    const shown = JSON.parse((await project.spool('trust', '--json')).stdout) as { hash: string; settings: object[] };
    expect(shown).toMatchObject({
      project: project.folder,
      hash: hashIn((await project.spool('trust', '--show')).stdout),
      settings: [
        {
          source: 'config.json verify',
          commands: ['npm test', 'npm run lint'],
          hash: expect.stringMatching(/^sha256:/) as string,
          trusted: expect.stringMatching(/^\d{4}-/) as string,
        },
      ],
    });
    expect((await project.spool('trust')).stdout).toContain('already trusted');
    expect((await createProject().spool('trust')).stdout).toContain('Nothing to trust');
  });
});

describe('commands that a run has recorded from its project need trust when the project no longer names them', () => {
  const script = 'check.sh';
  const upstream = (project: TestProject, files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) project.write(name, text);
    project.git('add', ...Object.keys(files));
    project.git('commit', '-qm', 'upstream');
  };

  test('in a landing, even if an agent says that the user gave them', async () => {
    const checks = 'touch "$HOME/checked"\n';
    const project = createProject({
      files: { [config]: JSON.stringify({ verify: [`sh ${script}`] }), [script]: checks },
      agent: [`echo a > a.txt; ${promise}`],
    });
    project.trust();
    expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
    upstream(project, { [config]: '{}', [script]: `${evil}\n` });

    expect(await project.spool('land', change)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`./${script}`) as string,
    });
    const state = project.stateFile('state.json');
    const saved = readFileSync(state, 'utf8');
    writeFileSync(state, saved.replace('"explicit": [', '"explicit": ["verify",').replace(',]', ']'));
    expect(await project.spool('land', change)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('settings') as string,
    });
    writeFileSync(state, saved);
    expect(isHit(project)).toBe(false);

    upstream(project, { [script]: checks });
    rmSync(join(project.home, 'checked'));
    expect(await project.spool('land', change)).toMatchObject({ code: 0 });
    expect(existsSync(join(project.home, 'checked'))).toBe(true);
  });

  test('in a run of a task file that is resumed after a limit', async () => {
    const plan = (section: string) => `# Plan\n\n${section}### Task 1: One\n\n- [ ] Build\n`;
    const path = 'docs/plan.md';
    const project = createProject({
      files: { [path]: plan(`## Validation Commands\n\n- \`sh ${script}\`\n\n`), [script]: 'exit 0\n' },
      agent: ['echo a > a.txt', `sed -i 's/\\[ \\]/[x]/' ${path}; ${promise}`],
    });
    const first = ['ralph', '--file', path, '--max-iterations', '1'];
    const SPOOL_TRUST = hashIn((await project.spool(...first)).stderr);
    expect(await project.start(first, { env: { SPOOL_TRUST } }).result).toMatchObject({ code: 3 });
    upstream(project, { [path]: plan(''), [script]: `${evil}\n` });

    const resume = ['ralph', '--file', path, '--resume', '--max-iterations', '3'];
    expect(await project.start(resume, { env: { SPOOL_TRUST } }).result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`task file ${path}`) as string,
    });
    expect(isHit(project)).toBe(false);
    upstream(project, { [script]: 'exit 0\n' });
    expect(await project.start(resume, { env: { SPOOL_TRUST } }).result).toMatchObject({ code: 0 });
  });
});

describe('the header of a run', () => {
  test('shows every command in full, with its source', async () => {
    const long = `test -e README.md && ${'true && '.repeat(20)}true`;
    const settings = { verify: [long], notify: 'true # told', worktree: { setup: 'true # setup' } };
    const project = createProject({ agent: [promise], files: { [config]: JSON.stringify(settings) } });

    const { stderr } = await project.spool(...run, '--worktree');

    const trusted = String.raw`\(config\.json, trusted \d{4}-\d\d-\d\d\)`;
    expect(stderr).toMatch(
      new RegExp(` and "test -e README.md (&& true )+&& true" passes ${trusted}\n`.replace('md (', 'md (?:')),
    );
    expect(stderr).toMatch(new RegExp(`^  Setup {4}true # setup ${trusted}$`, 'm'));
    expect(stderr).toMatch(new RegExp(`^  Notify {3}true # told ${trusted}$`, 'm'));

    const given = await project.start([...run, '--fresh', '--verify', 'true'], { env: { SPOOL_NOTIFY: 'true' } })
      .result;
    expect(given.stderr).toMatch(/ and "true" passes\n/);
    expect(given.stderr).toMatch(/^ {2}Notify {3}true \(SPOOL_NOTIFY\)$/m);

    const endless = await project.spool(...run, '--fresh', '--verify', `true ${'x'.repeat(2000)}`);
    expect(endless.stderr).toMatch(/ and "true x+…" passes\n/);
  });

  test('is an event in --json', async () => {
    const project = createProject({ agent: [promise], files: { [config]: JSON.stringify({ verify: 'true' }) } });

    const { stdout } = await project.spool(...run, '--json', '--notify', 'exit 0');

    const started = JSON.parse(stdout.split('\n').find((line) => line.includes('"run-started"'))!) as object;
    expect(started).toMatchObject({
      commands: [
        {
          key: 'verify',
          command: 'true',
          source: 'config.json verify',
          setBy: 'project',
          hash: expect.stringMatching(/^sha256:/) as string,
          trusted: expect.stringMatching(/^\d{4}-/) as string,
        },
        { key: 'notify', command: 'exit 0', source: '--notify', setBy: 'caller', hash: null, trusted: null },
      ],
    });
  });
});

describe('a custom agent', () => {
  test.each([
    'OpenCode',
    'OPENCODE',
    'ＯｐｅｎＣｏｄｅ',
    'open-code',
    'ClaudeCode',
    'claude_code',
    'open\u200bcode',
    'Codex',
    'Qwen.Code',
  ])('cannot pose as a built-in one: %s', async (name) => {
    const project = clone({ harness: name, harnesses: { [name]: { command: './tools/agent' } } });
    tool(project);

    expect(await project.spool(...run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('choose another name') as string,
    });
    expect(isHit(project)).toBe(false);
  });

  test('cannot pose as another custom one', async () => {
    const project = clone({ harnesses: { mine: { command: 'a' }, Mine: { command: 'b' } } });
    expect(await project.spool('harnesses')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"harnesses.mine" looks like "Mine"; choose another name') as string,
    });
  });

  test.each(['-mine', 'mi\u202ene', 'mi\u0007ne'])('cannot have an invisible name: %j', async (name) => {
    const project = clone({ harnesses: { [name]: { command: 'a' } } });
    expect(await project.spool('harnesses')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'must not have a name that starts with "-" or contains invisible characters',
      ) as string,
    });
  });

  test('is listed with its command', async () => {
    const project = clone({ harness: 'opencode2', harnesses: { opencode2: { command: './tools/agent' } } });
    tool(project);
    project.trust();

    expect((await project.spool(...run)).stderr).toContain(
      '  Agent    opencode2 (custom: ./tools/agent) · default model · own permission rules\n',
    );
    expect((await project.spool('harnesses')).stdout).toMatch(/^opencode2 \(custom: \.\/tools\/agent\) /m);
    expect((await project.spool('doctor')).stdout).toMatch(/^ok +opencode2 .*\(custom: \.\/tools\/agent\)$/m);
  });
});

describe('a model name cannot be a flag', () => {
  test.each<[string, object, string[], Record<string, string>]>([
    ['in the config file', { harness: 'opencode:--auto' }, [], {}],
    ['in the config file, after another agent', { harness: 'claude,opencode: --auto' }, [], {}],
    ['for a change', { changes: { '002': { harness: 'opencode:--auto' } } }, [], {}],
    ['in a flag', {}, ['--harness', 'opencode:--auto'], {}],
    ['in a variable', {}, [], { SPOOL_HARNESS: 'opencode:--auto' }],
  ])('%s', async (_, settings, flags, env) => {
    const project = clone(settings);
    const result = await project.start([...run, ...flags], { env }).result;

    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('none of which starts with "-"') as string,
    });
    expect(project.calls()).toEqual([]);
  });

  test('in the state of a run', async () => {
    const project = createProject({ agent: ['kill -INT $PPID; sleep 5', promise] });
    expect(await project.spool(...run, '--model', 'a/b')).toMatchObject({ code: 130 });
    const state = project.state();
    const forged = { ...state, model: '--auto', agents: [{ harness: 'opencode', model: '--auto' }] };
    writeFileSync(project.stateFile('state.json'), JSON.stringify(forged));

    // Like a run of another machine that the user trusts. With a record, the run is rejected earlier.
    rmSync(join(project.home, '.local/state/spool/projects'), { recursive: true });

    const result = await project.start(run, { env: { SPOOL_TRUST: '1' } }).result;

    expect(result.stderr).not.toContain('was changed by something other than Spool');
    expect(project.calls()).toHaveLength(2);
    for (const { args } of project.calls()) expect(args.join(' ')).not.toContain('--auto');
  });

  test('because it is passed in one argument with its flag', async () => {
    const project = createProject({ agent: [promise] });
    await project.spool(...run, '--harness', 'opencode:a/b');
    expect(project.calls()[0]!.args).toContain('--model=a/b');
  });
});

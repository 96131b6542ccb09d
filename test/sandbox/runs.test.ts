import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunView } from '../../src/ralph/view.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, inFolder } from '../support/project.ts';
import {
  createSandboxedProject,
  newMark,
  processesNamed,
  sandboxProblem,
  startAs,
  startHost,
  users,
} from '../support/sandbox.ts';

const problem = sandboxProblem();
const [user] = users();
const sandboxed = (...more: string[]) => ['ralph', 'Go.', '--change', change, '--sandbox', ...more];

test('reports what is skipped', () => {
  if (problem !== null) process.stderr.write(`\nSKIPPED: runs in the sandbox (${problem})\n`);
});

/** A PATH with only what Spool and the scripted agent need. */
const pathWith = (folder: string, extra: Record<string, string>): string => {
  mkdirSync(folder);
  for (const name of ['sh', 'env', 'git', 'cat', 'mkdir', 'mv', 'printf', 'touch', 'rg', 'socat']) {
    const file = ['/usr/local/bin', '/usr/bin', '/bin'].map((place) => join(place, name)).find(existsSync);
    if (file !== undefined) symlinkSync(file, join(folder, name));
  }
  symlinkSync(process.execPath, join(folder, 'node'));
  for (const [name, script] of Object.entries(extra)) writeFileSync(join(folder, name), script, { mode: 0o755 });
  return folder;
};

describe('a sandbox that cannot be used', () => {
  test.each([
    [
      'is not installed',
      {},
      /^spool: The sandbox is not available, so nothing was run: not installed: .*bubblewrap.*\. Install with: apt-get install .*bubblewrap/,
    ],
    [
      'does not start',
      { bwrap: "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n" },
      /^spool: The sandbox is not available, so nothing was run: .+\. .+$/,
    ],
  ])('%s: the run fails with one line, and nothing is started', async (_, extra, said) => {
    const project = createProject({ agent: [`touch ran.txt; ${promise}`] });
    const PATH = `${project.env.PATH.split(':')[0]}:${pathWith(join(dirname(project.folder), 'bin'), extra)}`;

    const result = await project.start(sandboxed('--allow-all'), { env: { PATH } }).result;

    expect(result.code).toBe(1);
    expect(result.stderr.trimEnd()).toMatch(said);
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(project.calls()).toEqual([]);
    expect(project.exists('ran.txt')).toBe(false);
  });

  test('is reported by doctor, which fails only with --sandbox', async () => {
    const project = createProject({ agent: [promise] });
    const PATH = `${project.env.PATH.split(':')[0]}:${pathWith(join(dirname(project.folder), 'bin'), {})}`;
    const doctor = (...args: string[]) => project.start(['doctor', ...args], { env: { PATH } }).result;

    const asked = await doctor('--sandbox');
    const unasked = await doctor();

    expect(asked.code).toBe(1);
    expect(asked.stdout).toMatch(/^fail {2}sandbox .*not installed: .*bubblewrap/m);
    expect(unasked.code).toBe(0);
    expect(unasked.stdout).toMatch(/^warn {2}sandbox .*not installed: .*bubblewrap/m);
  });
});

test('--allow-all without a sandbox is reported in the header and suggests the flag', async () => {
  const project = createProject({ agent: [promise] });

  const { stderr } = await project.spool('ralph', 'Go.', '--change', change, '--allow-all');

  const said = stderr.slice(0, stderr.indexOf('Iteration 1'));
  expect(said).toContain('Warning  without --sandbox, the agent can access everything that you can');
  expect(said).toContain('--sandbox');
});

test('--allow-all without a sandbox is reported for each parallel run before its first iteration', async () => {
  const other = '002-02_other';
  const files = { [`.spool/changes/${other}/proposal.md`]: '# Another\n\nThe other proposal.\n' };
  const project = createProject({ agent: [promise], files });

  const args = ['ralph', 'Go.', '--change', `${change},${other}`, '--parallel', '2'];
  const confident = await project.spool(...args, '--allow-all');
  const careful = await project.spool(...args, '--fresh');

  for (const id of [change, other]) {
    const said = confident.stderr.slice(0, confident.stderr.indexOf(`${id}: iteration 1`));
    expect(said).toMatch(new RegExp(`^\\S+ ${id}: .*\\(--allow-all\\); without --sandbox`, 'm'));
  }
  expect(careful.stderr).not.toContain('sandbox');
});

test.each([['sandboxAllow'], ['sandboxWrite']])('a project cannot widen the sandbox: %s', async (key) => {
  const project = createProject({ agent: [promise], files: { '.spool/config.json': `{ "${key}": ["example.com"] }` } });

  const result = await project.spool('ralph', 'Go.', '--change', change);

  expect(result.code).toBe(2);
  expect(result.stderr).toContain(`"${key}"`);
  expect(project.calls()).toEqual([]);
});

test('a path that does not exist cannot be made writable', async () => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...sandboxed('--sandbox-write', '~/not-there'));

  expect(result).toMatchObject({ code: 2 });
  expect(result.stderr).toContain('--sandbox-write must be an existing file or folder');
  expect(result.stderr).toContain(join(project.home, 'not-there'));
  expect(project.calls()).toEqual([]);
});

test.each([['http://example.com'], ['*'], ['*.com'], ['example.com/x']])('%s is not a valid host', async (host) => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool(...sandboxed('--sandbox-allow', host));

  expect(result).toMatchObject({ code: 2 });
  expect(result.stderr).toContain('--sandbox-allow must be a host');
});

test.each([
  ['--sandbox-allow', ['--sandbox-allow', 'example.com'], {}],
  ['--sandbox-write', [], { SPOOL_SANDBOX_WRITE: '/tmp' }],
])('%s without --sandbox is an error, because it has no effect', async (flag, args, env) => {
  const project = createProject({ agent: [promise] });

  const result = await project.start(['ralph', 'Go.', '--change', change, ...args], { env }).result;

  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(new RegExp(`^spool: ${flag} \\(SPOOL_SANDBOX_\\w+\\) .* Add --sandbox.*\\n$`));
  expect(project.calls()).toEqual([]);
});

test('sandbox options without --sandbox are an error for a landing', async () => {
  const project = createProject({ agent: [`echo one > one.txt; ${promise}`] });
  await project.spool('ralph', '--change', change, '--worktree');

  expect(await project.spool('land', change, '--sandbox-allow', 'example.com')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --sandbox') as string,
  });
  expect(project.exists('one.txt')).toBe(false);
});

test("a path in Spool's own state folder cannot be made writable", async () => {
  const project = createProject({ agent: [promise], files: { '.spool/config.json': '{ "verify": "true" }' } });

  const result = await project.spool(...sandboxed('--sandbox-write', '~/.local/state/spool/trust.json'));

  expect(result).toMatchObject({ code: 2 });
  expect(result.stderr).toContain("--sandbox-write must not be inside Spool's own state folder");
  expect(project.calls()).toEqual([]);
});

test('a damaged record of a sandbox is reported, and the command succeeds', async () => {
  const project = createProject();
  const folder = join(project.home, '.local/state/spool/sandbox');
  mkdirSync(join(folder, 'folder.json'), { recursive: true });
  const notes = {
    'empty.json': '',
    'cut.json': '{',
    'bare.json': '{}',
    'wrong.json': '{"pid":1,"start":"1","absent":[{}]}',
  };
  for (const [name, text] of Object.entries(notes)) writeFileSync(join(folder, name), text);

  const { code, stderr } = await project.spool('list');

  expect(code).toBe(0);
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(5);
  for (const name of ['folder.json', ...Object.keys(notes)])
    expect(lines.filter((line) => line.endsWith(`then delete ${join(folder, name)}.`))).toHaveLength(1);
});

if (problem === null)
  describe('a run in a sandbox', () => {
    const outside = (project: { home: string }) => join(project.home, 'outside.txt');
    const writesOutside = 'echo x > ~/outside.txt';

    test('shows it in its header, state and events', async () => {
      const project = createSandboxedProject(user!, { agent: [promise] });

      const shown = await project.spool(...sandboxed('--sandbox-allow', 'registry.npmjs.org'));
      const events = await project.spool(...sandboxed('--json', '--fresh'));

      expect(shown.stderr).toMatch(/^ {2}Sandbox {2}can write to the project, .*registry\.npmjs\.org$/m);
      expect(project.state().sandbox).toBe(true);
      const started = events.stdout.split('\n').find((line) => line.includes('"run-started"'))!;
      expect((JSON.parse(started) as { plan: object }).plan).toMatchObject({ sandbox: true });
    });

    test.each([
      ['with a variable', { SPOOL_SANDBOX: '1' }, '{ "sandbox": false }'],
      ['in the project', {}, '{ "sandbox": true }'],
    ])('is enabled %s', async (_, env, config) => {
      const project = createSandboxedProject(user!, {
        agent: [`${writesOutside}; ${promise}`],
        files: { '.spool/config.json': config },
      });

      const result = await project.start(['ralph', 'Go.', '--change', change], env as Record<string, string>).result;

      expect(result.code).toBe(0);
      expect(project.state().sandbox).toBe(true);
      expect(existsSync(outside(project))).toBe(false);
    });

    test('is resumed in a sandbox, regardless of the flags of the next call', async () => {
      const project = createSandboxedProject(user!, {
        agent: [`echo one > one.txt`, waitsFor('never'), `${writesOutside}; ${promise}`],
      });
      const first = project.start(sandboxed());
      await first.printed('waiting for never');
      first.kill('SIGKILL');
      await first.result;

      const result = await project.start(['ralph', '--change', change], { SPOOL_SANDBOX: '0' }).result;

      expect(result.code).toBe(0);
      expect(result.stderr).toMatch(/^ {2}Sandbox {2}/m);
      expect(existsSync(outside(project))).toBe(false);
    });

    test.each<[string, (view: RunView) => object]>([
      ['is disabled', (view) => ({ ...view, sandbox: false })],
      ['is removed', (view) => ({ ...view, sandbox: undefined })],
    ])('is not resumed if its sandbox %s in state.json', async (_, changed) => {
      const project = createSandboxedProject(user!, { agent: [waitsFor('never'), `${writesOutside}; ${promise}`] });
      const first = project.start(sandboxed());
      await first.printed('waiting for never');
      first.kill('SIGKILL');
      await first.result;
      writeFileSync(project.stateFile('state.json'), JSON.stringify(changed(project.state())));

      expect(await project.spool('ralph', '--change', change)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('state.json was changed by something other than Spool (sandbox)') as string,
      });
      expect(project.calls()).toHaveLength(1);
    });

    test('is resumed in a sandbox even if the config file now disables it', async () => {
      const project = createSandboxedProject(user!, {
        agent: [waitsFor('never'), `${writesOutside}; ${promise}`],
        files: { '.spool/config.json': '{ "sandbox": true }' },
      });
      const first = project.start(['ralph', 'Go.', '--change', change]);
      await first.printed('waiting for never');
      first.kill('SIGINT');
      await first.result;
      project.write('.spool/config.json', '{ "sandbox": false }');

      const result = await project.spool('ralph', '--change', change, '--allow-tampering');

      expect(result.code).toBe(0);
      expect(result.stderr).toMatch(/^ {2}Sandbox {2}/m);
      expect(result.stderr).not.toContain('left running');
      expect(result.stderr).not.toContain('sandbox is now');
      expect(existsSync(outside(project))).toBe(false);
    });

    test('has its own temporary folder, which is deleted afterwards', async () => {
      const project = createSandboxedProject(user!, {
        agent: [`mktemp > made.txt; echo "$TMPDIR" > where.txt; ${promise}`],
      });

      const result = await project.spool(...sandboxed());

      expect(result.code).toBe(0);
      const where = project.read('where.txt').trim();
      expect(project.read('made.txt').trim().startsWith(`${where}/`)).toBe(true);
      expect(existsSync(dirname(where))).toBe(false);
    });

    test('in a worktree allows the setup and commits of the agent, and protects the git folder', async () => {
      const attack = `
git add -A && git commit -q -m 'by the agent'
for file in config hooks/pre-commit commondir worktrees/${change}/commondir worktrees/${change}/gitdir; do
  echo x >> "$(git rev-parse --git-common-dir)/$file"
done
echo 'gitdir: /tmp' > .git
echo x > "${'$'}{PWD%/.spool/*}/main.txt"`;
      const project = createSandboxedProject(user!, {
        agent: [`echo one > one.txt; ${attack}; echo two > two.txt; ${promise}`],
      });

      const result = await project.spool(
        ...sandboxed('--worktree', '--worktree-setup', `${writesOutside}; echo ready > setup.txt`),
      );

      expect(result).toMatchObject({ code: 0 });
      expect(existsSync(outside(project))).toBe(false);
      expect(project.exists('main.txt')).toBe(false);
      expect(project.read('.git/config')).not.toContain('x\n');
      expect(project.exists('.git/hooks/pre-commit')).toBe(false);
      expect(project.exists('.git/commondir')).toBe(false);
      const log = project.git('log', '--format=%s', '--name-only', `ralph/${change}`).split('\n').filter(Boolean);
      expect(log.slice(0, 5)).toEqual([
        'ralph(002-01): iteration 1',
        'two.txt',
        'by the agent',
        'one.txt',
        'setup.txt',
      ]);
    });

    test.each([['.git/commondir'], ['.spool/config.json']])('moves a new %s aside', async (file) => {
      const project = createSandboxedProject(user!, { agent: [`echo one > one.txt; echo x > ${file}`, promise] });

      const result = await project.spool(...sandboxed());

      expect(result).toMatchObject({ code: 0 });
      expect(project.exists(file)).toBe(false);
      expect(result.stderr).toContain(`The sandbox protects ${project.path(file)}: `);
      expect(project.history()[0]!.git!.files).toContain('one.txt');
    });

    test('reports a protected file that is replaced during the run', async () => {
      const project = createSandboxedProject(user!, { agent: [`${waitsFor('go.txt')}; ${promise}`] });

      const run = project.start(sandboxed());
      await run.printed('waiting for go.txt');
      project.git('config', 'branch.main.description', 'by a person');
      project.write('go.txt', '');

      expect((await run.result).stderr).toContain(`${project.path('.git/config')} was replaced while`);
    });

    test('does not use programs of the project to confine it', async () => {
      const project = createSandboxedProject(user!, { agent: [`${writesOutside}; ${promise}`] });
      for (const name of ['bwrap', 'socat', 'rg', 'srt'])
        project.writeScript(
          `node_modules/.bin/${name}`,
          `#!/bin/sh\ntouch ${project.home}/agent/fake-${name}\nexit 0\n`,
        );

      const PATH = `${project.path('node_modules/.bin')}:${project.env.PATH}`;
      const result = await project.start(sandboxed(), { PATH }).result;

      expect(result.code).toBe(0);
      expect(existsSync(outside(project))).toBe(false);
      expect(readdirSync(join(project.home, 'agent')).filter((name) => name.startsWith('fake'))).toEqual([]);
    });

    test('does not use programs of the surrounding repository or of a folder that agents can write to', async () => {
      const agent = [`echo one > one.txt; ${writesOutside}; ${promise}`];
      const project = createSandboxedProject(user!, { agent, files: inFolder('pkg/x') });
      const bins = [project.path('node_modules/.bin'), join(project.home, 'agent', 'bin')];
      const ran = join(project.home, 'ran');
      for (const bin of bins) {
        mkdirSync(bin, { recursive: true });
        for (const name of ['git', 'bwrap', 'socat', 'rg', 'srt'])
          writeFileSync(join(bin, name), `#!/bin/sh\necho "$0" >> ${ran}\n`, { mode: 0o755 });
      }
      const start = (...args: string[]) =>
        startAs(
          user!,
          { ...project, folder: project.path('pkg/x') },
          {
            args,
            env: { PATH: `${bins.join(':')}:${project.env.PATH}`, SPOOL_SANDBOX_WRITE: join(project.home, 'agent') },
          },
        ).result;

      expect(await start(...sandboxed('--worktree'))).toMatchObject({ code: 0 });
      expect(existsSync(outside(project))).toBe(false);
      expect(await start('land', change)).toMatchObject({ code: 0 });
      await start('doctor', '--sandbox');

      expect(existsSync(ran) ? readFileSync(ran, 'utf8') : '').toBe('');
    });

    test('can write to the home folder if allowed, but cannot read keys in it', async () => {
      const tries = `cat ~/.ssh/id_ed25519 ~/.aws/credentials > got.txt; echo x >> ~/.aws/credentials
        for file in ~/.local/state/spool/trust.json ~/.local/state/spool/*; do echo x >> "$file"; done; echo home > ~/new.txt`;
      const project = createSandboxedProject(user!, {
        agent: [`${tries}; ${promise}`],
        files: { '.spool/config.json': '{ "verify": "true" }' },
      });
      const trusted = join(project.home, '.local/state/spool/trust.json');
      const before = readFileSync(trusted, 'utf8');

      const result = await project.spool(...sandboxed('--sandbox-write', '~'));

      expect(result).toMatchObject({ code: 0 });
      expect(readFileSync(join(project.home, 'new.txt'), 'utf8')).toBe('home\n');
      expect(project.read('got.txt')).toBe('');
      expect(readFileSync(join(project.home, '.aws/credentials'), 'utf8')).toBe('PRIVATE-KEY\n');
      expect(readFileSync(trusted, 'utf8')).toBe(before);
    });

    test('can write to one file in a folder with keys if allowed, and cannot see the others', async () => {
      const tries = 'ls ~/.aws > got.txt; echo more >> ~/.aws/cache';
      const project = createSandboxedProject(user!, { agent: [`${tries}; ${promise}`] });
      writeFileSync(join(project.home, '.aws', 'cache'), 'some\n');

      const write = `~/.aws/cache,${join(project.home, 'agent')}`;
      expect(await project.spool(...sandboxed('--sandbox-write', write))).toMatchObject({ code: 0 });

      expect(project.read('got.txt')).toBe('cache\n');
      expect(readFileSync(join(project.home, '.aws', 'cache'), 'utf8')).toBe('some\nmore\n');
    });

    test.each([
      ['Ctrl-C', [], 130],
      ['--max-duration', ['--max-duration', '2s'], 3],
    ])('ends on %s while the sandbox starts, and leaves no process behind', async (_, args, code) => {
      const mark = newMark();
      const project = createProject({ agent: [promise] });
      // The runtime calls these first.
      const bwrap = `#!/bin/sh
case "$*" in
  --version) echo 'bubblewrap 0.8.0' ;;
  --help | *--dev-bind*true) ;;
  *) sleep ${mark} ;;
esac
`;
      const bin = join(dirname(project.folder), 'bin');
      mkdirSync(bin);
      writeFileSync(join(bin, 'bwrap'), bwrap, { mode: 0o755 });
      const env = { PATH: `${bin}:${project.env.PATH}`, TMPDIR: dirname(project.folder) };

      const run = project.start(sandboxed(...args), { env });
      if (args.length === 0) {
        await eventually(() => processesNamed(mark).length > 0, 'the sandbox to be tried');
        run.kill('SIGINT');
      }

      expect(await run.result).toMatchObject({
        code,
        stderr: expect.stringContaining('nothing was started') as string,
      });
      expect(processesNamed(mark)).toEqual([]);
      expect(readdirSync(dirname(project.folder)).toSorted()).toEqual(['bin', 'home', 'project']);
      expect(project.calls()).toEqual([]);
    });

    test('has its own database if several run at the same time', async () => {
      const other = '002-02_other';
      const project = createSandboxedProject(user!, {
        agent: [`echo data > "$OPENCODE_DB" && echo "$OPENCODE_DB" > db.txt; ${writesOutside}; ${promise}`],
        files: { [`.spool/changes/${other}/proposal.md`]: '# Another\n\nThe other proposal.\n' },
      });

      const result = await project.spool(
        'ralph',
        'Go.',
        '--change',
        `${change},${other}`,
        '--parallel',
        '2',
        '--sandbox',
      );

      expect(result).toMatchObject({ code: 0 });
      const files = [change, other].map((id) => project.git('show', `ralph/${id}:db.txt`));
      expect(files).toEqual([change, other].map((id) => project.stateFile('agent/opencode.db', id)));
      expect(existsSync(outside(project))).toBe(false);
    });

    test('gives an interrupted agent time to exit, and kills one that ignores the signal', async () => {
      const patient = `trap 'echo bye > bye.txt; exit 1' TERM; ${waitsFor('never')}`;
      const project = createSandboxedProject(user!, { agent: [patient, `trap '' TERM INT; ${waitsFor('never')}`] });

      const first = project.start(sandboxed());
      await first.printed('waiting for never');
      first.kill('SIGINT');
      const interrupted = await first.result;
      const second = project.start([...sandboxed(), '--stop-grace', '100ms']);
      await second.printed('waiting for never');
      second.kill('SIGINT');

      expect(interrupted.code).toBe(130);
      expect(project.read('bye.txt')).toBe('bye\n');
      expect((await second.result).code).toBe(130);
    });

    test('kills a hanging hook on a second Ctrl-C and leaves no process behind', async () => {
      const mark = newMark();
      const project = createSandboxedProject(user!, { agent: ['echo one > one.txt'] });
      project.writeScript('.git/hooks/pre-commit', `#!/bin/sh\nsleep ${mark}\n`);

      const run = project.start(sandboxed());
      await eventually(() => processesNamed(mark).length === 1, 'the hook to run');
      run.kill('SIGINT');
      await run.printed('Ctrl-C again to force quit');
      run.kill('SIGINT');

      expect((await run.result).code).toBe(130);
      expect(processesNamed(mark)).toEqual([]);
      expect(project.git('log', '--format=%s')).toBe('start');
    });

    test('deletes a temporary folder without write permission', async () => {
      const locks = 'mkdir -p "$TMPDIR/a/b"; echo x > "$TMPDIR/a/b/c"; chmod 500 "$TMPDIR/a/b" "$TMPDIR/a"';
      const project = createSandboxedProject(users().at(-1)!, { agent: [`${locks}; ${promise}`] });

      const result = await project.start(sandboxed(), { TMPDIR: project.base }).result;

      expect(result.code).toBe(0);
      expect(readdirSync(project.base).filter((name) => name.startsWith('spool-sandbox'))).toEqual([]);
    });

    test('can start servers for tests, even if the port is in use outside', async () => {
      const { port } = await startHost();
      const serve = `require('http').createServer((_, to) => to.end('inside')).listen(${port}, '127.0.0.1', async () => {
      const answer = await (await fetch('http://127.0.0.1:${port}')).text();
      process.exit(answer === 'inside' ? 0 : 1);
    })`;
      const project = createSandboxedProject(user!, { agent: [promise] });

      const result = await project.spool(...sandboxed('--verify', `node -e "${serve.replaceAll('\n', ' ')}"`));

      expect(result.code).toBe(0);
    });

    test('fails if the project belongs to another user, because nothing inside could write to it', async () => {
      if (process.getuid?.() !== 0) {
        process.stderr.write('\nSKIPPED: a project of another user in a sandbox (only the superuser can prepare it)\n');
        return;
      }
      const project = createSandboxedProject(user!, { agent: [promise] });
      execFileSync('chown', ['-R', '54321', project.folder]);

      const result = await project.start(sandboxed(), { SPOOL_OWNER: '54321' }).result;

      expect(result).toMatchObject({ code: 1 });
      expect(result.stderr).toContain(
        `the sandbox cannot write to ${project.folder}, which belongs to user 54321. Run Spool as that user.`,
      );
      expect(project.calls()).toEqual([]);
    });

    test('is part of the command that Spool suggests', async () => {
      const project = createSandboxedProject(user!, { agent: ['echo one > one.txt'] });

      const ended = await project.spool(...sandboxed('--max-iterations', '1'));
      const status = await project.spool('ralph', '--status', '--change', change);

      const next = new RegExp(`Try again   spool ralph ${change} --resume$`, 'm');
      expect(ended.stderr).toMatch(next);
      expect(status.stdout).toMatch(next);
    });

    test('is verified in a sandbox when it lands', async () => {
      const project = createSandboxedProject(user!, { agent: [`echo one > one.txt; ${promise}`] });
      await project.spool(...sandboxed('--worktree', '--verify', writesOutside.replace('~', '$HOME').concat('; true')));

      const result = await project.spool('land', change);

      expect(result.code).toBe(0);
      expect(project.exists('one.txt')).toBe(true);
      expect(existsSync(outside(project))).toBe(false);
    });

    test('can be tested with doctor, and with --probe from inside', async () => {
      const project = createSandboxedProject(user!, { agent: [promise] });

      const { stdout } = await project.spool('doctor', '--sandbox', '--probe');

      expect(stdout).toMatch(/^ok {4}sandbox {7}sandbox-runtime \d+\.\d+\.\d+ starts$/m);
      expect(stdout).toMatch(/^ok {4}sandbox {7}probe: .* not outside it$/m);
    });

    test('leaves no process and no file behind', async () => {
      const project = createSandboxedProject(user!, { agent: [`echo one > one.txt`, promise] });

      const result = await project.start(sandboxed('--verify', 'true'), { TMPDIR: project.base }).result;

      expect(result.code).toBe(0);
      expect(readdirSync(project.base).toSorted()).toEqual(['home', 'other', 'project', 'temporary.txt']);
      expect(project.git('status', '--porcelain')).toBe('');
      await eventually(() => !readFileSync('/proc/mounts', 'utf8').includes(project.base), 'no mounts');
    });
  });

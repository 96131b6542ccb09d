import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';
import { createSandboxedProject, oneUser, sandboxProblem, type User } from '../support/sandbox.ts';

/** Traps that an agent sets inside the sandbox for Spool outside, in this run or the next. */

const problem = sandboxProblem();
const testUsers = problem === null ? [oneUser()] : [];
const other = '002-02_other';
const otherFile = { [`.spool/changes/${other}/proposal.md`]: '# Another\n\nThe other proposal.\n' };

test('reports what is skipped', () => {
  if (problem !== null) process.stderr.write(`\nSKIPPED: escapes from the sandbox (${problem})\n`);
});

type SandboxedProject = ReturnType<typeof createSandboxedProject>;

/** Shell: a git setting that writes to a file outside. */
const filter = (project: SandboxedProject) => `filter.x.clean "touch '${project.victims.other}/by-filter'; cat"`;

const writeAgent = (project: SandboxedProject, ...scripts: string[]) =>
  scripts.forEach((script, index) => writeFileSync(join(project.home, 'agent', `${index + 1}.sh`), script));

const run = (project: SandboxedProject, ...more: string[]) => project.spool('ralph', 'Go.', '--sandbox', ...more);

describe.each(testUsers)('as $title', (user: User) => {
  test.each([
    ['without one around it', false],
    ['below an existing one', true],
  ])('a repository that an agent creates %s is not used', async (_, isBelow) => {
    const project = createSandboxedProject(user, { git: false });
    if (isBelow) {
      execFileSync('git', ['init', '--quiet', project.base]);
      writeFileSync(join(project.base, '.gitignore'), '/home/\n/other/\n');
    }
    const plants = `git init -q .; git config ${filter(project)}; echo '* filter=x' > .gitattributes; chmod 555 .`;
    writeAgent(project, `echo one > one.txt; ${plants}; ${promise}`, `chmod 755 .; echo two > two.txt; ${promise}`);

    const first = await run(project, '--change', change);
    const second = await run(project, '--change', change);

    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.stderr).toMatch(
      /what was created there is now (\S+)\. If it is your own: mv \1 \S+\/project\/\.git$/m,
    );
    expect(first.stderr).toContain(`The sandbox protects ${project.path('.git')}: what was created there is now `);
    expect(project.exists('.git')).toBe(false);
    expect(project.victims.planted()).toEqual([]);
  });

  test('a repository planted before Spool is killed is not used by the next run', async () => {
    const project = createSandboxedProject(user, { git: false });
    const plants = `git init -q .; git config ${filter(project)}; echo '* filter=x' > .gitattributes`;
    writeAgent(project, `${plants}; ${waitsFor('never')}`, `echo two > two.txt; ${promise}`);
    const first = project.start(['ralph', 'Go.', '--sandbox', '--change', change]);
    await first.printed('waiting for never');
    first.kill('SIGKILL');
    await first.result;
    await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the sandbox to end');
    expect(project.exists('.git')).toBe(true);

    const next = await run(project, '--change', change, '--fresh');
    const last = await project.spool('list');

    expect(next).toMatchObject({ code: 0 });
    expect(next.stderr).toContain(`The sandbox protects ${project.path('.git')}: what was created there is now `);
    expect(project.exists('.git')).toBe(false);
    expect(project.victims.planted()).toEqual([]);
    expect(last.stderr).toBe('');
  });

  test.each([
    ['its repository', `echo "$PWD/tmp/evil" > .git/worktrees/${other}/commondir`],
    ['the file that points to it', `echo "gitdir: $PWD/tmp/evil/worktrees/${other}" > .spool/worktrees/${other}/.git`],
    ['its folder', `mv .spool/worktrees/${other} tmp/x; cp -r tmp/x .spool/worktrees/${other}`],
  ])('an agent in the main folder cannot change the worktree of another change: %s', async (_, attack) => {
    const project = createSandboxedProject(user, { files: { ...otherFile, '.gitignore': '/tmp/\n' } });
    const evil = `mkdir tmp; cp -r .git tmp/evil; git config -f tmp/evil/config ${filter(project)}; mkdir -p tmp/evil/info; echo '* filter=x' > tmp/evil/info/attributes`;
    writeAgent(
      project,
      'echo one > one.txt',
      `${evil}; ${attack}; echo two > two.txt; ${promise}`,
      `echo three > three.txt; ${promise}`,
    );

    await run(project, '--change', other, '--worktree', '--max-iterations', '1');
    const attacked = await run(project, '--change', change);
    const next = await run(project, '--change', other, '--worktree', '--fresh');

    expect([attacked.code, next.code]).toEqual([0, 0]);
    expect(attacked.stderr).toMatch(/Read-only file system|Device or resource busy/);
    expect(project.victims.planted()).toEqual([]);
    expect(project.git('show', `ralph/${other}:three.txt`)).toBe('three');
  });

  test.each([
    ['whose name is not UTF-8', `"$(printf '.git/modules/s\\377')"`, 'true'],
    ['in an unreadable folder', '.git/modules/sub', 'chmod 300 .git/modules'],
    ['with many slashes in its name', '.git/modules/a/b/c/d/e/f/g/h', 'true'],
  ])('an agent cannot change the settings of a submodule %s', async (_, module, hide) => {
    const project = createSandboxedProject(user);
    const create = `mkdir -p ${module}/hooks; echo 'ref: refs/heads/main' > ${module}/HEAD; touch ${module}/config; ${hide}`;
    execFileSync('sh', ['-c', create], { cwd: project.folder });
    onTestFinished(() => void execFileSync('chmod', ['-R', 'u+rwX', project.folder]));
    const attack = `chmod 700 .git/modules; echo '[core]' > ${module}/config; mkdir ${module}/hooks/x`;
    writeAgent(project, `echo one > one.txt; ${attack}; ${promise}`);

    const result = await run(project, '--change', change);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('Read-only file system');
    const left = `chmod -R u+rwX .git/modules; find .git/modules -name x -o -name config -size +0`;
    expect(execFileSync('sh', ['-c', left], { cwd: project.folder, encoding: 'utf8' })).toBe('');
  });

  test('an agent cannot change what OpenCode installs and loads at its next start', async () => {
    const project = createSandboxedProject(user);
    const folder = join(project.home, '.config', 'opencode');
    const names = ['package.json', 'package-lock.json', '.npmrc', 'tui.json', 'opencode.json'];
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{}');
    const attack = names.map((name) => `echo evil > ~/.config/opencode/${name}`).join('; ');
    writeAgent(project, `echo one > one.txt; ${attack}; ${promise}`);

    const result = await run(project, '--change', change);

    expect(result).toMatchObject({ code: 0 });
    expect(names.filter((name) => existsSync(join(folder, name)))).toEqual(['package.json']);
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe('{}');
    expect(result.stderr).toContain(`The sandbox protects ${join(folder, '.npmrc')}: what was created there is now `);
  });

  test('a worktree of the user inside the project cannot be redirected', async () => {
    const project = createSandboxedProject(user, { files: { '.gitignore': '/mine/\n' } });
    project.git('worktree', 'add', '--quiet', 'mine');
    const before = project.read('mine/.git');
    writeAgent(
      project,
      `echo 'gitdir: /tmp' > mine/.git; rm -f mine/.git; echo work > mine/work.txt; git worktree add new || echo refused > refused.txt; ${promise}`,
    );

    expect(await run(project, '--change', change)).toMatchObject({ code: 0 });

    expect(project.read('mine/.git')).toBe(before);
    expect(project.exists('mine/work.txt')).toBe(true);
    expect(project.read('refused.txt')).toBe('refused\n');
  });

  test('the target of a link in place of .spool is neither renamed nor deleted', async () => {
    const project = createSandboxedProject(user);
    const theirs = join(project.victims.other, '.spool');
    mkdirSync(join(theirs, '.state'), { recursive: true });
    for (const name of ['config.json', 'config.json.from-sandbox', '.state/state.json'])
      writeFileSync(join(theirs, name), 'theirs\n');
    writeAgent(project, `rm -rf .spool; ln -s '${theirs}' .spool; echo one > one.txt; ${promise}`);

    const result = await run(project, '--change', change, '--worktree', '--max-iterations', '1');

    expect(readdirSync(theirs).toSorted()).toEqual(['.state', 'config.json', 'config.json.from-sandbox']);
    expect(readFileSync(join(theirs, '.state', 'state.json'), 'utf8')).toBe('theirs\n');
    expect(result.stderr).toContain('what was created there is now ');
  });

  test('files moved aside earlier are not deleted', async () => {
    const project = createSandboxedProject(user);
    writeAgent(
      project,
      'echo one > .spool/config.json; echo one > one.txt',
      `echo two > .spool/config.json; ${promise}`,
    );

    expect(await run(project, '--change', change)).toMatchObject({ code: 0 });

    const aside = readdirSync(project.path('.spool')).filter((name) => name.startsWith('config.json.from-sandbox'));
    expect(aside.map((name) => project.read(`.spool/${name}`)).toSorted()).toEqual(['one\n', 'two\n']);
  });

  test('a sandbox is not entered if git cannot read the repository', async () => {
    const project = createSandboxedProject(user);
    project.write('.git/config', '[broken\n');
    writeAgent(project, `echo '#!/bin/sh' > .git/hooks/post-checkout; ${promise}`);

    const result = await run(project, '--change', change, '--max-failures', '1');

    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain(`the sandbox cannot be entered: git cannot read ${project.path('.git')} (`);
    expect(project.calls()).toEqual([]);
    expect(existsSync(project.path('.git/hooks/post-checkout'))).toBe(false);
  });

  test('a worktree that points to another repository is not used', async () => {
    const project = createSandboxedProject(user, { files: { ...otherFile, '.gitignore': '/tmp/\n' } });
    writeAgent(project, 'echo one > one.txt', promise);
    await run(project, '--change', other, '--worktree', '--max-iterations', '1');
    mkdirSync(project.path('tmp'));
    execFileSync('cp', ['-r', project.path('.git'), project.path('tmp/evil')]);
    project.write('tmp/evil/info/attributes', '* filter=x\n');
    execFileSync('sh', ['-c', `git config -f tmp/evil/config ${filter(project)}`], { cwd: project.folder });
    const led = `gitdir: ${project.path(`tmp/evil/worktrees/${other}`)}\n`;
    project.write(`.spool/worktrees/${other}/.git`, led);

    const next = await run(project, '--change', other, '--worktree', '--fresh');

    expect(next).toMatchObject({ code: 2 });
    expect(next.stderr).toContain(
      `worktrees/${other} does not belong to this repository: check what it is, and move it away`,
    );
    expect(project.victims.planted()).toEqual([]);
    expect(project.calls()).toHaveLength(1);
  });

  test.each([
    ['land', 'post-merge', ['land', change]],
    ['--branch', 'post-checkout', ['ralph', 'Go.', '--change', change, '--branch', `ralph/${change}`, '--sandbox']],
    ['a new worktree', 'post-checkout', ['ralph', 'Go.', '--change', change, '--worktree', '--sandbox']],
  ])('a hook that an agent commits to core.hooksPath is not run by %s', async (_, hook, next) => {
    const project = createSandboxedProject(user);
    project.writeScript('.hooks/pre-push', '#!/bin/sh\n');
    project.git('add', '.hooks');
    project.git('commit', '--quiet', '-m', 'hooks');
    project.git('config', 'core.hooksPath', '.hooks');
    const commits = `printf '#!/bin/sh\\ntouch "${project.victims.other}/by-hook"\\n' > "$TMPDIR/hook"
git update-index --add --cacheinfo "100755,$(git hash-object -w "$TMPDIR/hook"),.hooks/${hook}"
git commit -q -m hook; git update-index --skip-worktree .hooks/${hook}`;
    writeAgent(project, `echo one > one.txt; ${commits}; ${promise}`, promise);

    const first = await run(project, '--change', change, '--worktree');
    const second = await project.spool(...next);

    expect([first.code, second.code]).toEqual([0, 0]);
    expect(project.git('show', `HEAD:.hooks/pre-push`)).toBe('#!/bin/sh');
    expect(project.victims.planted()).toEqual([]);
    if (!next.includes('--worktree'))
      expect(second.stderr).toMatch(/^No hook was run.* \.hooks .*See: git diff .* -- \.hooks$/m);
  });

  const include = (path: string) => `[include]\n\tpath = ${path}\n`;
  test.each<[string, { config: [string, string]; file: string; files?: Record<string, string>; closed?: string }]>([
    ['does not exist', { config: ['include.path', '../local.cfg'], file: 'local.cfg' }],
    [
      'does not exist, in a folder that is made unreadable afterwards',
      { config: ['include.path', '../sub/below/local.cfg'], file: 'sub/below/local.cfg', closed: 'sub' },
    ],
    [
      'applies to another branch',
      { config: ['includeIf.onbranch:feat/**.path', '../feat.cfg'], file: 'feat.cfg', files: { 'feat.cfg': '' } },
    ],
    [
      'is included by a file for another branch',
      {
        config: ['includeIf.onbranch:feat/**.path', '../feat.cfg'],
        file: 'sub/more.cfg',
        files: { 'feat.cfg': include('sub/more.cfg') },
      },
    ],
  ])('an included git config file that %s is protected', async (_, { config, file, files, closed }) => {
    const project = createSandboxedProject(user, { files: files ?? {} });
    project.git('config', ...config);
    const hook = `mkdir .evil; printf '#!/bin/sh\\ntouch "${project.victims.other}/by-hook"\\n' > .evil/post-checkout; chmod +x .evil/post-checkout`;
    const plants = `mkdir -p "$(dirname ${file})"; printf '[core]\\n\\thooksPath = .evil\\n' > ${file}`;
    const closes = closed === undefined ? 'true' : `git add -A; git commit -qm all; chmod 000 ${closed}`;
    writeAgent(project, `${hook}; ${plants}; ${closes}; ${promise}`, promise);

    const first = await run(project, '--change', change);
    if (closed !== undefined) chmodSync(project.path(closed), 0o755);
    project.git('switch', '--quiet', '-c', 'feat/y');
    await run(project, '--change', change, '--worktree');

    expect(project.git('show', 'HEAD:.evil/post-checkout')).toContain('by-hook');
    if (files === undefined || !(file in files))
      expect(first.stderr).toContain(`The sandbox protects ${project.path(file)}: what was created there is now `);
    expect(project.victims.planted()).toEqual([]);
  });

  test('hooks in a file for another branch are protected', async () => {
    const project = createSandboxedProject(user, { files: { 'feat.cfg': '[core]\n\thooksPath = .hooks\n' } });
    project.writeScript('.hooks/post-checkout', '#!/bin/sh\n');
    project.git('add', '-A');
    project.git('commit', '--quiet', '-m', 'hooks');
    project.git('config', 'includeIf.onbranch:feat/**.path', '../feat.cfg');
    writeAgent(project, `echo 'touch "${project.victims.other}/by-hook"' >> .hooks/post-checkout; ${promise}`, promise);

    await run(project, '--change', change);
    project.git('switch', '--quiet', '-c', 'feat/y');
    await run(project, '--change', change, '--worktree');

    expect(project.read('.hooks/post-checkout')).toBe('#!/bin/sh\n');
    expect(project.victims.planted()).toEqual([]);
  });

  test('unchanged hooks in core.hooksPath run', async () => {
    const project = createSandboxedProject(user, { agent: [`echo one > one.txt; ${promise}`] });
    for (const hook of ['post-merge', 'post-checkout'])
      project.writeScript(`.hooks/${hook}`, `#!/bin/sh\ntouch "${project.home}/${hook}"\n`);
    project.git('add', '.hooks');
    project.git('commit', '--quiet', '-m', 'hooks');
    project.git('config', 'core.hooksPath', '.hooks');

    await run(project, '--change', change, '--worktree');
    const landed = await project.spool('land', change);

    expect(landed.code).toBe(0);
    expect(landed.stderr).not.toContain('hook');
    expect(['post-merge', 'post-checkout'].map((hook) => existsSync(join(project.home, hook)))).toEqual([true, true]);
  });
});

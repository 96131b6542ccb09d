import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

/** Attacks with links outside of `.spool`: in the files of a project or worktree that Spool writes, moves, deletes or copies. */

/** Commits a link to the home folder in place of a folder, and leaves the folder itself in the worktree, hidden from git. */
const commitsLink = (folder: string) => `
link=$(printf '%s' "$HOME" | git hash-object -w --stdin)
echo work > work.txt; echo '${folder}/' > .gitignore; git add work.txt .gitignore
git rm -rq --cached ${folder}
git update-index --add --cacheinfo "120000,$link,${folder}"
git commit -qm work; git update-index --skip-worktree ${folder}`;

const homeWith = (project: TestProject, files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project.home, name)), { recursive: true });
    writeFileSync(join(project.home, name), text);
  }
};

const homeFile = (project: TestProject, name: string): string => readFileSync(join(project.home, name), 'utf8');

test('a landing writes and deletes nothing behind a link that the branch has in place of the folder of the change', async () => {
  const folder = 'openspec/changes/c1';
  const plants = `sed -i 's/\\[ \\]/[x]/' ${folder}/tasks.md; echo evil > ${folder}/.bashrc
mkdir ${folder}/.ssh; echo evil > ${folder}/.ssh/authorized_keys; echo evil > ${folder}/Documents`;
  const project = createProject({
    files: { [`${folder}/proposal.md`]: '# C1\n', [`${folder}/tasks.md`]: '- [ ] a\n' },
    agent: [`${commitsLink(folder)}; ${plants}; ${promise}`],
  });
  homeWith(project, { '.bashrc': 'mine\n', 'Documents/thesis.txt': 'mine\n' });

  expect(await project.spool('ralph', 'c1', '--worktree', '--max-iterations', '1')).toMatchObject({ code: 0 });
  const before = project.git('rev-parse', 'main');
  expect(await project.spool('land', 'c1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`Nothing was landed: ${folder} on branch ralph/c1 is in the way`) as string,
  });

  expect(project.git('rev-parse', 'main')).toBe(before);
  expect(homeFile(project, '.bashrc')).toBe('mine\n');
  expect(homeFile(project, 'Documents/thesis.txt')).toBe('mine\n');
  expect(readdirSync(project.home).filter((name) => ['.ssh', 'tasks.md', 'proposal.md'].includes(name))).toEqual([]);
});

test('a landing does not write a task file behind a link that the branch has in place of its folder', async () => {
  const project = createProject({
    files: { 'docs/plan.md': '# Plan\n\n- [ ] a\n' },
    agent: [`${commitsLink('docs')}; sed -i 's/\\[ \\]/[x]/' docs/plan.md; ${promise}`],
  });
  homeWith(project, { 'plan.md': 'mine\n' });

  const ran = await project.spool('ralph', '--file', 'docs/plan.md', '--worktree', '--max-iterations', '1');
  expect(ran).toMatchObject({ code: 0 });
  expect(await project.spool('land', 'docs-plan')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Nothing was landed: docs on branch ') as string,
  });
  expect(homeFile(project, 'plan.md')).toBe('mine\n');
});

test('a landing copies nothing to the project from behind a link in a worktree', async () => {
  const project = createProject({
    files: {
      '.gitignore': '.kiro/\n',
      '.kiro/specs/gh/requirements.md': '# X\n',
      '.kiro/specs/gh/tasks.md': '- [ ] a\n',
    },
    agent: [
      `echo a > a.txt; git add a.txt; git commit -qm work; rm -rf .kiro/specs; ln -s "$HOME/.config" .kiro/specs; ${promise}`,
    ],
  });
  homeWith(project, { '.config/gh/hosts.yml': 'a secret\n' });

  await project.spool('ralph', 'gh', '--worktree', '--max-iterations', '1');
  expect(await project.spool('land', 'gh', '--force')).toMatchObject({ code: 0 });

  expect(project.exists('a.txt')).toBe(true);
  expect(readdirSync(project.path('.kiro/specs/gh')).toSorted()).toEqual(['requirements.md', 'tasks.md']);
  expect(project.read('.kiro/specs/gh/tasks.md')).toBe('- [ ] a\n');
});

test.each([
  ['openspec', 'openspec/changes/c1', 'c1'],
  ['ito', '.ito/changes/001-01_x', '001-01_x'],
])('an archive of %s that is a link is not used', async (_, folder, id) => {
  const project = createProject({
    files: { [`${folder}/proposal.md`]: '# C1\n', [`${folder}/tasks.md`]: '- [x] a\n' },
    agent: [promise],
  });
  const archive = join(dirname(folder), 'archive');
  const victim = join(project.home, 'victim');
  mkdirSync(victim);
  symlinkSync(victim, project.path(archive));

  for (const options of [['--no-specs', '--dry-run'], ['--no-specs']])
    expect(await project.spool('archive', id, ...options)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${archive} is a symbolic link`) as string,
    });
  expect(await project.spool('ralph', id)).toMatchObject({ code: 0 });
  expect(readdirSync(victim)).toEqual([]);
  expect(project.exists(`${folder}/tasks.md`)).toBe(true);
});

test('a link in place of the folder of the change in a worktree is named, and no command that follows it is suggested', async () => {
  const folder = 'openspec/changes/c1';
  const project = createProject({
    files: { [`${folder}/proposal.md`]: '# C1\n', [`${folder}/design.md`]: 'a\n' },
    agent: [`rm -rf ${folder}; ln -s "$HOME/victim" ${folder}`],
  });
  homeWith(project, { 'victim/design.md': 'mine\n' });

  await project.spool('ralph', 'c1', '--worktree', '--max-iterations', '1');
  project.write(`${folder}/design.md`, 'b\n');
  const resumed = await project.spool('ralph', 'c1', '--worktree', '--max-iterations', '1');

  expect(resumed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`.spool/worktrees/c1/${folder} is in the way`) as string,
  });
  expect(resumed.stderr).not.toMatch(/\bcp\b/);
  expect(homeFile(project, 'victim/design.md')).toBe('mine\n');
});

test('a link in the git folder of a worktree in place of the file of its setup is replaced', async () => {
  const project = createProject({
    agent: [
      `f="$(git rev-parse --git-dir)/spool-provisioned"; rm "$f"; ln -s "$HOME/new" "$f"; echo a > a.txt`,
      promise,
    ],
  });

  await project.spool('ralph', '--change', change, '--worktree', '--max-iterations', '1');
  const resumed = await project.spool('ralph', '--change', change, '--worktree', '--max-iterations', '1');

  expect(resumed).toMatchObject({ code: 0 });
  expect(existsSync(join(project.home, 'new'))).toBe(false);
});

test('a folder of the project that is a link in its worktree is not used', async () => {
  const project = createProject({
    files: { 'pkg/openspec/changes/c1/proposal.md': '# C1\n', '.gitignore': '.spool\n' },
    agent: [`echo a > a.txt; cd ..; mv pkg "$HOME/moved"; ln -s "$HOME/moved" pkg`, promise],
  });
  const start = (...args: string[]) => project.start(args, { cwd: 'pkg' }).result;

  await start('ralph', 'c1', '--worktree', '--max-iterations', '1');
  expect(await start('ralph', 'c1', '--worktree', '--max-iterations', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('/pkg is a symbolic link') as string,
  });
  expect(project.calls()).toHaveLength(1);
});

test('archived changes and new main specs get the mode of other new files', async () => {
  const spec =
    '## ADDED Requirements\n\n### Requirement: New\nIt SHALL do.\n\n#### Scenario: S\n- **WHEN** a\n- **THEN** b\n';
  const proposal = '# C1\n## Why\nBecause it is needed for reasons that are long enough.\n## What Changes\n- x\n';
  const folder = 'openspec/changes/c1';
  const project = createProject({
    files: { [`${folder}/proposal.md`]: proposal, [`${folder}/specs/cap/spec.md`]: spec },
  });

  expect(await project.spool('archive', 'c1')).toMatchObject({ code: 0 });

  const expected = (name: string) => statSync(project.path(name)).mode & 0o777;
  project.write('new/file', '');
  expect(expected('openspec/specs/cap/spec.md')).toBe(expected('new/file'));
  expect(expected('openspec/specs/cap')).toBe(expected('new'));
  expect(expected('openspec/changes/archive')).toBe(expected('new'));
});

import { readdirSync, renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const empty = {
  files: { [`.spool/changes/${change}/proposal.md`]: null, '.spool/modules/002_ralph/module.md': null },
};

test('spool init creates a project, prints what it created, and changes nothing the second time', async () => {
  const project = createProject(empty);

  const first = await project.spool('init');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toBe(`Initialized Spool in ${project.folder}:
  .spool/changes
  .spool/modules
  .spool/config.json
  .spool/config.schema.json
  .spool/.state/.gitignore

Agent   opencode
Verify  no tests found. Set a command with: spool config set verify "<command>"

Next: spool ralph "Describe the change in a sentence"
`);
  expect(JSON.parse(project.read('.spool/config.json'))).toEqual({
    $schema: './config.schema.json',
    harness: 'opencode',
  });

  project.write('.spool/config.json', '{ "model": "mine" }\n');
  renameSync(project.path('.spool/modules'), project.path('.spool/elsewhere'));
  project.write('deep/down/file.txt', '');
  const again = await project.start(['init'], { cwd: 'deep/down' }).result;
  expect(again.stdout).toContain(`Initialized Spool in ${project.folder}:\n  .spool/modules\n`);
  expect(project.read('.spool/config.json')).toBe('{ "model": "mine" }\n');
  expect((await project.spool('init')).stdout).toBe(`Already a Spool project: ${project.folder}\n`);
});

test('a change can be created, run and archived from a subfolder', async () => {
  const project = createProject({ ...empty, agent: [promise] });
  project.write('src/deep/file.txt', '');
  const spool = (...args: string[]) => project.start(args, { cwd: 'src/deep' }).result;
  await project.spool('init');

  expect((await spool('create', 'module', 'user-accounts')).stdout).toContain('Created module 001_user-accounts:');
  expect((await spool('create', 'module', 'billing')).stdout).toContain('Created module 002_billing:');
  expect((await spool('create', 'change', 'add-login', '--module', '001')).stdout).toContain(
    'Created change 001-01_add-login:\n  .spool/changes/001-01_add-login/proposal.md\n  .spool/changes/001-01_add-login/tasks.md\n',
  );
  expect((await spool('create', 'change', 'add-logout', '--module', '001_user')).stdout).toContain('001-02_add-logout');
  const proposal = project.read('.spool/changes/001-01_add-login/proposal.md');
  for (const heading of ['# Add login', '## Why', '## What Changes', '## Done When'])
    expect(proposal).toContain(heading);

  project.write('.spool/changes/001-01_add-login/proposal.md', proposal.replace('\n-\n', '\n- Users log in.\n'));
  expect(await spool('ralph', '--module', '002')).toMatchObject({ code: 2 });
  expect(await spool('ralph', '--change', '001-01')).toMatchObject({ code: 0 });
  project.write('.spool/changes/001-01_add-login/tasks.md', '- [x] all of it\n');

  const list = await spool('list');
  expect(list.stdout).toMatch(/^change +module +tasks +last run +# +ended\n/);
  expect(list.stdout).toMatch(/^001-01_add-login +001_user-accounts +1\/1 +complete +1 +just now$/m);
  expect(list.stdout).toMatch(/^001-02_add-logout +001_user-accounts +0\/3 +never +- +-$/m);
  expect(JSON.parse((await spool('list', '--json')).stdout)).toMatchObject([
    {
      id: '001-01_add-login',
      module: '001_user-accounts',
      tasks: { done: 1, total: 1 },
      lastRun: { status: 'complete', iteration: 1 },
    },
    { id: '001-02_add-logout', tasks: { done: 0, total: 3 }, lastRun: null },
  ]);

  const shown = await spool('show', '001-01');
  expect(shown.stdout).toContain('Tasks     1 of 1 done\n  [x] all of it\n');
  expect(shown.stdout).toContain('## What Changes');
  expect((await spool('show', '001')).stdout).toContain('Changes\n  001-01_add-login\n  001-02_add-logout\n');

  const archived = await spool('archive', '001-01');
  expect(archived.stdout).toMatch(
    /^Archived 001-01_add-login as \.spool\/changes\/archive\/\d{4}-\d\d-\d\d-001-01_add-login\n$/,
  );
  expect((await spool('list')).stdout).not.toContain('add-login');
  expect(await spool('archive', '001-02')).toMatchObject({ code: 2 });
  expect(await spool('archive', '001-02', '--force')).toMatchObject({ code: 0 });
  expect((await spool('list')).stdout).toContain('No active changes.');

  // Numbers are never reused, not even those of archived changes.
  expect((await spool('create', 'change', 'add-login', '--module', '001')).stdout).toContain(
    'Created change 001-03_add-login',
  );
});

test('ten concurrent creates get ten numbers', async () => {
  const project = createProject();

  const results = await Promise.all(
    Array.from({ length: 10 }, (_, index) => project.spool('create', 'change', `change-${index}`, '--module', '002')),
  );

  expect(results.map((result) => result.code)).toEqual(Array.from({ length: 10 }, () => 0));
  const numbers = readdirSync(project.path('.spool/changes')).map((name) => name.slice(0, 6));
  expect(numbers.toSorted()).toEqual(
    Array.from({ length: 11 }, (_, index) => `002-${String(index + 1).padStart(2, '0')}`),
  );
});

test('folders of the original Spool are read unchanged', async () => {
  const project = createProject({
    agent: [promise],
    files: {
      '.spool/changes/002-03_old-form/proposal.md': '## Why\n\nBecause.\n',
      '.spool/changes/002-03_old-form/design.md': '# Design\n',
      '.spool/changes/002-03_old-form/specs/x/spec.md': '## ADDED Requirements\n',
      '.spool/changes/002-03_old-form/tasks.md': `# Tasks

## Wave 1

### Task 1.1: First
- **Files**: \`a.rs\`
- **Status**: [x] complete

### Task 1.2: Second
- **Action**:
  - [ ] a detail
- **Status**: [ ] pending
`,
    },
  });

  const list = JSON.parse((await project.spool('list', '--json')).stdout) as { id: string; tasks: unknown }[];
  expect(list.find(({ id }) => id === '002-03_old-form')!.tasks).toEqual({ done: 1, total: 2 });
  expect(await project.spool('ralph', '--change', '002-03')).toMatchObject({ code: 0 });
  expect(project.calls()[0]!.prompt).toContain('## Change Proposal (002-03_old-form)\n\n## Why\n\nBecause.');
});

test('without a prompt, the proposal is the task', async () => {
  const project = createProject({ agent: [promise], files: { '.spool/modules/002_ralph/module.md': null } });

  expect(await project.spool('ralph', '--change', change)).toMatchObject({ code: 0 });

  const { prompt } = project.calls()[0]!;
  expect(prompt.endsWith('The proposal of the loop.\n')).toBe(true);
  expect(prompt).not.toContain('## Module');
});

test('--module selects its only change, or asks which one', async () => {
  const project = createProject({
    agent: [promise],
    files: { '.spool/changes/003-01_other/proposal.md': '# Other\n' },
  });
  expect(await project.spool('ralph', '--module', '002_ralph')).toMatchObject({ code: 0 });
  expect(project.history()).toHaveLength(1);

  project.write('.spool/changes/002-02_second/proposal.md', '# Second\n');
  const terminal = openTerminal(project, ['ralph', '--module', '002']);
  await terminal.shows('002-02_second');
  expect(terminal.screen()).not.toContain('003-01_other');
  terminal.type('\u001b[B');
  terminal.type('\r');
  expect(await terminal.exitCode).toBe(0);
  expect(project.history('002-02_second')).toHaveLength(1);
});

test('a module is known by its changes, even without a folder', async () => {
  const project = createProject({ agent: [promise], files: { '.spool/modules/002_ralph/module.md': null } });

  expect(await project.spool('ralph', '--module', '002')).toMatchObject({ code: 0 });
});

test('flags override environment variables, which override config', async () => {
  const project = createProject({
    agent: [promise],
    files: { '.spool/config.json': '{ "model": "from/config", "maxIterations": 7, "commit": false }' },
  });
  const ralph = (args: string[], env: Record<string, string> = {}) =>
    project.start(['ralph', '--change', change, ...args], { env }).result;

  await ralph([]);
  await ralph([], { SPOOL_MODEL: 'from/env' });
  await ralph(['--model', 'from/flag'], { SPOOL_MODEL: 'from/env' });

  expect(project.history().map((record) => record.model)).toEqual(['from/config', 'from/env', 'from/flag']);
  expect(project.state().maxIterations).toBe(7);
  expect(project.calls()[0]!.prompt).toContain('Progress: iteration 1 / 7');
});

test('every command has help with examples', async () => {
  const project = createProject();
  for (const command of [
    [],
    ['ralph'],
    ['init'],
    ['create', 'module'],
    ['create', 'change'],
    ['list'],
    ['show'],
    ['harnesses'],
    ['doctor'],
    ['archive'],
  ]) {
    const help = await project.spool(...command, '--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(command.length === 0 ? /Start with:\n {2}spool ralph "/ : /Examples:\n {2}spool /);
  }
  expect((await project.spool()).stdout).toContain('Usage: spool');
  expect((await project.spool('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('CI=true never asks, not even on a terminal', async () => {
  const project = createProject();
  const terminal = openTerminal({ ...project, env: { ...project.env, CI: 'true' } as typeof project.env }, ['ralph']);
  expect(await terminal.exitCode).toBe(2);
  expect(terminal.screen()).toContain('--change is required in non-interactive mode.');
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { itoTree, kiroTree, noSpool, openSpecTree, specKitTree } from '../fixtures/specs/trees.ts';
import { promise } from '../support/agents.ts';
import { change, createProject, root, spoolProgram, startProcess, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const openSpecProgram = join(root, 'node_modules/@fission-ai/openspec/bin/openspec.js');
const openSpecChange = 'openspec/changes/add-2fa';

/** Ticks every box and every status of a task file, and promises. */
const ticks = (file: string) => `sed -i 's/\\[ \\] pending/[x] complete/; s/\\[ \\]/[x]/' '${file}'\n${promise}`;

const formats = [
  {
    source: 'openspec',
    id: 'add-2fa',
    tree: openSpecTree,
    tasks: 'openspec/changes/add-2fa/tasks.md',
    total: 2,
    inPrompt: [
      'Accounts with a password alone',
      'The system MUST ask for a code after the password.',
      'Codes are valid for thirty seconds.',
      '- [ ] 1.1 Generate a code',
      'Tech stack: Node 20, no dependencies.',
      '- Keep test summaries concise\n- Never edit generated files',
    ],
    notInPrompt: ['schema: spec-driven'],
  },
  {
    source: 'ito',
    id: '001-01_add-invoices',
    tree: itoTree,
    tasks: '.ito/changes/001-01_add-invoices/tasks.md',
    total: 3,
    done: 1,
    inPrompt: ['Print them.', '# Module 001: Billing', 'A shop.', 'Use tabs.', '- tasks.md'],
    notInPrompt: [],
  },
  {
    source: 'spec-kit',
    id: '001-photo-albums',
    tree: specKitTree,
    tasks: 'specs/001-photo-albums/tasks.md',
    total: 2,
    inPrompt: [
      'System MUST list albums by date',
      'Plain JavaScript.',
      'openapi: 3.1.0',
      'Every feature has a test first.',
      '- [ ] T001 Create the project',
    ],
    notInPrompt: ['CHK001'],
  },
  {
    source: 'kiro',
    id: 'dark-mode',
    tree: kiroTree,
    tasks: '.kiro/specs/dark-mode/tasks.md',
    total: 1,
    inPrompt: ['the page SHALL be dark', 'One stylesheet.', 'No dependencies.', '- [ ] 1.1 Read the preference'],
    notInPrompt: ['Use BEM.'],
  },
];

/** The content of every file below a folder, except those that Spool hides from git. */
const contentOf = (folder: string, below = ''): Record<string, string> =>
  Object.assign(
    {},
    ...readdirSync(join(folder, below)).map((name) => {
      const path = join(below, name);
      if (path === '.git' || path === '.spool/.state') return {};
      return lstatSync(join(folder, path)).isDirectory()
        ? contentOf(folder, path)
        : {
            [path]: createHash('sha256')
              .update(readFileSync(join(folder, path)))
              .digest('hex'),
          };
    }),
  ) as Record<string, string>;

describe.each(formats)('a change of $source', ({ source, id, tree, tasks, total, done = 0, inPrompt, notInPrompt }) => {
  test('is run in place, and only its task file changes', async () => {
    const project = createProject({ files: { ...noSpool, ...tree }, agent: [ticks(tasks)] });
    const before = contentOf(project.folder);

    const listed = await project.spool('list', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id, source, tasks: { done, total } }]);
    expect((await project.spool('show', id)).stdout).toContain(`Source    ${source}\n`);

    const run = await project.spool('ralph', id, '--require-tasks');
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toContain(`✔ ${id}  Complete`);

    const after = contentOf(project.folder);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    expect(Object.keys(after).filter((path) => after[path] !== before[path])).toEqual([tasks]);
    expect(project.git('show', '--name-only', '--format=%s')).toMatch(new RegExp(`\\n${tasks}$`));
    expect(project.git('status', '--porcelain')).toBe('');

    const { prompt } = project.calls()[0]!;
    for (const text of inPrompt) expect(prompt).toContain(text);
    for (const text of notInPrompt) expect(prompt).not.toContain(text);
    expect(project.state(id)).toMatchObject({ change: id, source, status: 'complete' });
  });

  test('can be followed, compared, rewound and landed', async () => {
    const work = `echo done > work.txt\n${ticks(tasks)}`;
    const project = createProject({ files: { ...noSpool, ...tree }, agent: [work] });

    expect(await project.spool('ralph', id, '--worktree')).toMatchObject({ code: 0 });
    expect((await project.spool('status', id)).stdout).toContain(`${id}  Complete`);
    expect((await project.spool('logs', id)).stdout).toContain('Iteration 1');
    expect((await project.spool('diff', id, '--all')).stdout).toContain('+done');
    expect((await project.spool('list')).stdout).toContain('not landed');
    expect((await project.spool('land', id)).stdout).toContain(`Landed ${id} on`);
    expect(project.read('work.txt')).toBe('done\n');
    expect(project.read(tasks)).not.toContain('pending');
    expect(project.git('status', '--porcelain')).toBe('');
  });

  test('is offered for archiving only if its tool has an archive', async () => {
    const project = createProject({ files: { ...noSpool, ...tree }, agent: [ticks(tasks)] });
    const { stderr } = await project.spool('ralph', id);
    const { code } = await project.spool('archive', id);
    expect(stderr.includes(`spool archive ${id}`)).toBe(code === 0);
  });

  test('cannot be reworded by its agent', async () => {
    const change = JSON.parse(
      (await createProject({ files: { ...noSpool, ...tree } }).spool('show', id, '--json')).stdout,
    ) as { proposalFile: string };
    const cheats = `sed -i 's/the /a /; s/a /the /' '${change.proposalFile}'; echo More. >> '${change.proposalFile}'`;
    const project = createProject({ files: { ...noSpool, ...tree }, agent: [`${cheats}\n${ticks(tasks)}`] });

    expect(await project.spool('ralph', id, '--max-iterations', '1')).toMatchObject({ code: 3 });
    expect(project.history(id)[0]?.gate?.tampering.join()).toContain(change.proposalFile);
  });
});

test.each([
  {
    source: 'openspec',
    id: 'add-2fa',
    tree: {
      ...openSpecTree,
      'openspec/specs/auth/spec.md': '## Purpose\n\nAll.\n\n## Requirements\n',
      'openspec/schemas/mine/schema.yaml': 'apply:\n  tracks: mine.md\n',
      'openspec/changes/add-2fa/.openspec.yaml': null,
    },
    added: ['openspec/changes/add-2fa/specs/evil/spec.md', 'openspec/specs/evil/spec.md'],
    changed: ['openspec/specs/auth/spec.md'],
    settings: 'openspec/changes/add-2fa/.openspec.yaml',
  },
  {
    source: 'kiro',
    id: 'dark-mode',
    tree: kiroTree,
    added: ['.kiro/steering/z.md', '.kiro/specs/dark-mode/research.md'],
    changed: [],
  },
  {
    source: 'spec-kit',
    id: '001-photo-albums',
    tree: specKitTree,
    added: ['specs/001-photo-albums/checklists/new.md', 'specs/001-photo-albums/research.md'],
    changed: [],
  },
])('an agent adds nothing to the goal of a change of $source', async ({ id, tree, added, changed, settings }) => {
  const adds = [...added, ...changed].map((file) => `mkdir -p "$(dirname '${file}')"; echo '- [x] More' >> '${file}'`);
  const other = settings === undefined ? '' : `printf 'schema: mine\n' > ${settings}`;
  const project = createProject({
    files: { ...noSpool, ...tree },
    agent: [`${adds.join('\n')}\n${other}\n${promise}`],
  });

  expect(await project.spool('ralph', id, '--max-iterations', '1')).toMatchObject({ code: 3 });
  const found = [
    ...(settings === undefined ? added : [...added, settings]).map(
      (file) => `${file} was added while the agent was running`,
    ),
    ...changed.map((file) => `${file} was changed while the agent was running`),
  ];
  expect(project.history(id)[0]?.gate?.tampering.toSorted()).toEqual(found.toSorted());
  if (settings === undefined) return;
  // The next run has another task file, and the settings are still to blame.
  project.write('openspec/changes/add-2fa/mine.md', '- [x] Nothing\n');
  expect(await project.spool('ralph', id, '--require-tasks', '--max-iterations', '1')).toMatchObject({ code: 3 });
  expect(project.history(id)[1]?.gate?.tampering.join()).toContain('.openspec.yaml was added');
  expect(project.history(id)[1]?.gate?.tampering.join()).not.toContain('task');
});

test('the checklists of spec-kit may not be ticked by an agent', async () => {
  const checklist = 'specs/001-photo-albums/checklists/ux.md';
  const project = createProject({
    files: { ...noSpool, ...specKitTree, [checklist]: '- [ ] CHK003 Friendly\n' },
    agent: [`sed -i 's/\\[ \\]/[x]/' ${checklist}\n${promise}`],
  });

  const run = await project.spool('ralph', '001', '--max-iterations', '1');
  expect(run).toMatchObject({ code: 3 });
  expect(run.stderr).toContain(`${checklist} has 1 of 1 items open.`);
  expect(project.history('001-photo-albums')[0]?.gate?.tampering.join()).toContain(checklist);
});

test('what a person should settle first is listed at the start', async () => {
  const project = createProject({
    files: {
      ...noSpool,
      ...specKitTree,
      ...kiroTree,
      'specs/001-photo-albums/plan.md': '# Plan\n\n[NEEDS CLARIFICATION: how many albums?]\n',
      '.kiro/specs/dark-mode/spec.json': JSON.stringify({
        approvals: { requirements: { approved: true }, design: { approved: false } },
      }),
    },
    agent: [promise],
  });

  const albums = await project.spool('ralph', '001-photo-albums');
  expect(albums.stderr).toContain('specs/001-photo-albums/plan.md:3 needs clarification.');
  expect((await project.spool('ralph', 'dark-mode')).stderr).toContain('spec.json: design not approved yet.');
});

describe('several sources in one project', () => {
  const both = {
    'openspec/changes/login/proposal.md': '## Why\n\nOpenSpec.\n',
    '.kiro/specs/login/requirements.md': 'Kiro.\n',
    '.kiro/specs/other/requirements.md': 'Other.\n',
  };
  const idsOf = async (project: TestProject) =>
    (JSON.parse((await project.spool('list', '--json')).stdout) as { id: string }[]).map(({ id }) => id);

  test('an ID that several have begins with the name of the source', async () => {
    const project = createProject({ files: both, agent: [promise] });

    expect(await idsOf(project)).toEqual(['002-01_add-ralph-loop', 'kiro:login', 'openspec:login', 'other']);
    const plain = await project.spool('ralph', '--change', 'login');
    expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining('kiro:login, openspec:login') });
    expect(await project.spool('ralph', 'kiro:login')).toMatchObject({ code: 0 });
    expect(await project.spool('ralph', 'kiro:other')).toMatchObject({ code: 0 });
    expect(await project.spool('ralph', '--change', 'login', '--source', 'openspec')).toMatchObject({ code: 0 });
    const prompts = project.calls().map(({ prompt }) => prompt);
    expect(prompts.map((prompt) => /OpenSpec\.|Kiro\.|Other\./.exec(prompt)?.[0])).toEqual([
      'Kiro.',
      'Other.',
      'OpenSpec.',
    ]);
    expect(project.state('kiro:login').source).toBe('kiro');
    expect(project.state('other').source).toBe('kiro');
  });

  test('a change that was run keeps its ID, whatever other sources have since', async () => {
    const project = createProject({ files: both, agent: [promise] });
    await project.spool('ralph', 'other');
    await project.spool('ralph', 'kiro:login');
    project.write('openspec/changes/other/proposal.md', 'Another one.\n');
    project.write('openspec/changes/kiro:odd/proposal.md', 'Odd.\n');
    rmSync(project.path('openspec/changes/login'), { recursive: true });

    const list = JSON.parse((await project.spool('list', '--json')).stdout) as {
      id: string;
      source: string;
      lastRun: unknown;
    }[];
    expect(list.map(({ id, source, lastRun }) => [id, source, lastRun !== null])).toEqual([
      ['002-01_add-ralph-loop', 'spool', false],
      ['kiro:login', 'kiro', true],
      ['openspec:kiro:odd', 'openspec', false],
      ['openspec:other', 'openspec', false],
      ['other', 'kiro', true],
    ]);
    expect((await project.spool('status', 'kiro:other')).stdout).toContain('other  Complete');
    expect((await project.spool('show', 'kiro:odd')).stdout).toContain('Odd.');
  });

  test('an agent cannot replace its change with one of the same name in another source', async () => {
    const cheats = `mkdir -p openspec/changes/other; echo Nothing. > openspec/changes/other/proposal.md`;
    const project = createProject({ files: both, agent: [cheats, promise] });

    expect(await project.spool('ralph', 'other')).toMatchObject({ code: 0 });
    const [first, second] = project.calls().map(({ prompt }) => prompt);
    expect(first).toContain('Other.');
    expect(second).toContain('Other.');
    expect(second).not.toContain('Nothing.');
  });

  test('--source must be the name of a source', async () => {
    const project = createProject({ files: both });
    expect(await project.spool('ralph', '--change', 'login', '--source', 'jira')).toMatchObject({
      code: 2,
      stderr: 'spool: --source must be spool, openspec, ito, spec-kit, kiro (got "jira").\n',
    });
  });
});

test('a folder whose name cannot be an ID is named, and ignored', async () => {
  const project = createProject({
    files: { ...noSpool, 'openspec/changes/a/proposal.md': 'A.\n', 'openspec/changes/--all/proposal.md': 'B.\n' },
  });
  mkdirSync(project.path('openspec/changes/new\nline'));
  mkdirSync(project.path('openspec/changes/.hidden'));
  const lines = [
    'openspec/changes/--all is ignored: a name that begins with "-" is taken for an option. Rename it.',
    'openspec/changes/new\\nline is ignored: its name has control characters. Rename it.',
  ];
  const list = await project.spool('list', '--json');
  expect(list).toMatchObject({ code: 0, stderr: `${lines.join('\n')}\n` });
  expect(JSON.parse(list.stdout)).toMatchObject([{ id: 'a' }]);
  expect((await project.spool('validate')).stderr).toBe(list.stderr);
});

test('the folders of other tools are a setting', async () => {
  const files = Object.fromEntries(
    Object.entries(openSpecTree).map(([path, text]) => [path.replace('openspec/', 'docs/.openspec/'), text]),
  );
  const project = createProject({
    files: { ...noSpool, ...files, '.spool/config.json': '{ "sources": { "openspec": "docs/.openspec" } }\n' },
    agent: [promise],
  });
  expect(await project.spool('ralph', 'add-2fa')).toMatchObject({ code: 0 });

  for (const [sources, problem] of [
    ['"../x"', '"sources" must be an object'],
    ['{ "jira": "x" }', '"sources.jira" is not known. Sources: openspec, ito, spec-kit, kiro'],
    ['{ "kiro": "../x" }', '"sources.kiro" must be a folder in the project'],
    ['{ "kiro": "/etc" }', '"sources.kiro" must be a folder in the project'],
  ] as const) {
    project.write('.spool/config.json', `{ "sources": ${sources} }\n`);
    const listed = await project.spool('list');
    expect(listed).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) });
  }
});

test('the schema of an OpenSpec change names its task file', async () => {
  const project = createProject({
    files: {
      ...noSpool,
      ...openSpecTree,
      'openspec/changes/add-2fa/.openspec.yaml': 'schema: research\n',
      'openspec/schemas/research/schema.yaml':
        'name: research\nartifacts:\n  - id: steps\n    generates: plan/*.md\napply:\n  tracks: plan/*.md\n',
      'openspec/changes/add-2fa/plan/steps.md': '- [ ] one\n- [ ] two\n- [ ] three\n',
    },
  });
  expect(JSON.parse((await project.spool('list', '--json')).stdout)).toMatchObject([{ tasks: { done: 0, total: 3 } }]);
  project.write('openspec/changes/add-2fa/plan/more.md', '- [ ] four\n');
  expect(await project.spool('ralph', 'add-2fa')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('several task files (plan/more.md, plan/steps.md)'),
  });
});

test('changes of OpenSpec before version 1 are read too', async () => {
  const { 'openspec/config.yaml': _, 'openspec/changes/add-2fa/.openspec.yaml': __, ...files } = openSpecTree;
  const project = createProject({
    files: {
      ...noSpool,
      ...files,
      'openspec/project.md': '# Project\n\nOld layout.\n',
      'openspec/config.yml': 'context: In a file with a short name.\n',
      'openspec/AGENTS.md': 'Rules.\n',
    },
    agent: [promise],
  });
  expect(await project.spool('ralph', 'add-2fa')).toMatchObject({ code: 0 });
  expect(project.calls()[0]?.prompt).toContain('Old layout.');
  expect(project.calls()[0]?.prompt).toContain('In a file with a short name.');
});

test('an ID that begins with a day keeps its history in the archive', async () => {
  const id = '2025-01-01-foo';
  const files = { ...noSpool, [`openspec/changes/${id}/proposal.md`]: 'Foo.\n' };
  const project = createProject({ files, agent: [promise] });
  await project.spool('ralph', id);
  expect(await project.spool('archive', id)).toMatchObject({ code: 0 });
  expect((await project.spool('list', '--archived')).stdout).toMatch(/2025-01-01-foo +openspec +- +complete/);
});

test('--source without a change of that tool creates no change of another one', async () => {
  const project = createProject({ files: noSpool, agent: [promise] });
  mkdirSync(project.path('.kiro/specs'), { recursive: true });
  expect(await project.spool('ralph', '--source', 'kiro', 'zzz')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No active change in .kiro'),
  });
  expect(project.calls()).toEqual([]);
});

test('a change whose branch has not landed is not archived', async () => {
  const work = `echo done > work.txt\n${promise}`;
  const project = createProject({ files: { ...noSpool, ...openSpecTree }, agent: [work] });
  await project.spool('ralph', 'add-2fa', '--worktree');
  const archive = await project.spool('archive', 'add-2fa', '--force');
  expect(archive).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('spool land add-2fa') });
  expect((await project.spool('list')).stdout).toContain('not landed');
});

test('a finished OpenSpec change is archived where OpenSpec looks for it', async () => {
  const project = createProject({ files: { ...noSpool, ...openSpecTree } });
  const archived = await project.spool('archive', 'add-2fa', '--force');
  expect(archived.stdout).toMatch(/as openspec\/changes\/archive\/\d{4}-\d\d-\d\d-add-2fa\n/);
  expect((await project.spool('list', '--archived')).stdout).toContain('add-2fa');
  expect((await project.spool('show', 'add-2fa')).stdout).toContain('(archived)');
});

test('a tree that OpenSpec has made is run, archived, and valid for OpenSpec in strict mode', async () => {
  const project = createProject({ files: noSpool, agent: [`echo x > code.txt`, ticks(`${openSpecChange}/tasks.md`)] });
  const openspec = (...args: string[]) =>
    execFileSync(process.execPath, [openSpecProgram, ...args], {
      cwd: project.folder,
      env: { ...project.env, CI: 'true', OPENSPEC_TELEMETRY: '0' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  openspec('init', '--tools', 'none');
  openspec('new', 'change', 'add-2fa');
  for (const [path, text] of Object.entries(openSpecTree))
    if (/\/(?:proposal|design|tasks|spec)\.md$/.test(path)) project.write(path, text);
  const purpose = 'Accounts are protected with a second factor, so that a stolen password is not enough.';
  project.write(
    `${openSpecChange}/specs/auth/spec.md`,
    `## Purpose\n\n${purpose}\n\n${openSpecTree[`${openSpecChange}/specs/auth/spec.md`]}`,
  );
  project.git('add', '--all');
  project.git('commit', '--quiet', '-m', 'change');

  const run = await project.spool('ralph', 'add-2fa', '--require-tasks');
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toContain('2 tasks done');
  const touched = project.git('diff', '--name-only', 'HEAD~2').split('\n');
  expect(touched).toEqual(['code.txt', `${openSpecChange}/tasks.md`]);
  expect(openspec('validate', '--all', '--strict')).toContain('1 passed, 0 failed');

  expect(await project.spool('archive', 'add-2fa')).toMatchObject({ code: 0 });
  expect(openspec('validate', '--specs', '--strict')).toContain('1 passed, 0 failed');
  expect(openspec('validate', '--archived', '--strict')).toContain('1 passed, 0 failed');
});

test('a tool without an archive is told apart', async () => {
  const project = createProject({ files: { ...noSpool, ...kiroTree } });
  expect(await project.spool('archive', 'dark-mode', '--force')).toMatchObject({
    code: 2,
    stderr: 'spool: dark-mode stays where it is: kiro has no archive for finished changes.\n',
  });
});

test('no link out of the project is followed', async () => {
  const project = createProject({ files: { ...noSpool, ...openSpecTree, ...kiroTree }, agent: [promise] });
  writeFileSync(join(project.home, 'secret'), 'the secret\n');
  mkdirSync(join(project.home, 'steering'));
  writeFileSync(join(project.home, 'steering', 'a.md'), 'the secret\n');
  symlinkSync(join(project.home, 'secret'), project.path('openspec/changes/add-2fa/notes.md'));
  expect(await project.spool('ralph', 'add-2fa')).toMatchObject({ code: 0 });
  expect(project.calls()[0]?.prompt).not.toContain('the secret');

  project.git('rm', '--quiet', '-r', '.kiro/steering');
  symlinkSync(join(project.home, 'steering'), project.path('.kiro/steering'));
  const refused = await project.spool('ralph', 'dark-mode');
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('.kiro/steering is a symbolic link') });
  expect(project.calls()).toHaveLength(1);
});

describe('a change with a damaged file does not hide the others', () => {
  const proposal = '## Why\n\nBecause.\n';
  const files = {
    ...noSpool,
    'openspec/changes/good/proposal.md': proposal,
    'openspec/changes/linked/proposal.md': proposal,
    'openspec/changes/piped/proposal.md': proposal,
    '.kiro/specs/fine/requirements.md': 'Fine.\n',
    '.kiro/specs/lost/design.md': 'Lost.\n',
    'specs/001-folder/plan.md': 'Plan.\n',
    '.specify/memory/constitution.md': 'Test first.\n',
  };
  const damaged = {
    linked: 'openspec/changes/linked/.openspec.yaml is a symbolic link',
    piped: 'openspec/changes/piped/tasks.md is not a regular file',
    lost: '.kiro/specs/lost/requirements.md is a symbolic link',
    '001-folder': 'specs/001-folder/spec.md is not a regular file',
  };
  const createDamaged = (): TestProject => {
    const project = createProject({ files, agent: [promise] });
    symlinkSync('/etc/passwd', project.path('openspec/changes/linked/.openspec.yaml'));
    execFileSync('mkfifo', [project.path('openspec/changes/piped/tasks.md')]);
    symlinkSync('/etc/passwd', project.path('.kiro/specs/lost/requirements.md'));
    mkdirSync(project.path('specs/001-folder/spec.md'));
    return project;
  };

  test('in lists, validate and completion', async () => {
    const project = createDamaged();
    const list = await project.spool('list', '--json');
    expect(list.code).toBe(0);
    const problems = (JSON.parse(list.stdout) as { id: string; problem: string | null }[]).map(({ id, problem }) => [
      id,
      problem?.replace(/, so .*$/s, '') ?? null,
    ]);
    expect(Object.fromEntries(problems)).toEqual({ good: null, fine: null, ...damaged });
    const table = await project.spool('list');
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/\nlinked +openspec +damaged +never +- +-\n/);
    for (const [id, problem] of Object.entries(damaged))
      expect(table.stderr).toContain(`${id}: ${problem}, so Spool does not use it. Replace it with a regular file.\n`);

    const validated = await project.spool('validate', '--all');
    expect(validated).toMatchObject({ code: 1, stderr: '' });
    expect(validated.stdout).toContain(`openspec/changes/linked\n  -  error    ${damaged.linked}`);
    expect(validated.stdout).toContain('6 changes and the main specs');
    const completed = (await project.spool('__complete', 'fish', 'show', '')).stdout;
    for (const id of ['good', 'fine', ...Object.keys(damaged)]) expect(completed).toContain(`${id}\t`);

    for (const [id, problem] of Object.entries(damaged))
      expect(await project.spool('show', id)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^spool: \\S+${problem.replaceAll('.', '\\.')}, so [^\\n]+\\n$`)),
      });
  });

  test('in a batch, which names what it skips', async () => {
    const project = createDamaged();
    const { code, stderr } = await project.spool('ralph', '--all');
    expect(code).toBe(2);
    for (const [id, problem] of Object.entries(damaged))
      expect(stderr.split(`Skipped ${id}: ${problem}`)).toHaveLength(3);
    expect(project.calls()).toHaveLength(2);
    expect(project.state('good').status).toBe('complete');
    expect(project.state('fine').status).toBe('complete');
    expect((await project.spool('status')).stdout).toContain('good');
    expect(await project.spool('ralph', 'piped')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('tasks.md is not a regular file'),
    });
  });

  test('in a folder that cannot be read', async () => {
    const project = createProject({ files, agent: [promise] });
    chmodSync(project.path('openspec/changes'), 0o000);
    onTestFinished(() => chmodSync(project.path('openspec/changes'), 0o755));
    // The superuser reads every folder unless this capability is dropped.
    const limited = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'];
    const [command = '', ...prefix] = process.getuid?.() === 0 ? [...limited, process.execPath] : [process.execPath];
    const spool = (...args: string[]) =>
      startProcess(command, [...prefix, spoolProgram, ...args], { cwd: project.folder, env: project.env }).result;
    const problem = 'Cannot access openspec/changes: permission denied.';

    expect(await spool('list')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^fine /m),
      stderr: `${problem}\n`,
    });
    expect(await spool('list', '--archived')).toMatchObject({ code: 0, stderr: `${problem}\n` });
    expect(await spool('validate', '--all')).toMatchObject({ code: 0, stderr: `${problem}\n` });
    expect(await spool('show', 'fine')).toMatchObject({ code: 0, stderr: '' });
    expect(await spool('validate', 'good')).toMatchObject({
      code: 1,
      stderr: `spool: ${problem.replace('openspec', project.path('openspec'))}\n`,
    });
  });

  test('in the list to choose from, where it cannot be chosen', async () => {
    const project = createDamaged();
    const terminal = openTerminal(project, ['ralph']);
    await terminal.shows('Which change?');
    await terminal.shows('damaged: requirements.md is a symbolic link');
    terminal.type('\r');
    expect(await terminal.exitCode).toBe(0);
    expect(project.state('fine').status).toBe('complete');
  });

  test('if the folder of a tool is a link, which is not followed', async () => {
    const project = createProject({ files: { 'openspec-real/changes/a/proposal.md': proposal }, agent: [promise] });
    symlinkSync('openspec-real', project.path('openspec'));
    const list = await project.spool('list');
    expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining(change) });
    expect(list.stderr).toBe('openspec is a symbolic link, so Spool does not use it. Replace it with a folder.\n');
    expect(await project.spool('status', 'a')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('openspec is a symbolic link'),
    });
    expect(await project.spool('ralph', change)).toMatchObject({ code: 0 });
  });
});

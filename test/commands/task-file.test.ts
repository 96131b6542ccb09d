import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noSpool } from '../fixtures/specs/trees.ts';
import { backlogTask, bmadSpec, bmadStory, featureList, prd, ralphexPlan, taskMaster } from '../fixtures/task-files.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { createProject } from '../support/project.ts';

const plan = `# Login

The login page MUST be dark.

- [ ] Write the page
- [ ] Test it
`;

const file = 'docs/plans/login.md';
const id = 'docs-plans-login';

/** Ticks every box of a file, and promises. */
const ticks = (path = file) => `sed -i 's/\\[ \\]/[x]/' '${path}'\n${promise}`;

const withPlan = (agent: readonly string[], files: Record<string, string | null> = {}) =>
  createProject({ files: { ...noSpool, [file]: plan, ...files }, agent });

describe('a task file', () => {
  test('is run without a project, and only the file changes', async () => {
    const project = withPlan([ticks()]);
    expect(project.exists('.spool')).toBe(false);

    const run = await project.spool('ralph', '--file', file, '--require-tasks');
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toContain(`ralph  ${id}  0/2 tasks\n  File     ${file} · Markdown tasks\n`);
    expect(run.stderr).toContain(`Guarded  ${file}, 2 tasks`);
    expect(run.stderr).toContain(`✔ ${id}  Complete`);
    expect(project.read(file)).toBe(plan.replaceAll('[ ]', '[x]'));
    expect(project.git('show', '--name-only', '--format=%s')).toMatch(new RegExp(`\\n${file}$`));
    expect(project.git('status', '--porcelain')).toBe('');
    expect(readdirSync(project.path('.spool'))).toEqual(['.state']);

    const { prompt } = project.calls()[0]!;
    expect(prompt).toContain(`## Task File (${file})\n\n${plan.trim()}\n`);
    expect(prompt).toContain(`Carry out what \`${file}\` says, which is below. Do not change the file, except to tick`);
    expect(prompt).toContain(`If the change has a ${file}, tick a task (\`- [x]\`) when it is done`);
    expect(project.state(id)).toMatchObject({ change: id, source: `file:${file}`, status: 'complete' });
  });

  test('is found again by its ID', async () => {
    const project = withPlan([`echo done > work.txt\n${ticks()}`]);
    expect(await project.spool('ralph', '--file', file, '--worktree')).toMatchObject({ code: 0 });

    expect(JSON.parse((await project.spool('list', '--json')).stdout)).toMatchObject([
      { id, source: `file:${file}`, tasks: { done: 2, total: 2 } },
    ]);
    expect((await project.spool('show', id)).stdout).toContain(`File      ${file}\n`);
    expect((await project.spool('status', id)).stdout).toContain(`${id}  Complete`);
    expect((await project.spool('logs', id)).stdout).toContain('Iteration 1');
    expect((await project.spool('diff', id, '--all')).stdout).toContain('+done');
    expect((await project.spool('land', id)).stdout).toContain(`Landed ${id} on`);
    expect(project.read('work.txt')).toBe('done\n');
    expect(project.read(file)).not.toContain('[ ]');
    expect(project.git('status', '--porcelain')).toBe('');
    expect((await project.spool('archive', id)).stderr).toContain(`stays where it is: ${file}`);
  });

  test('is rewound by its ID', async () => {
    const project = withPlan([`echo done > work.txt\n${ticks()}`]);
    expect(await project.spool('ralph', '--file', file)).toMatchObject({ code: 0 });
    expect(await project.spool('rewind', id, '0')).toMatchObject({ code: 0 });
    expect(project.read(file)).toBe(plan);
    expect(project.exists('work.txt')).toBe(false);
  });

  test('is steered and resumed by its ID', async () => {
    const project = withPlan([`echo x > work.txt; ${waitsFor('go')}`, ticks()]);
    const run = project.start(['ralph', '--file', file]);
    await run.printed('waiting for go');
    expect(await project.spool('stop', id, '--now')).toMatchObject({ code: 0 });
    expect(await run.result).toMatchObject({ code: 143 });

    expect(await project.spool('ralph', id, '--resume')).toMatchObject({ code: 0 });
    expect(project.calls()[1]?.prompt).toContain('The login page MUST be dark.');
    expect(project.state(id)).toMatchObject({ source: `file:${file}`, status: 'complete' });
  });

  test('is run in the background', async () => {
    const project = withPlan([ticks()]);
    const started = await project.spool('ralph', '--file', file, '--detach');
    expect(started.stdout).toContain(`${id} is running in the background`);
    await project.spool('logs', id, '-f');
    expect(project.state(id).status).toBe('complete');
  });

  test('has a separate ID if another file or change has the same one', async () => {
    const project = createProject({
      files: { ...noSpool, 'a/b.md': plan, 'a-b.md': plan, 'A.md': plan, '.kiro/specs/a/requirements.md': 'A.\n' },
      agent: [promise],
    });
    for (const path of ['a/b.md', 'a-b.md', 'A.md', 'a-b.md', 'a/b.md'])
      expect(await project.spool('ralph', '--file', path)).toMatchObject({ code: 0 });
    const ids = (JSON.parse((await project.spool('list', '--json')).stdout) as { id: string; source: string }[]).map(
      (each) => `${each.id} ${each.source}`,
    );
    expect(ids).toEqual([
      'a kiro',
      expect.stringMatching(/^a-[\da-f]{6} file:A\.md$/),
      'a-b file:a/b.md',
      expect.stringMatching(/^a-b-[\da-f]{6} file:a-b\.md$/),
    ]);
  });

  test('is relative to the current folder', async () => {
    const project = withPlan([ticks(file)]);
    const run = await project.start(['ralph', '--file', 'plans/login.md'], { cwd: 'docs' }).result;
    expect(run).toMatchObject({ code: 0 });
    expect(project.state(id).source).toBe(`file:${file}`);
  });

  test('stays readable after it was deleted', async () => {
    const project = withPlan([ticks()]);
    await project.spool('ralph', '--file', file);
    rmSync(project.path(file));
    expect((await project.spool('status', id)).stdout).toContain(`${id}  Complete`);
    expect((await project.spool('logs', id)).stdout).toContain('Iteration 1');
    expect(await project.spool('ralph', '--change', id)).toMatchObject({ code: 2 });
  });

  test('is used with BOM and CRLF', async () => {
    const project = withPlan([ticks()], { [file]: `\uFEFF${plan.replaceAll('\n', '\r\n')}` });
    const run = await project.spool('ralph', '--file', file, '--require-tasks');
    expect(run).toMatchObject({ code: 0 });
    expect(project.read(file)).toBe(`\uFEFF${plan.replaceAll('\n', '\r\n').replaceAll('[ ]', '[x]')}`);
  });
});

describe('the guard of a task file', () => {
  test.each([
    ['a reworded sentence', `sed -i 's/MUST be dark/may be dark/' ${file}`, `the text of ${file} was changed`],
    ['a deleted task', `sed -i '/Test it/d' ${file}`, 'the task "Test it" was deleted or reworded'],
    ['a reworded task', `sed -i 's/Test it/Skip it/' ${file}`, 'the task "Test it" was deleted or reworded'],
    ['a deleted file', `rm ${file}`, `the text of ${file} was deleted`],
  ])('rejects %s', async (_, cheat, tampering) => {
    const project = withPlan([`${cheat}\n${promise}`, promise]);
    const run = await project.spool('ralph', '--file', file, '--max-iterations', '2');
    expect(run).toMatchObject({ code: 3 });
    expect(project.history(id)[0]?.gate?.tampering.join()).toContain(tampering);
    expect(project.calls()[1]?.prompt).toContain('The login page MUST be dark.');
    expect(project.calls()[1]?.prompt).toContain('How to restore it');
  });

  test('allows ticks and new tasks, which the next prompt has', async () => {
    const project = withPlan([`echo '- [x] Found later' >> ${file}\necho more > work.txt`, ticks()]);
    expect(await project.spool('ralph', '--file', file, '--require-tasks')).toMatchObject({ code: 0 });
    expect(project.calls()[1]?.prompt).toContain('- [x] Found later');
  });

  test('does not count boxes in code as tasks', async () => {
    const example = `${plan}\n\`\`\`md\n- [ ] An example\n\`\`\`\n`;
    const project = withPlan([`sed -i '/An example/d' ${file}\n${promise}`], { [file]: example });
    const run = await project.spool('ralph', '--file', file, '--max-iterations', '1');
    expect(run.stderr).toContain('0/2 tasks');
    expect(project.history(id)[0]?.gate?.tampering).toEqual([
      expect.stringContaining(`the text of ${file} was changed`),
    ]);
  });

  test('accepts edits of the user in a worktree, and merges them', async () => {
    const project = withPlan([`echo x > work.txt; ${waitsFor('../../../go')}`, `${ticks()}`]);
    const run = project.start(['ralph', '--file', file, '--worktree', '--require-tasks']);
    await run.printed('waiting for');
    project.write(file, `${plan.replace('be dark', 'be light')}- [ ] Added by the user\n`);
    project.write('go', '');
    expect(await run.result).toMatchObject({ code: 0 });
    const { prompt } = project.calls()[1]!;
    expect(prompt).toContain('The login page MUST be light.');
    expect(prompt).toContain('Added by the user');
  });

  test('notices that the record of a run names another file', async () => {
    const other = 'docs-plans/login.md';
    const project = withPlan([`echo x > work.txt; ${waitsFor('go')}`, promise], { [other]: '# Nothing\n' });
    const run = project.start(['ralph', '--file', file]);
    await run.printed('waiting for go');
    await project.spool('stop', id, '--now');
    await run.result;
    const state = project.stateFile('state.json', id);
    writeFileSync(state, JSON.stringify({ ...project.state(id), source: `file:${other}` }));
    const resumed = await project.spool('ralph', id, '--resume');
    expect(resumed.code).not.toBe(0);
    expect(resumed.stderr).toContain('source');
    expect(project.calls()).toHaveLength(1);
  });
});

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const passes = (path: string) => `sed -i 's/"passes": false/"passes": true/' '${path}'\n${promise}`;

const formats = [
  { format: 'ralphex plan', path: 'docs/plans/x.md', text: ralphexPlan, tasks: '1/3', agent: ticks },
  { format: 'BMAD story', path: 'stories/1-2-login.md', text: bmadStory, tasks: '1/2', agent: ticks },
  { format: 'BMAD build spec', path: 'spec-login.md', text: bmadSpec, tasks: '1/2', agent: ticks },
  {
    format: 'Backlog.md task',
    path: 'backlog/tasks/back-200 - Login.md',
    text: backlogTask,
    tasks: '1/3',
    agent: ticks,
  },
  { format: 'prd.json', path: 'prd.json', text: json(prd), tasks: '1/2', agent: passes },
  { format: 'feature list', path: 'feature_list.json', text: json(featureList), tasks: '1/2', agent: passes },
  {
    format: 'Task Master tasks',
    path: '.taskmaster/tasks/tasks.json',
    text: json(taskMaster),
    tasks: '1/2',
    agent: (path: string) => `sed -i 's/pending/done/' '${path}'\n${promise}`,
  },
];

test.each(formats)('a $format is run until its tasks are done', async ({ format, path, text, tasks, agent }) => {
  const project = createProject({
    files: { ...noSpool, [path]: text },
    agent: [`echo x > work.txt\n${promise}`, agent(path)],
  });
  const run = await project.spool('ralph', '--file', path, '--require-tasks', '--verify', 'true');
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toContain(`${tasks} tasks\n  File     ${path} · ${format}\n`);
  const [first, second] = project.calls().map(({ prompt }) => prompt);
  expect(first).toContain(text.trim());
  expect(second).toContain('open task');
  expect(project.git('status', '--porcelain')).toBe('');
});

describe('a JSON task file', () => {
  test('says in the prompt what to change', async () => {
    const project = withPlan([passes('prd.json')], { 'prd.json': json(prd) });
    expect(await project.spool('ralph', '--file', 'prd.json')).toMatchObject({ code: 0 });
    const { prompt } = project.calls()[0]!;
    expect(prompt).toContain('If the change has a prd.json, set `passes` of an entry to `true` when it is done');
    expect(prompt).toContain('Do not change the file, except to set `passes` of what is done to `true`.');
    expect(prompt).not.toContain('- [x]');
  });

  test('without an entry names the one to add', async () => {
    const project = withPlan([promise], { 'prd.json': '{ "userStories": [] }\n', 'empty.json': '' });
    const refused = async (path: string) => (await project.spool('ralph', '--file', path, '--require-tasks')).stderr;
    expect(await refused('prd.json')).toBe(
      'spool: --require-tasks: prd.json has no tasks. Add a story to "userStories", such as { "title": "…", "passes": false }, or remove the flag.\n',
    );
    expect(await refused('empty.json')).toContain('it is empty. Write { "userStories": [{ "title": "…"');
  });

  test.each([
    ['a reworded story', `sed -i 's/Tests/Nothing/' prd.json`],
    ['a broken file', `echo '{' > prd.json`],
  ])('rejects %s', async (_, cheat) => {
    const project = withPlan([`${cheat}\n${promise}`], { 'prd.json': json(prd) });
    const run = await project.spool('ralph', '--file', 'prd.json', '--max-iterations', '1');
    expect(run).toMatchObject({ code: 3 });
    expect(project.history('prd')[0]?.gate?.tampering.join()).toContain('the text of prd.json was changed');
    expect(await project.spool('list')).toMatchObject({ code: 0 });
    expect(await project.spool('status')).toMatchObject({ code: 0 });
  });

  test('is merged with the edits of the user in a worktree', async () => {
    const project = withPlan([passes('prd.json')], { 'prd.json': json(prd) });
    expect(await project.spool('ralph', '--file', 'prd.json', '--worktree')).toMatchObject({ code: 0 });
    project.write('prd.json', json({ ...prd, project: 'Another shop' }));
    expect(await project.spool('land', 'prd')).toMatchObject({ code: 0 });
    const [first, second] = prd.userStories;
    expect(JSON.parse(project.read('prd.json'))).toEqual({
      project: 'Another shop',
      userStories: [first, { ...second, passes: true }],
    });
  });

  test.each([
    ['invalid JSON', '{', 'it is not valid JSON'],
    ['another shape', '{ "prd": {} }', '"userStories" must be an array at the top level.'],
    ['a status', '{ "userStories": [{ "title": "a", "status": "open" }] }', 'userStories[0] has "status", but only'],
  ])('with %s is refused', async (_, text, problem) => {
    const project = withPlan([promise], { 'prd.json': text });
    const run = await project.spool('ralph', '--file', 'prd.json');
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/^spool: prd\.json cannot be used as a task file: .*\n$/);
    expect(run.stderr).toContain(problem);
    expect(project.calls()).toEqual([]);
    expect(project.exists('.spool')).toBe(false);
  });
});

describe('the commands in a task file', () => {
  const path = 'docs/plans/x.md';
  const commands = ['test -e work.txt', 'test -e page.html'];
  const withCommands = (agent: readonly string[], files: Record<string, string> = {}) =>
    createProject({ files: { ...noSpool, [path]: ralphexPlan, ...files }, agent });
  const work = `echo x > work.txt; echo x > page.html\n${ticks(path)}`;
  const pinOf = ({ stderr }: { stderr: string }) => /sha256:[\da-f]{64}/.exec(stderr)![0];

  test('are shown in full and not run without trust', async () => {
    const project = withCommands([work]);
    const run = await project.spool('ralph', '--file', path);
    expect(run.code).toBe(2);
    for (const command of commands) expect(run.stderr).toContain(`task file ${path}  ${command}\n`);
    expect(run.stderr).toMatch(
      /Trust them with the same command on a terminal, or for one command with SPOOL_TRUST=sha256:/,
    );
    expect(project.calls()).toEqual([]);
    expect(project.exists('.spool')).toBe(false);
  });

  test('verify the run once they are trusted', async () => {
    const project = withCommands([`echo x > work.txt\n${promise}`, work]);
    const env = { SPOOL_TRUST: pinOf(await project.spool('ralph', '--file', path)) };
    const run = await project.start(['ralph', '--file', path, '--worktree'], { env }).result;
    expect(run).toMatchObject({ code: 0 });
    expect(run.stderr).toContain(`"test -e work.txt" passes (task file ${path}, SPOOL_TRUST)`);
    expect(project.calls()[1]?.prompt).toContain('"test -e page.html"');
    expect(project.state('docs-plans-x').gate.verify).toEqual(commands);

    expect(await project.spool('land', 'docs-plans-x')).toMatchObject({ code: 2 });
    const landed = await project.start(['land', 'docs-plans-x'], { env }).result;
    expect(landed.stderr).toContain('Verifying: test -e page.html');
    expect(landed.stdout).toContain('Landed docs-plans-x on');
  });

  test('are listed by spool trust, and can be trusted and revoked', async () => {
    const project = withCommands([work, promise]);
    const env = { SPOOL_TRUST: pinOf(await project.spool('ralph', '--file', path)) };
    expect(await project.start(['ralph', '--file', path], { env }).result).toMatchObject({ code: 0 });

    const shown = await project.spool('trust', '--show');
    expect(shown.stdout).toBe(
      [
        `task file ${path}  (not trusted)`,
        ...commands.map((command) => `  ${command}`),
        '',
        `SPOOL_TRUST=${env.SPOOL_TRUST} trusts a run of ${path}.`,
        '',
      ].join('\n'),
    );
    expect(await project.spool('trust', '--yes')).toMatchObject({ code: 0 });
    expect((await project.spool('trust', '--show')).stdout).toContain(`task file ${path}  (trusted `);
    expect(await project.spool('ralph', '--file', path, '--fresh')).toMatchObject({ code: 0 });

    rmSync(project.path(path));
    const gone = JSON.parse((await project.spool('trust', '--json')).stdout) as { settings: object[] };
    expect(gone.settings).toMatchObject([{ source: `task file ${path}`, commands, trusted: expect.any(String) }]);
    expect(await project.spool('untrust')).toMatchObject({ code: 0 });
    expect((await project.spool('trust', '--show')).stdout).toContain('Nothing to trust');
    project.write(path, ralphexPlan);
    expect(await project.spool('ralph', '--file', path, '--fresh')).toMatchObject({ code: 2 });
  });

  test('need trust again if they have changed', async () => {
    const project = withCommands([work]);
    const env = { SPOOL_TRUST: pinOf(await project.spool('ralph', '--file', path)) };
    project.write(path, ralphexPlan.replace('test -e work.txt', 'touch ../stolen'));
    const run = await project.start(['ralph', '--file', path], { env }).result;
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('touch ../stolen');
    expect(project.exists('../stolen')).toBe(false);
    expect(project.calls()).toEqual([]);
  });

  test('cannot be changed by the agent', async () => {
    const cheat = `sed -i 's/test -e page.html/touch ..\\/stolen/' ${path}; echo x > work.txt\n${ticks(path)}`;
    const project = withCommands([cheat]);
    const env = { SPOOL_TRUST: pinOf(await project.spool('ralph', '--file', path)) };
    const run = await project.start(['ralph', '--file', path, '--max-iterations', '1'], { env }).result;
    expect(run.code).toBe(3);
    expect(project.read(path)).toContain('touch ../stolen');
    expect(project.history('docs-plans-x')[0]?.gate?.tampering.join()).toContain(`the text of ${path} was changed`);
    expect((await project.start(['ralph', '--file', path], { env }).result).code).toBe(2);
    expect(project.exists('../stolen')).toBe(false);
  });

  test('are not used with --verify, or with commands in config.json', async () => {
    const project = withCommands([ticks(path)]);
    const given = await project.spool('ralph', '--file', path, '--verify', 'true');
    expect(given).toMatchObject({ code: 0 });
    expect(project.state('docs-plans-x').gate.verify).toEqual(['true']);

    const configured = withCommands([ticks(path)], { '.spool/config.json': '{ "verify": "true" }\n' });
    expect(await configured.spool('ralph', '--file', path)).toMatchObject({ code: 0 });
    expect(configured.state('docs-plans-x').gate.verify).toEqual(['true']);
  });
});

describe('a file that cannot be a task file', () => {
  const refused = async (given: string, prepare: (project: ReturnType<typeof withPlan>) => void = () => {}) => {
    const project = withPlan([promise]);
    prepare(project);
    const { code, stderr } = await project.spool('ralph', '--file', given);
    expect(project.calls()).toEqual([]);
    expect(project.exists('.spool')).toBe(false);
    return { code, stderr: stderr.replaceAll(project.folder, '<project>') };
  };

  test.each([
    ['missing.md', 'missing.md cannot be used as a task file: it does not exist.'],
    ['docs', 'docs cannot be used as a task file: it is not a regular file.'],
    ['.', '. cannot be used as a task file: it is not in <project>.'],
    ['../home/.gitconfig', '../home/.gitconfig cannot be used as a task file: it is not in <project>.'],
    ['/etc/passwd', '/etc/passwd cannot be used as a task file: it is not in <project>.'],
    ['.git/config', '.git/config cannot be used as a task file: it is not a file that an agent can work on.'],
  ])('%s', async (given, message) => {
    expect(await refused(given)).toEqual({ code: 2, stderr: `spool: ${message}\n` });
  });

  test('a link, a FIFO and a file of 20 MB', async () => {
    const link = await refused('link.md', ({ path }) => symlinkSync(path(file), path('link.md')));
    expect(link.stderr).toBe('spool: link.md cannot be used as a task file: it is a symbolic link.\n');
    const fifo = await refused('fifo.md', ({ path }) => void execFileSync('mkfifo', [path('fifo.md')]));
    expect(fifo.stderr).toBe('spool: fifo.md cannot be used as a task file: it is not a regular file.\n');
    const large = await refused('large.md', ({ write }) => write('large.md', '- [ ] x\n'.repeat(2_500_000)));
    expect(large).toEqual({ code: 2, stderr: expect.stringContaining('large.md is larger than 16 MB') });
    const outside = await refused('out/x.md', ({ path, home }) => {
      writeFileSync(join(home, 'x.md'), plan);
      symlinkSync(home, path('out'));
    });
    expect(outside.stderr).toBe('spool: out/x.md cannot be used as a task file: it is not in <project>.\n');
  });

  test('--file with another choice of changes', async () => {
    const project = createProject({ files: { [file]: plan } });
    for (const other of [['--all'], ['--new'], ['--change', 'x'], ['--module', 'x'], ['--source', 'kiro']]) {
      const { stderr } = await project.spool('ralph', '--file', file, ...other);
      expect(stderr).toBe(`spool: --file and ${other[0]} cannot be used together.\n`);
    }
  });
});

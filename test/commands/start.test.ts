import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { change, createProject, type ProjectOptions, spoolProgram, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const downArrow = '\u001b[B';
const sentence = 'Add a /health endpoint with tests';
const created = '000-01_add-a-health-endpoint-with-tests';

/** A repository without a project. */
const plain = (options: ProjectOptions = {}) =>
  createProject({
    agent: [promise],
    ...options,
    files: {
      [`.spool/changes/${change}/proposal.md`]: null,
      '.spool/modules/002_ralph/module.md': null,
      ...options.files,
    },
  });

/** All changes of a project, without the archive. */
const changesOf = (project: TestProject): string[] =>
  project.exists('.spool/changes') ? readdirSync(project.path('.spool/changes')) : [];

describe('a sentence', () => {
  test('is the only command between the installation and the first loop', async () => {
    const project = plain({ agent: [`echo ok > health.txt; ${promise}`] });
    project.write('src/deep/file.txt', '');

    const result = await project.start(['ralph', sentence], { cwd: 'src/deep' }).result;

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain(`Created .spool and change ${created} from your prompt.\n`);
    expect(project.read(`.spool/changes/${created}/proposal.md`)).toBe(`# ${sentence}\n\n## Goal\n\n${sentence}\n`);
    expect(project.exists(`.spool/changes/${created}/tasks.md`)).toBe(false);
    expect(project.calls()).toHaveLength(1);
    expect(project.calls()[0]!.prompt.split(sentence)).toHaveLength(3);
    expect(project.state(created)).toMatchObject({ status: 'complete', module: '000' });
    expect(project.git('show', '--stat', '--format=', 'HEAD')).toMatch(/^health\.txt /);
    expect(project.git('status', '--short', '--untracked-files=all', '.spool')).toBe(
      `?? .spool/changes/${created}/proposal.md`,
    );

    // The same sentence again is another change, once the first one is archived.
    await project.spool('archive', created);
    expect(await project.spool('ralph', sentence)).toMatchObject({ code: 0 });
    expect(changesOf(project)).toEqual([created.replace('-01', '-02'), 'archive']);
  });

  test('works without git, from a file, in any language, and with required tasks', async () => {
    const project = plain({ git: false, files: { 'task.md': '\n# Schönere Übungen\n\n- für *alle*\n' } });

    expect(await project.spool('ralph', '--prompt-file', 'task.md', '--require-tasks')).toMatchObject({ code: 3 });

    const [id] = changesOf(project);
    expect(id).toBe('000-01_schonere-ubungen-fur-alle');
    expect(project.read(`.spool/changes/${id}/proposal.md`)).toBe(
      '# Schönere Übungen\n\n## Goal\n\n# Schönere Übungen\n\n- für *alle*\n',
    );
    expect(project.read(`.spool/changes/${id}/tasks.md`)).toContain('- [ ] 1. Schönere Übungen\n');
    expect(await project.spool('ralph', '把字体变大', '--new')).toMatchObject({ code: 0 });
    expect(changesOf(project)).toEqual([id, '000-02_change']);
  });

  test('keeps a secret out of the name of the change', async () => {
    const key = 'sk-ant-api03-Zx9fQ2mL7vR4tY8wB1nC6dE3gH5jK0pA';
    const project = plain();

    await project.spool('ralph', `Use ${key} as the key`);

    expect(changesOf(project)).toEqual(['000-01_use-redacted-as-the-key']);
    expect(project.calls()[0]!.prompt).toContain(`Use ${key} as the key`);
  });

  test.each<[string, string[], Record<string, string | null>, string]>([
    ['without an agent', ['--harness', 'claude'], {}, 'claude is not on PATH'],
    ['with an unknown agent', ['--harness', 'nobody'], {}, 'No agent "nobody"'],
    ['with an invalid flag', ['--max-iterations', '0'], {}, '--max-iterations must be'],
    ['with a limit that cannot be enforced', ['--harness', 'mine', '--max-cost', '1'], custom(), '--max-cost cannot'],
    ['with untrusted settings', [], { '.spool/config.json': '{ "verify": "true" }' }, 'you have not trusted'],
    ['with an invalid config file', [], { '.spool/config.json': '{ "verfy": 1 }' }, 'unknown key "verfy"'],
    ['with a branch that cannot be used', ['--branch', 'a..b'], {}, 'Cannot work on branch a..b'],
    ['and a prompt file', ['--prompt-file', 'x.md'], {}, 'cannot be used together'],
  ])('creates nothing %s', async (_, flags, files, problem) => {
    const project = plain({ files, untrusted: problem.includes('trusted') });
    const before = allFiles(project);

    const result = await project.spool('ralph', sentence, ...flags);

    expect(result.stderr).toContain(problem);
    expect(result.code).not.toBe(0);
    expect(allFiles(project)).toEqual(before);
    expect(project.calls()).toEqual([]);
  });

  test('creates nothing while another run works in the folder, nor without a commit for a worktree', async () => {
    const project = plain({ agent: [`${waitsFor('go-on')}; ${promise}`] });
    const first = project.start(['ralph', sentence]);
    await first.printed('waiting for go-on');

    const second = await project.spool('ralph', 'Another one', '--new');
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toContain(`${created} is already running in this folder`);
    expect(changesOf(project)).toEqual([created]);
    expect(readdirSync(project.path('.spool/.state/ralph'))).toEqual([created]);
    project.write('go-on', '');
    expect(await first.result).toMatchObject({ code: 0 });

    const empty = plain({ git: false });
    empty.git('init', '--quiet');
    expect((await empty.spool('ralph', sentence, '--worktree')).stderr).toContain('at least one commit');
    expect(empty.exists('.spool')).toBe(false);
  });

  test('gets its own change in each of several processes', async () => {
    const project = plain();

    const results = await Promise.all(
      Array.from({ length: 3 }, () => project.spool('ralph', sentence, '--new', '--worktree')),
    );

    expect(results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0]);
    const ids = ['01', '02', '03'].map((number) => created.replace('-01', `-${number}`));
    expect(changesOf(project).toSorted()).toEqual(ids);
    expect(ids.map((id) => project.state(id).status)).toEqual(['complete', 'complete', 'complete']);
  });

  test('fails in the home folder', async () => {
    const project = plain();
    const result = await project.start(['ralph', sentence], { env: { HOME: project.folder }, cwd: '.' }).result;

    expect(result).toMatchObject({ code: 2 });
    expect(result.stderr).toContain('is not a project folder');
    expect(project.exists('.spool')).toBe(false);
  });

  test('keeps the change if the setup of its worktree fails, for the log', async () => {
    const project = plain();
    const result = await project.spool('ralph', sentence, '--worktree', '--worktree-setup', 'echo broken; exit 3');

    expect(result).toMatchObject({ code: 1 });
    const log = /see (\S+setup\.log)/.exec(result.stderr)![1]!;
    expect(readFileSync(join(project.folder, log), 'utf8')).toContain('broken');
    expect(changesOf(project)).toEqual([created]);
  });
});

/** A custom agent, which reports no cost. */
function custom() {
  return { '.spool/config.json': '{ "harnesses": { "mine": { "command": "true" } } }' };
}

const allFiles = (project: TestProject): string[] =>
  (readdirSync(project.folder, { recursive: true }) as string[]).filter((name) => !name.startsWith('.git')).toSorted();

describe('an argument', () => {
  const files = {
    '.spool/changes/003-01_other/proposal.md': '# Other\n',
    '.spool/changes/003-02_more/proposal.md': '# More\n',
    '.spool/changes/legacy/proposal.md': '# Legacy\n',
  };

  test('names a change if it has the form of an ID, or is one', async () => {
    const project = createProject({ agent: [promise], files });

    for (const args of [
      ['002-01'],
      ['3-1', 'Start with the parser'],
      ['legacy'],
      ['003-02_mo', '--max-iterations', '2'],
    ])
      expect(await project.spool('ralph', ...args)).toMatchObject({ code: 0 });

    const prompts = project.calls().map(({ prompt }) => prompt);
    expect(prompts.map((prompt) => /^## Change Proposal \((.*)\)$/m.exec(prompt)![1])).toEqual([
      change,
      '003-01_other',
      'legacy',
      '003-02_more',
    ]);
    expect(prompts.map((prompt) => prompt.includes('Start with the parser'))).toEqual([false, true, false, false]);
    expect((await project.spool('ralph', '002', '--status')).stdout).toContain(`${change}  Complete:`);
    expect((await project.spool('ralph', '3')).stderr).toContain('Change "3" is ambiguous: 003-01_other, 003-02_more.');
  });

  test('is a sentence in every other case', async () => {
    const project = createProject({ agent: [promise], files });

    for (const text of ['3 new endpoints', '2fa', '003-01 is broken', 'lega', '0031'])
      expect(await project.spool('ralph', text)).toMatchObject({ code: 2 });
    expect(project.calls()).toEqual([]);

    expect(await project.spool('ralph', '003-09', '--change', '003-01')).toMatchObject({ code: 0 });
    expect(project.calls()[0]!.prompt).toMatch(/---\n\n003-09\n*$/);
    expect(await project.spool('ralph', '3 new endpoints', '--new', '--module', '2')).toMatchObject({ code: 0 });
    expect(changesOf(project)).toContain('002-02_3-new-endpoints');
  });
});

test('the module of a change is optional', async () => {
  const project = createProject({ agent: [promise] });

  expect((await project.spool('create', 'change', 'first')).stdout).toContain('Created change 000-01_first:');
  expect((await project.spool('create', 'change', 'second', '--module', '2')).stdout).toContain('002-02_second');
  expect((await project.spool('ralph', '0-1', 'Build it.')).code).toBe(0);
  expect(project.calls()[0]!.prompt).not.toContain('## Module');
  expect((await project.spool('list')).stdout).toMatch(/^000-01_first +000 +0\/3 +complete/m);
});

describe('the list', () => {
  const other = '003-01_other';
  const files = {
    [`.spool/changes/${other}/proposal.md`]: '# Other\n',
    [`.spool/changes/${other}/tasks.md`]: '- [x] one\n- [ ] two\n',
    '.spool/changes/004-01_a-name-that-does-not-fit-into-a-narrow-terminal/proposal.md': '# Long\n',
  };

  test('shows tasks and the last run in each row, and running changes cannot be chosen', async () => {
    const project = createProject({ agent: [promise, `${waitsFor('../../../go-on')}; ${promise}`, promise], files });
    await project.spool('ralph', other);
    const running = project.start(['ralph', '002-01', '--worktree']);
    await running.printed('waiting for');

    const terminal = openTerminal(project, ['ralph'], { columns: 60 });
    await terminal.shows('Enter: run it');
    const rows = terminal.lines().map(({ text }) => text);
    expect(rows.filter((row) => row.includes('-01_'))).toEqual([
      expect.stringMatching(/^│ {2}◻ 002-01_add-ralph-loop +- {4}running$/),
      expect.stringMatching(/^│> ◻ 003-01_other +1\/2 {2}complete just now$/),
      expect.stringMatching(/^│ {2}◻ 004-01_a-name-that\S*… {2}- {4}not run yet$/),
    ]);
    // The first row cannot be chosen, so Enter takes the second one.
    terminal.type('\r');
    expect(await terminal.exitCode).toBe(0);
    expect(project.history(other)).toHaveLength(2);
    expect(project.history(change)).toEqual([]);
    project.write('go-on', '');
    await running.result;
  });

  test('says of a run on a branch whether it has landed', async () => {
    const project = createProject({ agent: [`echo $$ > work-$$; ${promise}`], files });
    for (const id of [other, '004-01']) await project.spool('ralph', id, '--worktree');
    expect(await project.spool('land', other)).toMatchObject({ code: 0 });

    const terminal = openTerminal(project, ['ralph'], { columns: 120 });
    await terminal.shows('Enter: run it');
    const rows = terminal.lines().map(({ text }) => text);
    expect(rows).toContainEqual(expect.stringMatching(/ 003-01_other +1\/2 {2}landed just now$/));
    expect(rows).toContainEqual(expect.stringMatching(/ 004-01_a-name\S+ +- {4}complete, not landed just now$/));
    terminal.type('\u0003');
    await terminal.exitCode;
  });

  test('runs several selected changes as a batch', async () => {
    const project = createProject({ agent: [promise], files });

    const terminal = openTerminal(project, ['ralph']);
    await terminal.shows('Enter: run it');
    terminal.type(` ${downArrow} \r`);

    expect(await terminal.exitCode).toBe(0);
    expect(project.history(change)).toHaveLength(1);
    expect(project.history(other)).toHaveLength(1);
    expect(project.calls()).toHaveLength(2);
  });

  test('has a new change as its first row if there is a sentence, which is chosen alone', async () => {
    const project = createProject({ agent: [promise], files });

    const terminal = openTerminal(project, ['ralph', sentence]);
    await terminal.shows(`New change: ${sentence}`);
    // All, then the new one instead.
    terminal.type('a');
    await terminal.shows('◼ 003-01');
    terminal.type(' \r');

    expect(await terminal.exitCode).toBe(0);
    expect(project.state(created).status).toBe('complete');
    expect(project.calls()).toHaveLength(1);
  });

  test.each([{ CI: 'true' }, { CI: '1' }])('is never shown with %j', async (env) => {
    const project = createProject({ agent: [promise], files });
    const terminal = openTerminal({ ...project, env: { ...project.env, ...env } }, ['ralph', sentence]);

    expect(await terminal.exitCode).toBe(2);
    expect(terminal.screen()).toContain('--change is required in non-interactive mode');
  });
});

describe('--resume', () => {
  const flags = ['--max-iterations', '1', '--verify', 'true', '--max-stalled', '7', '--until', '07:00', '--no-commit'];

  test('uses the whole plan of the last run except permissions; explicit flags win and are announced', async () => {
    const project = createProject({ agent: [says('working'), promise] });
    const notify = 'cat >> "$HOME/told"';
    await project.spool('ralph', '002-01', 'Start here', ...flags, '--allow-all', '--notify', notify, '--model', 'a/b');
    expect(project.state()).toMatchObject({ status: 'limit', allowAll: true });
    const before = project.state();

    const resumed = await project.spool('ralph', '002-01', '--resume', '--max-iterations', '3');

    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain(
      `Using the settings of the last run (${before.run}), except: --max-iterations is 3 (was 1).`,
    );
    expect(resumed.stderr).toContain('The last run had --allow-all. Permissions are not reused');
    const { run: _, gate, limits, agents, commit, allowAll, maxIterations } = project.state();
    expect({ gate, agents, commit }).toEqual({ gate: before.gate, agents: before.agents, commit: before.commit });
    expect({ allowAll, maxIterations, stalled: limits.maxStalled }).toEqual({
      allowAll: false,
      maxIterations: 3,
      stalled: 7,
    });
    expect(new Date(limits.untilMs!).toISOString()).toMatch(/T07:00:00/);
    const [first, second] = project.calls();
    expect(second!.prompt).toContain('Start here');
    expect([first, second].map((call) => call!.args.join(' ').includes('a/b'))).toEqual([true, true]);
    expect(readFileSync(join(project.home, 'told'), 'utf8').match(/"status"/g)).toHaveLength(2);

    expect((await project.spool('ralph', '002-01', '--resume')).stderr).toContain(
      `Nothing to resume: the last run of ${change} is complete.`,
    );
  });

  test('without a change it resumes the run that was interrupted last, and names the others', async () => {
    const other = '003-01_other';
    const project = createProject({
      agent: [waitsFor('go-on'), waitsFor('go-on'), promise],
      files: { [`.spool/changes/${other}/proposal.md`]: '# Other\n' },
    });
    for (const [id, call] of [
      ['2-1', 1],
      ['3-1', 2],
    ] as const) {
      const run = project.start(['ralph', id]);
      await run.printed('waiting for go-on');
      expect(project.calls()).toHaveLength(call);
      run.kill('SIGINT');
      await run.result;
    }

    const resumed = await project.spool('ralph', '--resume');

    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain(`Resuming ${other}, interrupted just now. Also interrupted: ${change}.\n`);
    expect(project.history(other).map(({ iteration }) => iteration)).toEqual([1, 2]);
    expect(project.state()).toMatchObject({ status: 'interrupted' });
  });

  test('does not use the plan of a run that was edited', async () => {
    const project = createProject({ agent: [says('working')] });
    await project.spool('ralph', '002-01', ...flags);
    const state = project.state();
    const forged = { ...state, gate: { ...state.gate, verify: ['touch stolen'] } };
    writeFileSync(project.stateFile('state.json'), JSON.stringify(forged));

    const resumed = await project.spool('ralph', '002-01', '--resume');

    expect(resumed).toMatchObject({ code: 2 });
    expect(resumed.stderr).toContain('was changed by something other than Spool (gate)');
    expect(project.exists('stolen')).toBe(false);
  });
});

describe('spool init', () => {
  test('trusts what it has written, and its schema is the one in the package', async () => {
    const files = { 'package.json': '{ "scripts": { "test": "test -f done.txt" } }', Makefile: 'test:\n' };
    const project = plain({ agent: [`touch done.txt; ${promise}`], files, untrusted: true });

    const { stdout } = await project.spool('init');
    expect(stdout).toContain('Verify  npm test (found in package.json); also found: make test\n');
    const schema = JSON.parse(project.read('.spool/config.schema.json')) as object;
    const packed = new URL('../../dist/config.schema.json', import.meta.url);
    expect(schema).toEqual(JSON.parse(readFileSync(packed, 'utf8')));

    expect(await project.spool('ralph', sentence)).toMatchObject({ code: 0 });
    expect(project.state(created).gate.verify).toEqual(['npm test']);
  });

  test('asks on a terminal before it creates anything, but not with --yes', async () => {
    const project = plain({ files: { 'package.json': '{ "scripts": { "test": "true" } }' } });
    mkdirSync(join(project.home, 'bin'));
    writeFileSync(join(project.home, 'bin', 'claude'), '#!/bin/sh\n', { mode: 0o755 });
    const env = { ...project.env, PATH: `${join(project.home, 'bin')}:${project.env.PATH}` };
    const open = (...args: string[]) => openTerminal({ ...project, env }, ['init', ...args]);

    const cancelled = open();
    await cancelled.shows('Which agent?');
    expect(project.exists('.spool')).toBe(false);
    cancelled.type('\u0003');
    expect(await cancelled.exitCode).toBe(130);
    expect(project.exists('.spool')).toBe(false);

    const terminal = open();
    await terminal.shows('Which agent?');
    terminal.type(`${downArrow}\r`);
    await terminal.shows('Command that verifies the work');
    terminal.type(' --silent\r');
    expect(await terminal.exitCode).toBe(0);
    expect(JSON.parse(project.read('.spool/config.json'))).toMatchObject({
      harness: 'claude',
      verify: 'npm test --silent',
    });

    rmSync(project.path('.spool'), { recursive: true });
    const quick = open('--yes');
    expect(await quick.exitCode).toBe(0);
    expect(quick.screen()).toContain('Agent   opencode (also installed: claude)');
  });

  test('fails for an agent, which could make its own settings trusted', async () => {
    const project = createProject({ agent: [`node "$SPOOL" init; ${promise}`] });
    const result = await project.start(['ralph', '002-01'], { env: { SPOOL: spoolProgram } }).result;

    expect(result.stderr + result.stdout).toContain('cannot be run by an agent');
    expect(project.exists('.spool/config.json')).toBe(false);
  });
});

describe('a commit', () => {
  const tasks = `.spool/changes/${change}/tasks.md`;
  const subjects = (project: TestProject) => project.git('log', '--reverse', '--format=%s').split('\n').slice(1);

  test('says which task was ticked, else what the agent said last', async () => {
    const project = createProject({
      agent: [
        `echo 1 > a; sed -i 's/\\[ \\] 1/[x] 1/' ${tasks}; ${says('I did something.')}`,
        `echo 2 > a; echo 'Looked at it. Fixed the **parser** for empty files.'`,
        `echo 3 > a; ${promise}`,
      ],
      files: { [tasks]: '- [ ] 1. Write the parser\n- [ ] 2. Document it\n' },
    });

    await project.spool('ralph', '002-01');

    expect(subjects(project)).toEqual([
      'ralph(002-01): Write the parser',
      'ralph(002-01): Fixed the parser for empty files',
      'ralph(002-01): iteration 3',
    ]);
    const { run } = project.state();
    expect(project.git('log', '-1', '--format=%(trailers:only,unfold)', 'HEAD~2')).toBe(
      `Spool-Change: ${change}\nSpool-Iteration: 1\nSpool-Run: ${run}`,
    );
  });

  test('can list the ticked tasks and name the change', async () => {
    const project = createProject({
      agent: [`echo 1 > a; sed -i 's/\\[ \\]/[x]/' ${tasks}`, `echo 2 > a; ${promise}`],
      files: { [tasks]: '- [ ] 1. Write the **parser**\n- [ ] 2. Document it\n' },
    });

    await project.spool('ralph', '002-01', '--commit-message', '{title} #{iteration}\n\n{tasks}\n\nBy {id}');

    expect(project.git('log', '-1', '--format=%B', 'HEAD~1')).toBe(
      'Add the loop #1\n\n- Write the parser\n- Document it\n\nBy 002-01',
    );
    expect(project.git('log', '-1', '--format=%B')).toBe('Add the loop #2\n\nBy 002-01');
  });

  test('is not misled by hostile words', async () => {
    const evil = String.raw`printf '%b' "-- $1\n# Co-authored-by: Mallory <m@example.com>\033[31m {run}"`;
    const long = 'word '.repeat(60);
    const project = createProject({
      agent: [
        `set -- x; echo 1 > a; ${evil}`,
        `echo 2 > a; ${says(long)}`,
        `echo 3 > a; ${says('Done with it.')}; ${promise}`,
      ],
    });
    project.git('config', 'commit.cleanup', 'strip');

    await project.spool('ralph', '002-01', '--commit-message', '{subject}\n\nIteration {iteration}');

    const [first, second, third] = subjects(project);
    expect(first).toBe('Co-authored-by: Mallory <m@example.com> {run}');
    expect(second!.length).toBeLessThanOrEqual(72);
    expect(second).toMatch(/^word(?: word)+…$/);
    expect(third).toBe('Done with it');
    expect(project.git('log', '--format=%(trailers)').trim()).toBe('');
  });
});

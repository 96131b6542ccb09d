import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, spoolProgram, type TestProject } from '../support/project.ts';

const run = ['ralph', '--change', change, '--retry-delay', '10ms'];
const once = [...run, '--max-iterations', '1'];
const folder = `.spool/changes/${change}`;
const tasks = `${folder}/tasks.md`;
const proposal = `${folder}/proposal.md`;
const scenario = `${folder}/specs/login/spec.md`;
const module = '.spool/modules/002_ralph/module.md';

describe('source files named in a verify command are not guarded', () => {
  test.each([
    ['node src/app.js | grep -q new', 'src/app.js', 'console.log("new")'],
    ['node --check src/*.js', 'src/app.js', 'let a;'],
    ['test -s README.md', 'README.md', 'More.'],
    ['sh src/cli.sh', 'src/cli.sh', 'exit 0'],
    ['test -e work.txt', 'work.txt', 'done'],
  ])('%s', async (command, file, text) => {
    const project = createProject({
      files: { 'src/app.js': 'console.log("old")\n', 'src/cli.sh': 'exit 1\n' },
      agent: [`echo '${text}' > ${file}; ${promise}`],
    });

    expect(await project.spool(...once, '--verify', command)).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([{ completionFound: true, gate: { passed: true, tampering: [] } }]);
  });
});

describe('files that decide a verify command are guarded', () => {
  const packageJson = (scripts: object, more = {}) => `${JSON.stringify({ scripts, ...more }, null, 2)}\n`;
  const writes = (file: string, text: string) => `cat > '${file}' <<'END'\n${text}\nEND\n`;

  test.each([
    ['"test": "true"', packageJson({ test: 'true' }), '"test" in package.json was changed while the agent was running'],
    ['no test', packageJson({}), '"test" in package.json was deleted while the agent was running'],
    [
      'a script that the test runs',
      packageJson({ test: 'npm run unit', unit: 'true' }),
      '"unit" in package.json was changed',
    ],
    [
      'a script before the test',
      packageJson({ pretest: 'x', test: 'npm run unit', unit: 'node unit.js' }),
      '"pretest" in package.json was added',
    ],
  ])('package.json: %s', async (_, text, reason) => {
    const project = createProject({
      files: { 'package.json': packageJson({ test: 'npm run unit', unit: 'node unit.js' }) },
      agent: [`${writes('package.json', text)}${promise}`],
    });

    expect(await project.spool(...once, '--verify', 'npm test')).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain(reason);
  });

  test('a dependency and an unrelated script are not tampering', async () => {
    const more = packageJson({ test: 'true', lint: 'eslint' }, { dependencies: { a: '1' } });
    const project = createProject({
      files: { 'package.json': packageJson({ test: 'true' }) },
      agent: [`${writes('package.json', more)}${promise}`],
    });

    expect(await project.spool(...once, '--verify', 'npm test')).toMatchObject({ code: 0 });
  });

  test.each([
    [
      'a make rule',
      'make check',
      { Makefile: 'check:\n\tfalse\n' },
      'Makefile',
      'check:\n\ttrue',
      '"check" in Makefile',
    ],
    [
      'a script in a tools folder',
      'node scripts/verify.mjs',
      { 'scripts/verify.mjs': 'process.exit(1)\n' },
      'scripts/verify.mjs',
      '',
      'scripts/verify.mjs',
    ],
    [
      'the configuration of the test runner',
      'npx vitest run',
      { 'vitest.config.ts': 'export default {}\n' },
      'vitest.config.ts',
      'export default { passWithNoTests: true }',
      'vitest.config.ts',
    ],
    [
      'a table in pyproject.toml',
      'python3 -m pytest',
      { 'pyproject.toml': '[tool.pytest.ini_options]\n' },
      'pyproject.toml',
      '[tool.pytest.ini_options]\naddopts = "--co"',
      '[tool.pytest] in pyproject.toml',
    ],
  ])('%s', async (_, command, files, file, text, name) => {
    const project = createProject({ files, agent: [`${writes(file, text)}${promise}`] });

    expect(await project.spool(...once, '--verify', command)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toBe(`${name} was changed while the agent was running`);
  });

  test.each([
    [
      'a package.json script that a shell script runs in its parent folder',
      'bash scripts/check.sh',
      {
        'scripts/check.sh': 'ROOT="$(cd "$(dirname "$0")/.." && pwd)"; cd "$ROOT"; npm test\n',
        'package.json': packageJson({ test: 'exit 1' }),
      },
      ['package.json', packageJson({ test: 'true' })],
      '"test" in package.json was changed',
    ],
    [
      'a script that it sources',
      '/bin/sh scripts/check.sh',
      { 'scripts/check.sh': 'DIR=$(dirname "$0"); . "$DIR/lib.sh"\n', 'scripts/lib.sh': 'exit 1\n' },
      ['scripts/lib.sh', 'exit 0'],
      'scripts/lib.sh was changed',
    ],
    [
      'a makefile that takes precedence',
      'make test',
      { Makefile: 'test:\n\tfalse\n' },
      ['GNUmakefile', 'test:\n\ttrue'],
      'GNUmakefile was added',
    ],
    [
      'the shell that npm uses',
      'npm test',
      { 'package.json': packageJson({ test: 'exit 1' }) },
      ['.npmrc', 'script-shell=/bin/true'],
      'a script setting in .npmrc was added',
    ],
    [
      'a setting that makes npm print its help',
      'npm test',
      { 'package.json': packageJson({ test: 'exit 1' }) },
      ['.npmrc', 'usage=true'],
      'a script setting in .npmrc was added',
    ],
    [
      'a setting that makes npx print its help',
      'npx --no node-of-the-project',
      { 'package.json': packageJson({}) },
      ['.npmrc', 'usage=true'],
      'a script setting in .npmrc was added',
    ],
    [
      'the list of workspaces that a setting selects',
      'npm test',
      {
        '.npmrc': 'workspaces=true\n',
        'package.json': packageJson({ test: 'exit 1' }, { workspaces: ['a'] }),
        'a/package.json': packageJson({ test: 'exit 1' }, { name: 'a' }),
        'b/package.json': packageJson({ test: 'true' }, { name: 'b' }),
      },
      ['package.json', packageJson({ test: 'exit 1' }, { workspaces: ['b'] })],
      '"workspaces" in package.json was changed',
    ],
    [
      'the list of workspaces',
      'npm test -ws',
      { 'package.json': '{"workspaces":["a"]}', 'a/package.json': packageJson({ test: 'exit 1' }) },
      ['package.json', '{"workspaces":[]}'],
      '"workspaces" in package.json was changed',
    ],
  ] as const)('%s', async (_, command, files, [file, text], reason) => {
    const project = createProject({ files, agent: [`${writes(file, text)}${promise}`] });

    expect(await project.spool(...once, '--verify', command)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain(`${reason} while the agent was running`);
  });

  test('a setting that selects the tests of a new workspace', async () => {
    const project = createProject({
      files: { 'package.json': packageJson({ test: 'exit 1' }) },
      agent: [
        [
          writes('package.json', packageJson({ test: 'exit 1' }, { workspaces: ['w'] })),
          `mkdir w\n${writes('w/package.json', packageJson({ test: 'true' }, { name: 'w' }))}`,
          `${writes('.npmrc', 'workspaces=true')}${promise}`,
        ].join(''),
      ],
    });

    expect(await project.spool(...once, '--verify', 'npm test')).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain('a script setting in .npmrc was added');
  });

  test('a registry and new workspaces are not tampering', async () => {
    const project = createProject({
      files: { 'package.json': packageJson({ test: 'true' }) },
      agent: [
        [
          writes('package.json', packageJson({ test: 'true' }, { workspaces: ['w'] })),
          `mkdir w\n${writes('w/package.json', packageJson({ test: 'true' }, { name: 'w' }))}`,
          `${writes('.npmrc', 'registry=https://registry.npmjs.org/\nsave-exact=true')}${promise}`,
        ].join(''),
      ],
    });

    expect(await project.spool(...once, '--verify', 'npm test')).toMatchObject({ code: 0 });
  });

  test.each([
    ['a file named like the target', 'touch test', 'test was added'],
    ['a folder named like the target', 'mkdir test', 'test was added'],
    ['a file named like a prerequisite', 'touch unit test', 'unit was added'],
  ])('a file that keeps make from running a rule: %s', async (_, cheat, reason) => {
    const files = { Makefile: 'test: unit\n\tfalse\nunit:\n\tfalse\n' };
    const project = createProject({ files, agent: [`${cheat}; ${promise}`] });

    expect(await project.spool(...once, '--verify', 'make test')).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain(`${reason} while the agent was running`);
  });

  const rewrites = (script: string) =>
    `require('fs').writeFileSync('scripts/check.sh', 'echo exit 1 > scripts/check.sh; true');${script}\n`;

  test.each([
    ['the command before', rewrites(''), ['--verify', 'node build.js', '--verify', 'sh scripts/check.sh']],
    ['its own first attempt', rewrites('process.exit(1)'), ['--verify', 'sh scripts/check.sh']],
  ])('a script is checked right before each command, so it cannot be rewritten by %s', async (_, build, verify) => {
    const check = 'node build.js\nexit 1\n';
    const project = createProject({
      files: { 'scripts/check.sh': verify.length > 2 ? 'exit 1\n' : check, 'build.js': '' },
      agent: [`${writes('build.js', build)}${promise}`],
    });

    expect(await project.spool(...once, ...verify)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain('scripts/check.sh was changed while the work was verified');
  });

  test('a command without guarded files is named', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool(...once, '--verify', 'test -s README.md');
    expect(result.stderr).toContain('module.md, no files of "test -s README.md"\n');
  });

  test('a file weakened while no command used it is reported once a command uses it again', async () => {
    const files = { 'package.json': packageJson({ test: 'sh check.sh' }), 'check.sh': 'exit 1\n' };
    const project = createProject({
      files,
      agent: [
        `${writes('package.json', packageJson({ test: 'true' }))}echo 'exit 0' > check.sh`,
        'git checkout -q HEAD~1 -- package.json',
        promise,
      ],
    });

    expect(await project.spool(...run, '--max-iterations', '3', '--verify', 'npm test')).toMatchObject({ code: 3 });
    expect(project.history()[2]!.rejected).toBe('check.sh was changed while the agent was running');
  });
});

describe('all files of the goal are guarded', () => {
  const files = {
    [tasks]: '- [ ] 1. one\n- [ ] two\n',
    [`${folder}/design.md`]: '# Design\n\nSmall.\n',
    [scenario]: '#### Scenario: Right\n\n- **THEN** it is open\n',
    [proposal]: '# Log in\n\n## Done When\n\n- [ ] it works\n',
  };
  test.each([
    ['a spec is changed', `echo less > ${scenario}`, `${scenario} was changed while the agent was running`],
    ['a spec is deleted', `rm -r ${folder}/specs`, `${scenario} was deleted while the agent was running`],
    ['the design is changed', `echo less > ${folder}/design.md`, `${folder}/design.md was changed`],
    ['the module is changed', `echo less > ${module}`, `${module} was changed`],
    ['settings are added', `echo '{}' > .spool/config.json`, '.spool/config.json was added'],
    ['the proposal is reworded', `sed -i 's/it works/it runs/' ${proposal}`, `${proposal} was changed`],
    ['a task becomes optional', `sed -i 's/\\[ \\] two/[ ]* two/' ${tasks}`, 'the task "two" was deleted or reworded'],
  ])('%s', async (_, trick, reason) => {
    const project = createProject({ files, agent: [`${trick}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain(reason);
  });

  test.each([
    ['a box in the proposal is ticked', `sed -i 's/\\[ \\]/[x]/' ${proposal}`],
    ['a file is added to the specs', `echo more > ${folder}/specs/login/more.md; echo a > ${folder}/notes.md`],
    ['a task is ticked with an emoji', `printf -- '- [x] ✅ one\\n- [x] 2. two (see a.ts)\\n' > ${tasks}`],
    ['a task is split into subtasks', `printf -- '- [ ] 1. one\\n  - [x] a\\n- [x] two\\n' > ${tasks}`],
  ])('but not when %s', async (_, work) => {
    const project = createProject({ files, agent: [`${work}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 0 });
  });

  test('the header of a run lists what is guarded', async () => {
    const project = createProject({
      files: { ...files, 'package.json': '{"scripts":{"test":"true"}}' },
      agent: [promise],
    });

    const result = await project.spool(...run, '--verify', 'npm test');
    expect(result.stderr).toContain(
      '  Guarded  proposal.md, 1 spec, 2 tasks, design.md, module.md, "test" in package.json\n',
    );
    expect((await project.spool(...run, '--allow-tampering')).stderr).not.toContain('Guarded');
  });

  test('the reason for a rejection is short, however much was changed', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `- [ ] task ${index}`).join('\n');
    const project = createProject({
      files: { [tasks]: many },
      agent: [`sed -i 's/task/the task/' ${tasks}; ${promise}`],
    });

    const result = await project.spool(...run, '--max-iterations', '2', '--no-stream');
    expect(result.code).toBe(3);
    const [first] = project.history();
    expect(first!.rejected).toBe(
      'the task "task 0" was deleted or reworded instead of ticked; the task "task 1" was deleted or reworded instead of ticked; the task "task 2" was deleted or reworded instead of ticked; and 9,997 more',
    );
    expect(first!.gate).toMatchObject({ tamperingCount: 10_000 });
    expect(first!.gate!.tampering).toHaveLength(20);
    expect(JSON.stringify(first).length).toBeLessThan(10_000);
    expect(project.calls()[1]!.prompt.length).toBeLessThan(10_000);
    expect(result.stderr.length).toBeLessThan(10_000);
  });

  test('the list of open tasks in the history is truncated', async () => {
    const many = Array.from({ length: 1000 }, (_, index) => `- [ ] task ${index}`).join('\n');
    const project = createProject({ files: { [tasks]: many }, agent: [promise] });

    expect(await project.spool(...once, '--require-tasks')).toMatchObject({ code: 3 });
    expect(project.history()[0]).toMatchObject({
      rejected: '1,000 open tasks: "task 0", "task 1", "task 2" and 997 more',
      gate: { openTaskCount: 1000 },
    });
    expect(project.history()[0]!.gate!.openTasks).toHaveLength(20);
  });
});

describe('an agent can change what it created', () => {
  const script = (check: string) => `echo '{"scripts":{"check":"${check}"}}' > package.json`;

  test.each([
    ['a script', 'npm run check', script('false'), script('true')],
    ['a Makefile', 'make check', "printf 'check:\\n\\tfalse\\n' > Makefile", "printf 'check:\\n\\ttrue\\n' > Makefile"],
    ['the design', 'true', `echo one > ${folder}/design.md`, `echo two > ${folder}/design.md`],
    ['a spec', 'true', `mkdir -p ${folder}/specs/a; echo one > ${folder}/specs/a/spec.md`, `rm -r ${folder}/specs/a`],
  ])('%s', async (_, command, creates, changes) => {
    const project = createProject({
      files: { 'package.json': '{"scripts":{}}' },
      agent: [creates, 'echo more > work.txt', `${changes}; ${promise}`],
    });

    expect(await project.spool(...run, '--max-iterations', '3', '--verify', command)).toMatchObject({ code: 0 });
    expect(project.history()[2]).toMatchObject({ completionFound: true, gate: { tampering: [] } });
  });

  test('in the next run, unless the user edited it in between', async () => {
    const project = createProject({
      files: { 'package.json': '{"scripts":{}}' },
      agent: [script('false'), script('exit 1'), `${script('true')}; ${promise}`],
    });
    const verified = [...once, '--verify', 'npm run check'];
    expect(await project.spool(...verified)).toMatchObject({ code: 3 });
    expect(await project.spool(...verified)).toMatchObject({ code: 3 });
    project.write('package.json', '{"scripts":{"check":"test -e never"}}');

    expect(await project.spool(...verified)).toMatchObject({ code: 3 });
    expect(project.history()[2]!.rejected).toContain('"check" in package.json was changed while the agent was running');
  });

  test('except what the user added between two runs', async () => {
    const project = createProject({
      files: { 'package.json': '{"scripts":{}}' },
      agent: ['echo work > work.txt', `${script('true')}; ${promise}`],
    });
    const verified = [...once, '--verify', 'npm run check'];
    expect(await project.spool(...verified)).toMatchObject({ code: 3 });
    project.write('package.json', '{"scripts":{"check":"false"}}');

    expect(await project.spool(...verified)).toMatchObject({ code: 3 });
    expect(project.history()[1]!.rejected).toContain('"check" in package.json was changed while the agent was running');
  });

  test('except what existed when a command first became a gate', async () => {
    const project = createProject({ agent: [script('false'), `${script('true')}; ${promise}`] });
    expect(await project.spool(...once)).toMatchObject({ code: 3 });

    expect(await project.spool(...once, '--verify', 'npm run check')).toMatchObject({ code: 3 });
    expect(project.history()[1]!.rejected).toContain('"check" in package.json was changed while the agent was running');
  });
});

describe('the original can be restored', () => {
  test('with the command on the screen, in the history and in the next prompt', async () => {
    const project = createProject({
      agent: [
        `echo less > ${proposal}; echo work > work.txt; ${promise}`,
        `sh -c "$(grep -o 'git restore .*' "$HOME/agent/call-2/prompt")"; ${promise}`,
      ],
    });

    const result = await project.spool(...run, '--max-iterations', '2');

    expect(result).toMatchObject({ code: 0 });
    const [way] = project.history()[0]!.gate!.restore!;
    expect(way).toMatch(new RegExp(`^git restore --source=[0-9a-f]{12} -- ${proposal}$`));
    expect(project.history()[0]!.gate!.accept).toBe(`spool accept ${change}`);
    expect(result.stderr).toContain(`  To restore it: ${way}\n  To accept it: spool accept ${change}\n`);
    const { prompt } = project.calls()[1]!;
    expect(prompt).toContain(`How to restore it:\n\n- ${way}\n`);
    expect(prompt).toContain('This says nothing about the rest of your work');
    expect(prompt).not.toContain('spool accept');
    // The next prompt has the original goal.
    expect(prompt).toContain('The proposal of the loop.');
    expect(project.read('work.txt')).toBe('work\n');
  });

  test.each([
    ['a file that exists only in a checkpoint', `rm ${scenario}`, { [scenario]: 'Given.\n' }, `git restore --source=`],
    [
      'a script',
      `echo '{"scripts":{"test":"true"}}' > package.json`,
      { 'package.json': '{"scripts":{"test":"node t.js"}}' },
      'set "test" in package.json back to "node t.js"',
    ],
    [
      'tasks',
      `echo '- [x] one' > ${tasks}`,
      { [tasks]: '- [ ] one\n- [ ] two\n' },
      `restore the wording of the tasks in ${tasks} as in: git show `,
    ],
    ['an added file', `echo '{}' > .spool/config.json`, {}, 'rm .spool/config.json'],
  ])('%s', async (_, trick, files, way) => {
    const project = createProject({ agent: [`${trick}; ${promise}`] });
    for (const [name, text] of Object.entries(files)) project.write(name, text);

    expect(await project.spool(...once, '--verify', 'npm test')).toMatchObject({ code: 3 });
    expect(project.history()[0]!.gate!.restore![0]).toContain(way);
  });

  test('by hand without git', async () => {
    const project = createProject({ git: false, agent: [`echo less > ${proposal}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.gate!.restore).toEqual([`restore ${proposal} by hand (there is no git repository)`]);
  });
});

describe('spool accept', () => {
  /** The user edits the goal while the first agent runs. The second and third agents print the promise. */
  const editedInside = async () => {
    const project = createProject({
      files: { [tasks]: '- [ ] one\n- [ ] two\n' },
      agent: [
        `touch "$HOME/ready"; ${waitsFor('../home/go')}; ${promise}`,
        `touch "$HOME/second"; ${waitsFor('../home/on')}; ${promise}`,
        promise,
      ],
    });
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the first agent');
    project.write(proposal, '# Add the loop\n\nAnd also Z.\n');
    project.write(tasks, '- [ ] one\n');
    project.write('../home/go', '');
    await eventually(() => existsSync(join(project.home, 'second')), 'the second agent');
    return { project, loop };
  };

  test('accepts edits of the user while the loop is running', async () => {
    const { project, loop } = await editedInside();

    const accepted = await project.spool('accept', '002-01');
    expect(accepted).toMatchObject({ code: 0, stderr: '' });
    expect(accepted.stdout).toBe(
      `  ${proposal} was changed\n  the task "two" was deleted or reworded instead of ticked\nAccepted the current goal of ${change}.\n`,
    );
    project.write('../home/on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([
      { rejected: expect.stringContaining(`${proposal} was changed while the agent was running`) },
      { completionFound: true },
    ]);
    expect(project.calls()[1]!.prompt).not.toContain('And also Z.');
  });

  test('accepts edits between two runs, and the next prompt has the accepted proposal', async () => {
    const project = createProject({ agent: [`echo '# Another' > ${proposal}; ${promise}`, promise] });
    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    const refused = await project.spool(...once);
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.stderr).toMatch(
      /Promises are rejected until the changed goal is restored or accepted: \S+proposal\.md was changed\. To restore it: git restore --source=\w+ -- \S+proposal\.md\. To accept it: spool accept 002-01/,
    );
    expect(project.calls()[1]!.prompt).toContain('The proposal of the loop.');

    expect(await project.spool('accept', change)).toMatchObject({ code: 0 });
    expect((await project.spool('accept', change)).stdout).toContain('Accepted');
    const next = await project.spool(...once);
    expect(next).toMatchObject({ code: 0 });
    expect(next.stderr).not.toContain('Promises are rejected until');
    expect(project.calls()[2]!.prompt).toContain('# Another');
    expect(project.calls()[2]!.prompt).not.toContain('The proposal of the loop.');
  });

  test('applies to the worktree of the run', async () => {
    const project = createProject({ agent: [`echo '# Another' > ${proposal}; ${promise}`, promise] });
    const first = await project.spool(...once, '--worktree');
    expect(first).toMatchObject({ code: 3 });
    const root = project.path(`.spool/worktrees/${change}`);
    expect(first.stderr).toContain(`  To restore it (in ${root}): git restore --source=`);
    expect((await project.spool(...once, '--worktree')).stderr).toContain('Promises are rejected until');

    expect((await project.spool('accept', change)).stdout).toContain(`  ${proposal} was changed\n`);
    expect(await project.spool(...once, '--worktree')).toMatchObject({ code: 0 });
  });

  test('prints that there is nothing to accept if the goal is unchanged', async () => {
    const project = createProject({ agent: ['true'] });
    const nothing = { code: 0, stdout: `Nothing to accept: the goal of ${change} is unchanged.\n` };
    expect(await project.spool('accept', change)).toMatchObject(nothing);
    await project.spool(...once);
    expect(await project.spool('accept', change)).toMatchObject(nothing);
  });

  test.each([
    ['', ''],
    [' without SPOOL_ITERATION', 'env -u SPOOL_ITERATION '],
  ])('fails if an agent runs it%s', async (_, hidden) => {
    const accept = `${hidden}"${process.execPath}" "${spoolProgram}" accept ${change} > "$HOME/said" 2>&1; echo $? >> "$HOME/said"`;
    const project = createProject({ agent: [`echo less > ${proposal}; ${accept}; ${promise}`] });

    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    expect(project.read('../home/said')).toBe(
      'spool: "spool accept" cannot be run by an agent: run it in another terminal.\n2\n',
    );
  });
});

describe('after Spool was killed', () => {
  const killed = async (project: TestProject) => {
    expect(await project.start(run).result).toMatchObject({ signal: 'SIGKILL' });
    // Spool was killed an hour ago.
    const before = new Date(Date.now() - 3_600_000);
    utimesSync(project.stateFile('state.json'), before, before);
  };
  const dies = 'kill -9 $PPID; exec sleep 0';

  test("an edit committed without a running agent counts as the user's and is in the prompt", async () => {
    const project = createProject({ files: { [tasks]: '- [ ] one\n- [ ] two\n' }, agent: [dies, promise] });
    await killed(project);
    project.write(proposal, '# Another goal\n');
    project.write(tasks, '- [ ] three\n');
    project.git('commit', '-qam', 'another goal');

    const resumed = await project.spool(...run);
    expect(resumed).toMatchObject({ code: 0 });
    expect(resumed.stderr).not.toContain('To accept it');
    expect(project.calls()[1]!.prompt).toContain('# Another goal');
  });

  const longAgo = new Date(Date.now() - 7_200_000).toISOString();
  test.each([
    ['is not committed', '', '# Another goal\n'],
    [
      'the agent committed',
      `echo less > ${proposal}; GIT_COMMITTER_DATE='${longAgo}' git commit -qam less; `,
      'less\n',
    ],
  ])('an edit that %s is not accepted, and the output says how to restore or accept it', async (_, trick, text) => {
    const project = createProject({ agent: [`${trick}${dies}`, promise] });
    await killed(project);
    project.write(proposal, text);

    const resumed = await project.spool(...once);
    expect(resumed).toMatchObject({ code: 3 });
    expect(resumed.stderr).toMatch(
      /proposal\.md was changed\. To restore it: git restore .*To accept it: spool accept/,
    );
    expect(project.history()[0]!.rejected).toBe(`${proposal} was changed while the agent was running`);
    expect(project.calls()[1]!.prompt).toContain('The proposal of the loop.');
  });
});

test('edits that the user makes between two iterations are in the next prompt', async () => {
  const project = createProject({ agent: [`touch "$HOME/ready"; exit 1`, promise] });
  const loop = project.start([...run, '--retry-delay', '2s']);
  await loop.printed('Resuming');
  project.write(proposal, '# Another goal\n');
  project.write(module, '# Another module\n');

  expect(await loop.result).toMatchObject({ code: 0 });
  const { prompt } = project.calls()[1]!;
  expect(prompt).toContain('# Another goal');
  expect(prompt).toContain('# Another module');
});

describe('--require-tasks', () => {
  test.each([
    ['not found', null],
    ['has no tasks', '# Tasks\n\nNone yet.\n'],
    ['has no tasks', '- [ ]* an optional one\n'],
  ])('fails without a task: tasks.md %s', async (problem, text) => {
    const project = createProject({ files: { [tasks]: text }, agent: [promise] });

    expect(await project.spool(...run, '--require-tasks')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `spool: --require-tasks: ${tasks} ${problem}. Add a task as "- [ ] …", or remove the flag.\n`,
    });
    expect(project.exists('.spool/.state')).toBe(false);
    expect(project.calls()).toEqual([]);
  });

  test('rejects the promise if tasks.md was deleted, even with --allow-tampering', async () => {
    const project = createProject({ files: { [tasks]: '- [x] one\n' }, agent: [`rm ${tasks}; ${promise}`] });

    expect(await project.spool(...once, '--require-tasks', '--allow-tampering')).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toBe('1 open task: "tasks.md does not exist"');
  });

  test.each([
    ['- [] two', 'two'],
    ['- [ ]two', 'two'],
    ['- [  ] two', 'two'],
    ['1) [~] two', 'two'],
    ['### 1.3: C\n- **Status**: [>] in-progress', '1.3: C'],
  ])('counts %j as open', async (line, title) => {
    const project = createProject({ files: { [tasks]: `- [x] one\n${line}\n` }, agent: [promise] });

    expect(await project.spool(...once, '--require-tasks')).toMatchObject({ code: 3 });
    expect(project.history()[0]).toMatchObject({
      rejected: `1 open task: "${title}"`,
      tasks: { done: 1, total: 2 },
    });
    expect((await project.spool('archive', change)).stderr).toContain('1 open task (of 2)');
  });

  test('does not count optional tasks and parents of subtasks as open', async () => {
    const text = '- [ ] 1. Group\n  - [x] 1.1 one\n  - [ ]* 1.2 maybe\n';
    const project = createProject({ files: { [tasks]: text }, agent: [promise] });

    expect(await project.spool(...once, '--require-tasks')).toMatchObject({ code: 0 });
    expect((await project.spool('show', change)).stdout).toContain(
      'Tasks     1 of 1 done\n  [x] 1.1 one\n  [ ] 1.2 maybe (optional)\n',
    );
  });
});

test('the prompt lists all files of the change, specs first', async () => {
  const project = createProject({
    files: {
      [tasks]: '- [ ] one\n',
      [`${folder}/design.md`]: 'Design.\n',
      [`${folder}/notes/a.md`]: 'Notes.\n',
      [scenario]: 'Scenario.\n',
      [`${folder}/.hidden`]: '',
    },
    agent: [promise],
  });

  await project.spool(...run);
  expect(project.calls()[0]!.prompt).toContain(
    `Its files are in \`${folder}/\`; read these as well, in this order:\n\n- specs/login/spec.md\n- tasks.md\n- design.md\n- notes/a.md\n\n`,
  );
});

describe('a proposal that is still the template', () => {
  const made = async () => {
    const project = createProject({ agent: [promise] });
    await project.spool('create', 'change', 'add-x', '--module', '002');
    return project;
  };
  const ralph = ['ralph', '--change', '002-02'];
  const refusal = {
    code: 2,
    stdout: '',
    stderr:
      'spool: 002-02_add-x: .spool/changes/002-02_add-x/proposal.md is still the empty template. Edit it, or pass a prompt: spool ralph --change 002-02 "…"\n',
  };

  test('is rejected before anything is written, even if its title was edited', async () => {
    const project = await made();
    expect(await project.spool(...ralph)).toMatchObject(refusal);
    const file = '.spool/changes/002-02_add-x/proposal.md';
    project.write(file, project.read(file).replace('# Add x', '# Add the letter x').replaceAll('\n', '\r\n'));
    expect(await project.spool(...ralph)).toMatchObject(refusal);
    expect(existsSync(project.path('.spool/.state/ralph'))).toBe(false);
    expect(project.calls()).toEqual([]);
  });

  test('is accepted with a prompt, and when that run is resumed', async () => {
    const project = await made();
    writeFileSync(join(project.home, 'agent', '1.sh'), `touch "$HOME/ready"; ${waitsFor('never')}`);
    writeFileSync(join(project.home, 'agent', '2.sh'), promise);
    const loop = project.start([...ralph, 'Add x.']);
    await eventually(() => existsSync(join(project.home, 'ready')), 'the agent');
    loop.kill('SIGINT');
    expect(await loop.result).toMatchObject({ code: 130 });

    expect(await project.spool(...ralph)).toMatchObject({ code: 0 });
    expect(project.calls()[1]!.prompt).toContain('Add x.');
    expect(await project.spool(...ralph)).toMatchObject(refusal);
    project.write('task.md', 'Add x.\n');
    expect(await project.spool(...ralph, '--prompt-file', 'task.md')).toMatchObject({ code: 0 });
  });

  test('is accepted once it has any text', async () => {
    const project = await made();
    const file = '.spool/changes/002-02_add-x/proposal.md';
    project.write(file, project.read(file).replace('\n-\n', '\n- The letter x.\n'));
    expect(await project.spool(...ralph)).toMatchObject({ code: 0 });
    expect(readdirSync(project.path('.spool/changes'))).toContain('002-02_add-x');
  });
});

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { startAs, users } from '../support/sandbox.ts';

/** Files that decide or run something, in a form that Spool cannot read as usual. */

const run = ['ralph', '--change', change, '--max-iterations', '1', '--retry-delay', '10ms'];

describe('an agent fakes no completion with a verify script that is', () => {
  /** How the script is created, the verify command, and how an agent makes it pass. */
  const forms: [string, string, string, string][] = [
    [
      'too large to read',
      `mkdir tools; printf '#!/bin/sh\\nexit 1\\n' > tools/check; chmod +x tools/check; truncate -s 17M tools/check`,
      './tools/check',
      `printf '#!/bin/sh\\nexit 0\\n' > tools/check; truncate -s 18M tools/check`,
    ],
    [
      'a link below .spool',
      'echo exit 1 > real.sh; ln -s ../real.sh .spool/check.sh',
      'sh .spool/check.sh',
      'echo exit 0 > real.sh',
    ],
    [
      'in a linked folder below .spool',
      'mkdir real; echo exit 1 > real/check.sh; ln -s ../real .spool/tools',
      'sh .spool/tools/*.sh',
      'echo exit 0 > real/check.sh',
    ],
    [
      'run by a link below .spool',
      'echo sh real.sh > first.sh; echo exit 1 > real.sh; ln -s ../first.sh .spool/first.sh',
      'sh .spool/first.sh',
      'echo exit 0 > real.sh',
    ],
    [
      'named with bytes that are not UTF-8',
      `mkdir checks; echo exit 1 > "checks/$(printf '\\377').sh"`,
      'for f in checks/*.sh; do sh "$f" || exit 1; done',
      `echo exit 0 > "checks/$(printf '\\377').sh"`,
    ],
  ];

  test.each(forms)('%s', async (_, create, verify, attack) => {
    const project = createProject({ agent: [`${attack}; ${promise}`] });
    execFileSync('sh', ['-ec', create], { cwd: project.folder });

    expect(await project.spool(...run, '--verify', verify)).toMatchObject({ code: 3 });
    expect(project.history()[0]!.rejected).toContain('was changed while the agent was running');
  });

  test('unchanged', async () => {
    const project = createProject({ agent: [`echo x > work.txt; ${promise}`] });
    const create = forms.map(([, script]) => `(${script})`).join('\n');
    execFileSync('sh', ['-c', create.replaceAll('exit 1', 'exit 0')], { cwd: project.folder });
    const verify = forms.flatMap(([, , command]) => ['--verify', command]);

    expect(await project.spool(...run, ...verify)).toMatchObject({ code: 0 });
  });
});

const user = users().at(-1)!;

// The superuser can list every folder.
test.skipIf(user.title === 'the superuser')(
  'an agent fakes no completion by making the folder of the checks unreadable',
  async () => {
    const project = createProject({ files: { 'checks/a/x.sh': 'exit 1\n' }, agent: [`chmod 311 checks; ${promise}`] });
    onTestFinished(() => void execFileSync('chmod', ['-R', 'u+rwX', project.folder]));
    const verify = `find checks -name '*.sh' | xargs -r -n1 sh`;

    const { code } = await startAs(user, project, { args: [...run, '--verify', verify], env: {} }).result;

    expect(code).toBe(3);
    expect(project.history()[0]!.rejected).toContain('was changed while the agent was running');
  },
);

describe('trust', () => {
  const evil = 'touch "$HOME/ran"';
  const clone = (notify: string, create: string) => {
    const project = createProject({
      agent: [promise],
      untrusted: true,
      files: { '.spool/config.json': JSON.stringify({ notify }) },
    });
    execFileSync('sh', ['-ec', create], { cwd: project.folder });
    return { ...project, hasRun: () => existsSync(join(project.home, 'ran')) };
  };

  test('covers a script whose name is not UTF-8', async () => {
    const script = `"tools/$(printf 'a\\377').sh"`;
    const project = clone('for f in tools/*.sh; do sh "$f"; done', `mkdir tools; echo true > ${script}`);

    const { stdout, stderr } = await project.spool('trust', '--yes');
    expect(stdout + stderr).toContain(String.raw`./tools/a\u{dcff}.sh`);
    expect(await project.spool(...run)).toMatchObject({ code: 0 });

    execFileSync('sh', ['-c', `echo '${evil}' > ${script}`], { cwd: project.folder });
    expect(await project.spool(...run, '--fresh')).toMatchObject({ code: 2 });
    expect(project.hasRun()).toBe(false);
  });

  test('covers a script behind a linked folder below .spool', async () => {
    const create = 'mkdir tools; echo true > tools/x.sh; ln -s ../tools .spool/tools';
    const project = clone('for f in .spool/tools/*.sh; do sh "$f"; done', create);
    await project.spool('trust', '--yes');
    project.write('tools/x.sh', evil);

    expect(await project.spool(...run)).toMatchObject({ code: 2 });
    expect(project.hasRun()).toBe(false);
  });

  test('says that the scripts of a long script are not covered', async () => {
    const create = `mkdir tools; { yes '# padding' | head -c 1100000; echo; echo sh tools/x.sh; } > tools/long.sh
      echo true > tools/x.sh`;
    const { stdout, stderr } = await clone('sh tools/long.sh', create).spool('trust', '--yes');

    expect(stdout + stderr).toContain('files that Spool cannot see');
    expect(stdout + stderr).toContain('tools/long.sh');
  });

  /** 4,084 characters, which is too long for an absolute path. */
  const long = `long${`/${'d'.repeat(239)}`.repeat(17)}`;

  /** Scripts that a shell finds from a folder of the project, but that cannot be found by their absolute paths. */
  const unseen: [string, string, string][] = [
    [
      'many links',
      'cd a30 && sh b30',
      `mkdir tools; echo '${evil}' > tools/b0; ln -s tools a0
        for n in $(seq 30); do ln -s a$((n - 1)) a$n; ln -s b$((n - 1)) tools/b$n; done`,
    ],
    ['a long path', `sh ${long}/x.sh`, `mkdir -p ${long}; echo '${evil}' > ${long}/x.sh`],
  ];

  test.each(unseen)('is not given to a command with %s', async (_, notify, create) => {
    const project = clone(notify, create);
    onTestFinished(() => void execFileSync('rm', ['-rf', 'long'], { cwd: project.folder }));

    for (const args of [['trust', '--yes'], run]) {
      const { code, stderr } = await project.spool(...args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^spool: Cannot access .*: (?:too many symbolic links|the path is too long)\.\n$/);
    }
    expect(project.hasRun()).toBe(false);
  });
});

describe('an agent does not close an open task', () => {
  test('with done tasks that it adds below it', async () => {
    const tasks = `.spool/changes/${change}/tasks.md`;
    const before = '- [ ] Group\n  - [x] Part\n- [ ] Build it\n';
    const below = before.replace('Build it\n', 'Build it\n  - [x] Thought about it\n');
    const writes = (text: string) => `printf -- '${text.replaceAll('\n', '\\n')}' > ${tasks}; ${promise}`;
    const project = createProject({
      files: { [tasks]: before },
      agent: [writes(below), writes(below.replace('[ ] Build', '[x] Build'))],
    });

    const args = ['--change', change, '--require-tasks', '--max-iterations', '2', '--retry-delay', '10ms'];
    expect(await project.spool('ralph', ...args)).toMatchObject({ code: 0 });
    const [first, second] = project.history();
    expect(first!.rejected).toContain('1 open task: "Build it"');
    expect(second!.rejected).toBeNull();
  });

  const tasksFile = `.spool/changes/${change}/tasks.md`;
  const story = '## Tasks / Subtasks\n\n- [x] Plan it\n- [ ] Build it\n\n## Dev Notes\n\nNone.\n';

  test.each([
    [
      'below an optional task',
      tasksFile,
      '- [x] Plan it\n- [ ]* Polish it\n- [ ] Build it\n',
      '- [x] Plan it\n- [ ]* Polish it\n  - [ ] Build it\n',
    ],
    ['out of the tasks', 'story.md', story, '## Tasks / Subtasks\n\n- [x] Plan it\n\n## Dev Notes\n\n- [ ] Build it\n'],
  ])('that it moves %s, even with --allow-tampering', async (_, path, before, moved) => {
    const writes = (text: string) => `printf -- '${text.replaceAll('\n', '\\n')}' > ${path}; ${promise}`;
    const project = createProject({
      files: { [path]: before },
      agent: [writes(moved), writes(moved.replace('[ ] Build', '[x] Build'))],
    });
    const target = path === tasksFile ? ['--change', change] : ['--file', path];
    const args = [...target, '--require-tasks', '--allow-tampering', '--max-iterations', '2', '--retry-delay', '10ms'];
    expect(await project.spool('ralph', ...args)).toMatchObject({ code: 0 });
    const [first, second] = project.history(path === tasksFile ? change : 'story');
    expect(first!.rejected).toContain('1 open task: "Build it"');
    expect(second!.rejected).toBeNull();
  });

  test('with a schema that names another task file', async () => {
    const schema = 'openspec/schemas/my/schema.yaml';
    const names = (file: string) => `apply:\n  tracks: ${file}\n`;
    const project = createProject({
      files: {
        'openspec/config.yaml': 'schema: my\n',
        [schema]: names('tasks.md'),
        'openspec/changes/c1/proposal.md': '# C1\n',
        'openspec/changes/c1/tasks.md': '- [ ] a\n',
      },
      agent: [
        `echo '- [x] all' > openspec/changes/c1/other.md; printf '${names('other.md').replaceAll('\n', '\\n')}' > ${schema}`,
        promise,
      ],
    });
    const once = ['ralph', 'c1', '--require-tasks', '--max-iterations', '1'];

    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    expect(await project.spool(...once)).toMatchObject({ code: 3 });
    expect(project.history('c1')[1]!.rejected).toContain('schema.yaml was changed');

    // What counts the tasks of the change now is not what the run has guarded.
    const edited = `c1: ${schema} was changed while an agent worked`;
    const listed = await project.spool('list');
    expect(listed.stderr).toContain(`${edited}. To accept it: spool accept c1\n`);
    const refused = `spool: ${edited}, so c1 was not archived. Restore it, or accept it with: spool accept c1\n`;
    expect(await project.spool('archive', 'c1')).toMatchObject({ code: 2, stderr: refused });
    const allowed = await project.spool(...once, '--allow-tampering');
    expect(allowed).toMatchObject({ code: 0 });
    expect(await project.spool('archive', 'c1', '--no-specs')).toMatchObject({ code: 2, stderr: refused });
    expect(await project.spool('accept', 'c1')).toMatchObject({ code: 0 });
    expect((await project.spool('list')).stderr).toBe('');
    expect(await project.spool('archive', 'c1', '--no-specs')).toMatchObject({ code: 0 });
  });
});

import { execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, spoolProgram } from '../support/project.ts';
import { createSandboxedProject, oneUser, sandboxProblem, users } from '../support/sandbox.ts';

/** Ways out of a sandbox: programs that Spool runs outside, and files that its parent process has open. */

const problem = sandboxProblem();

test('reports what is skipped', () => {
  if (problem !== null)
    process.stderr.write(`\nSKIPPED: ways out of the sandbox by PATH and open files (${problem})\n`);
});

const run = (...more: string[]) => ['ralph', 'Go.', '--change', change, '--allow-all', ...more];

interface Opened {
  readonly path: string;
  readonly flags: 'r' | 'a';
}

/** Starts Spool with open files, by descriptor. */
const startWith = async (
  opened: Readonly<Record<number, Opened>>,
  { command, cwd, env }: { command: readonly string[]; cwd: string; env: NodeJS.ProcessEnv },
): Promise<number | null> => {
  const stdio: Exclude<StdioOptions, string> = ['ignore', 'ignore', 'ignore'];
  for (const [number, { path, flags }] of Object.entries(opened)) {
    const file = openSync(path, flags);
    onTestFinished(() => closeSync(file));
    while (stdio.length < Number(number)) stdio.push('ignore');
    stdio[Number(number)] = file;
  }
  const [program = '', ...args] = command;
  const [code] = (await once(spawn(program, args, { cwd, env, stdio }), 'exit')) as [number | null];
  return code;
};

/** Some that Node closes in child processes by itself, and others. */
const numbers = [3, 14, 17, 40, 200, 1000];

test.skipIf(process.platform !== 'linux')(
  'child processes do not inherit files that were open when Spool started',
  async () => {
    const notes = (who: string) => `ls -l /proc/self/fd > "$HOME/${who}.fds"`;
    const project = createProject({ agent: [`${notes('agent')}; echo a > a.txt; ${promise}`] });
    const hook = project.path('.git/hooks/pre-commit');
    writeFileSync(hook, `#!/bin/sh\n${notes('hook')}\n`);
    chmodSync(hook, 0o755);
    const lock = join(project.home, 'lock');
    writeFileSync(lock, '');
    const opened = Object.fromEntries(numbers.map((number) => [number, { path: lock, flags: 'a' as const }]));
    const command = [process.execPath, spoolProgram, ...run('--verify', notes('verify'), '--notify', notes('notify'))];

    expect(await startWith(opened, { command, cwd: project.folder, env: project.env })).toBe(0);

    for (const who of ['agent', 'hook', 'verify', 'notify'])
      expect(`${who}: ${readFileSync(join(project.home, `${who}.fds`), 'utf8')}`).not.toContain(lock);
  },
);

describe.each(problem === null ? users() : [])('as $title', (user) => {
  test('git and notify do not run a program that an agent puts on PATH', async () => {
    const bin = 'node_modules/.bin';
    const names = ['git-lfs', 'tell', 'cat'];
    const plant = `for name in ${names.join(' ')}; do
      printf '#!/bin/sh\\ntouch "$OUTSIDE/%s"\\nexec /bin/cat\\n' $name > ${bin}/$name; chmod +x ${bin}/$name; done
      echo '*.bin filter=lfs' > .gitattributes; echo x > x.bin; touch "$OUTSIDE/direct"; ${promise}`;
    const project = createSandboxedProject(user, { agent: [plant] });
    mkdirSync(project.path(bin), { recursive: true });
    const [outside, own] = [project.victims.other, join(project.home, 'bin')];
    mkdirSync(own);
    for (const name of ['git-lfs', 'tell']) {
      writeFileSync(join(own, name), `#!/bin/sh\ntouch "$HOME/${name}.good"\ncat\n`);
      chmodSync(join(own, name), 0o755);
    }
    const config = join(project.home, '.gitconfig');
    writeFileSync(config, `${readFileSync(config, 'utf8')}[filter "lfs"]\n\tclean = git-lfs clean -- %f\n`);
    const PATH = `${project.path(bin)}:${own}:${project.env.PATH}`;

    const { result } = project.start(run('--sandbox', '--notify', 'tell'), { PATH, OUTSIDE: outside });

    expect(await result).toMatchObject({ code: 0 });
    expect(project.victims.planted()).toEqual([]);
    expect(readdirSync(project.home).filter((name) => name.endsWith('.good'))).toEqual(['git-lfs.good', 'tell.good']);
  });

  test('files that were open when Spool started are not accessible', async () => {
    const tries = numbers.map(
      (
        number,
      ) => `cat /proc/self/fd/${number}/.aws/credentials >> got.txt; cat /proc/1/fd/${number}/.aws/credentials >> got.txt
        echo x > /proc/self/fd/${number}/planted; echo x >> /proc/self/fd/${number + 1}`,
    );
    const project = createSandboxedProject(user, { agent: [`touch got.txt; ${tries.join('\n')}; ${promise}`] });
    // Changes the owner of the files to that user.
    await project.spool('list');
    const [home, temporary] = [project.home, project.victims.files.temporary];
    const opened = Object.fromEntries(
      numbers.flatMap((number): [number, Opened][] => [
        [number, { path: home, flags: 'r' }],
        [number + 1, { path: temporary, flags: 'a' }],
      ]),
    );
    const command = [...user.prefix, process.execPath, spoolProgram, ...run('--sandbox')];
    const env = { ...project.env, SPOOL_SANDBOX_WRITE: join(home, 'agent') };

    expect(await startWith(opened, { command, cwd: project.folder, env })).toBe(0);

    expect(project.read('got.txt')).toBe('');
    expect(existsSync(join(home, 'planted'))).toBe(false);
    expect(readFileSync(temporary, 'utf8')).toBe('untouched\n');
  });
});

describe.each(problem === null ? [oneUser()] : [])('notify, as $title', (user) => {
  const prepare = (notify: string, file: string, agent: (evil: string) => string) => {
    const project = createSandboxedProject(user, {});
    const touch = `touch '${project.victims.other}/by-notify'`;
    const evil = {
      js: `require('fs').writeFileSync('${project.victims.other}/by-notify', '')\n`,
      mk: `all:\n\t${touch}\n`,
    }[file.split('.')[1] ?? ''];
    mkdirSync(join(project.folder, 'tools'));
    writeFileSync(project.path(file), file.endsWith('.mk') ? 'all:\n\ttrue\n' : '');
    chmodSync(project.path(file), 0o755);
    writeFileSync(join(project.home, 'agent', 'evil'), evil ?? `#!/bin/sh\n${touch}\n`);
    writeFileSync(join(project.home, 'agent', '1.sh'), agent(`cat "$HOME/agent/evil" > ${file}; ${promise}`));
    return project.spool(...run('--sandbox', '--notify', notify)).then((result) => ({ project, result }));
  };

  test.each([
    ['node tools/x', 'tools/x.js'],
    ['node tools', 'tools/index.js'],
    ['sh tools/[x].sh', 'tools/x.sh'],
    ['trap "sh tools/x.sh" EXIT', 'tools/x.sh'],
    ['sh <<END\nsh tools/x.sh\nEND', 'tools/x.sh'],
    ['echo "sh tools/x.sh" | sh', 'tools/x.sh'],
    ['PATH=$PWD/tools:$PATH tell', 'tools/tell'],
    ['make -fx.mk', 'x.mk'],
    ['cp tools/x.sh "$HOME/copy.sh"; sh "$HOME/copy.sh"', 'tools/x.sh'],
  ])('does not run a script that the agent has changed: %s', async (notify, file) => {
    const { project, result } = await prepare(notify, file, (evil) => evil);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain(`notify was not run: ./${file} was changed during the run.`);
    expect(project.victims.planted()).toEqual([]);
  });

  test('does not run a changed script behind a link or in another script', async () => {
    const project = createSandboxedProject(user, {});
    for (const folder of ['tools', 'lib']) mkdirSync(join(project.folder, folder));
    symlinkSync('../lib/linked.sh', project.path('tools/linked.sh'));
    writeFileSync(project.path('lib/linked.sh'), 'python3 lib/inner.py\n');
    writeFileSync(project.path('lib/inner.py'), '');
    const payload = `open('${project.victims.other}/by-notify', 'w')`;
    const agents = [`echo 'exit 0' >> lib/linked.sh; ${promise}`, `echo "${payload}" > lib/inner.py; ${promise}`];
    agents.forEach((script, index) => writeFileSync(join(project.home, 'agent', `${index + 1}.sh`), script));

    const notify = ['--sandbox', '--notify', 'sh tools/linked.sh', '--fresh'];
    const [first, second] = [await project.spool(...run(...notify)), await project.spool(...run(...notify))];

    expect(first.stderr).toContain('notify was not run: ./tools/linked.sh was changed during the run.');
    expect(second.stderr).toContain('notify was not run: ./lib/inner.py was changed during the run.');
    expect(project.victims.planted()).toEqual([]);
  });

  test.each(["node -e \"require('./too' + 'ls/x.js')\"", "echo node too''ls/x.js | tr x x | sh"])(
    'does not run after changes if Spool cannot see what it runs: %s',
    async (notify) => {
      const { project, result } = await prepare(notify, 'tools/x.js', (evil) => evil);

      expect(result).toMatchObject({ code: 0 });
      expect(result.stderr).toMatch(
        /notify was not run: .*(?:cannot see all files that it runs|tools\/x\.js was changed)/,
      );
      expect(project.victims.planted()).toEqual([]);
    },
  );

  /** What the project has, and what the agent changes, besides which it writes nothing. */
  const hidden: [string, (project: string) => Record<string, string>, string][] = [
    [
      'a script in the git folder of a nested repository',
      () => ({
        'sub/.git/tell.sh': 'true\n',
        'run.js': `require('child_process').execSync('sh sub/.g' + 'it/tell.sh')\n`,
      }),
      'sub/.git/tell.sh',
    ],
    [
      'a script that a long script names by its absolute path',
      (project) => ({
        'tell.sh': 'true\n',
        'run.js': `${'// padding\n'.repeat(100_000)}require('child_process').execSync('sh ${project}/tell.sh')\n`,
      }),
      'tell.sh',
    ],
    [
      'a script whose name is not UTF-8, which is not copied',
      () => ({ 'run.js': `require('child_process').execSync('for f in t*/*.sh; do sh "$f"; done')\n` }),
      `"$(printf 'tools/\\377').sh"`,
    ],
  ];

  test.each(hidden)('does not run %s after an agent has changed it', async (_, filesIn, changed) => {
    const project = createSandboxedProject(user, {});
    const files = filesIn(project.folder);
    for (const [name, text] of Object.entries(files)) project.write(name, text);
    execFileSync('sh', ['-c', `mkdir -p tools; [ -e ${changed} ] || echo true > ${changed}`], { cwd: project.folder });
    if (user.prefix.length > 0) execFileSync('chown', ['-R', '--reference=.', '.'], { cwd: project.folder });
    const touch = `touch '${project.victims.other}/by-notify'`;
    writeFileSync(join(project.home, 'agent', '1.sh'), `echo "${touch}" > ${changed}; ${promise}`);

    const notify = changed.startsWith('sub') ? 'node -e "require(\'./run.js\')"' : 'node run.js; sh tools/*.sh';
    const result = await project.spool(...run('--sandbox', '--notify', notify));

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('notify was not run');
    expect(project.victims.planted()).toEqual([]);
  });

  const shell = (text: string) => `printf '%s\\n' '#!/bin/sh' '${text}'`;
  const python = `printf 'import os\\nopen(os.environ["VICTIM"], "w")\\n'`;
  const node = `echo 'require("fs").writeFileSync(process.env.VICTIM, "")'`;
  const bin = 'node_modules/.bin/tell';

  /** Files of the project, the command, and what an agent does so that the command runs code of the agent. */
  const attacks: Readonly<Record<string, { files?: Record<string, string>; notify: string; agent: string }>> = {
    'npx, with a changed program': {
      files: { [bin]: '#!/bin/sh\ntrue\n' },
      notify: 'npx --no-install tell',
      agent: `${shell('touch "$VICTIM"')} > ${bin}`,
    },
    'npx, with a new program': {
      notify: 'npx --no-install tell',
      agent: `mkdir -p node_modules/.bin; ${shell('touch "$VICTIM"')} > ${bin}; chmod +x ${bin}`,
    },
    'a package.json script that runs a changed program': {
      files: { 'package.json': '{"scripts":{"tell":"tell"}}', [bin]: '#!/bin/sh\ntrue\n' },
      notify: 'npm run tell',
      agent: `${shell('touch "$VICTIM"')} > ${bin}`,
    },
    'a script that runs npx': {
      files: { 'tools/tell.sh': 'npx --no-install tell\n', [bin]: '#!/bin/sh\ntrue\n' },
      notify: 'sh tools/tell.sh',
      agent: `${shell('touch "$VICTIM"')} > ${bin}`,
    },
    'a changed Python module': {
      files: { 'tools/tell.py': '' },
      notify: 'python3 -m tools.tell',
      agent: `${python} > tools/tell.py`,
    },
    'a package with the name of a standard module': {
      notify: 'python3 -m json.tool',
      agent: `mkdir json; ${python} > json/__init__.py; touch json/tool.py`,
    },
    'a module that a standard module imports': {
      files: { 'tools/tell.py': 'import json\n' },
      notify: 'python3 tools/tell.py',
      agent: `${python} > tools/re.py`,
    },
    'a package that a script requires': {
      files: { 'tools/tell.js': 'require("slack")\n', 'node_modules/slack/index.js': '' },
      notify: 'node tools/tell.js',
      agent: `${node} > node_modules/slack/index.js`,
    },
    'a file whose name a script computes': {
      files: { 'tools/tell.js': 'require("./" + ["help", "er"].join(""))\n', 'tools/helper.js': '' },
      notify: 'node tools/tell.js',
      agent: `${node} > tools/helper.js`,
    },
    'another part of a Makefile': {
      files: { Makefile: 'tell:\n\t@true\n' },
      notify: 'make tell',
      agent: `echo 'X := $(shell touch "$$VICTIM")' >> Makefile`,
    },
    'a makefile that replaces the one there is': {
      files: { Makefile: 'tell:\n\t@true\n' },
      notify: 'make tell',
      agent: `printf 'tell:\\n\\ttouch "$$VICTIM"\\n' > GNUmakefile`,
    },
    'a folder that an environment variable names': {
      files: { 'lib/sitecustomize.py': '' },
      notify: 'python3 -m json.tool',
      agent: `${python} > lib/sitecustomize.py`,
    },
    'a program on PATH that is linked to the project': {
      files: { 'tools/tell.sh': '#!/bin/sh\n. "$(dirname "$(readlink -f "$0")")/lib$SUFFIX"\n', 'tools/lib': 'true\n' },
      notify: 'linked',
      agent: `echo 'touch "$VICTIM"' > tools/lib`,
    },
    'a script by its absolute path': {
      files: { 'tools/tell.py': 'import json\n' },
      notify: 'python3 "$PROJECT/tools/tell.py"',
      agent: `${python} > tools/re.py`,
    },
    'a script in a folder that was opened with --sandbox-write': {
      notify: 'python3 "$HOME/agent/tell.py"',
      agent: `${python} > "$HOME/agent/re.py"`,
    },
    'a link in the place of a file that it writes': {
      notify: 'cat > told.json',
      agent: 'ln -s "$VICTIM" told.json',
    },
  };

  test.each(Object.entries(attacks))('runs nothing that an agent has written: %s', async (_, attack) => {
    const project = createSandboxedProject(user, {
      files: attack.files ?? {},
      agent: [`echo a > a.txt; ${attack.agent}; ${promise}`],
    });
    const own = join(project.home, 'bin');
    mkdirSync(own);
    symlinkSync(project.path('tools/tell.sh'), join(own, 'linked'));
    writeFileSync(join(project.home, 'agent', 'tell.py'), 'import json\n');
    for (const name of [bin, 'tools/tell.sh']) if (project.exists(name)) chmodSync(project.path(name), 0o755);
    const notify = attack.notify.replace('$PROJECT', project.folder);
    const env = {
      PATH: `${own}:${project.env.PATH}`,
      VICTIM: join(project.victims.other, 'by-notify'),
      PYTHONPATH: project.path('lib'),
      SUFFIX: '',
    };

    const result = await project.start(run('--sandbox', '--notify', notify), env).result;

    expect(result).toMatchObject({ code: 0 });
    expect(project.victims.planted()).toEqual([]);
  });

  /** Commands that do not depend on what an agent can write, with the files of the project that they use. */
  const harmless: Readonly<Record<string, { files?: Record<string, string>; notify: string }>> = {
    'programs on PATH': { notify: 'tell "$SPOOL_STATUS" > "$HOME/told"' },
    'a module of the standard library': { notify: 'python3 -m json.tool > "$HOME/told"' },
    'a shell script with a helper': {
      files: {
        'tools/tell.sh': 'cd "$(dirname "$0")" || exit 1\n. ./lib.sh\ntell_user "$SPOOL_STATUS"\n',
        'tools/lib.sh': 'tell_user() { echo "$1" > "$HOME/told"; }\n',
      },
      notify: 'sh tools/tell.sh',
    },
    'a Node script with a helper': {
      files: {
        'tools/tell.mjs': `import { tell } from './lib.mjs';\ntell();\n`,
        'tools/lib.mjs': `import { writeFileSync } from 'node:fs';
          export const tell = () => writeFileSync(process.env.HOME + '/told', process.env.SPOOL_STATUS);\n`,
      },
      notify: 'node tools/tell.mjs',
    },
    'a Python module of the project': {
      files: { 'tools/tell.py': 'import os\nopen(os.environ["HOME"] + "/told", "w").write("told")\n' },
      notify: 'python3 -m tools.tell',
    },
    'a rule of a Makefile': { files: { Makefile: 'tell:\n\techo told > "$$HOME/told"\n' }, notify: 'make tell' },
  };

  test.each(Object.entries(harmless))('runs after changes to other files: %s', async (_, { files = {}, notify }) => {
    const project = createSandboxedProject(user, { files, agent: [`echo a > a.txt; ${promise}`] });
    const own = join(project.home, 'bin');
    mkdirSync(own);
    writeFileSync(join(own, 'tell'), '#!/bin/sh\necho "$@"\n');
    chmodSync(join(own, 'tell'), 0o755);

    const result = await project.start(run('--sandbox', '--notify', notify), { PATH: `${own}:${project.env.PATH}` })
      .result;

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).not.toContain('notify');
    expect(readFileSync(join(project.home, 'told'), 'utf8')).not.toBe('');
    expect(readdirSync(join(project.home, '.local/state/spool/tmp'))).toEqual([]);
  });

  test('reports files that the command writes to its temporary folder', async () => {
    const { result } = await prepare('cat > told.json', 'tools/x.js', () => `echo a > a.txt; ${promise}`);

    expect(result.stderr).toContain('notify wrote told.json to a temporary folder, which was deleted');
  });

  test('says in which folder the command ran if it fails', async () => {
    const { result } = await prepare('ls a.txt', 'tools/x.js', () => `echo a > a.txt; ${promise}`);

    expect(result.stderr).toContain('the --notify command failed');
    expect(result.stderr).toContain('With --sandbox it runs in a temporary folder');
  });

  test.each([
    [
      'that Spool understands, after changes',
      'cat > "$HOME/told"; echo "$SPOOL_STATUS" >> "$HOME/told"',
      'echo a > a.txt',
    ],
    ['that Spool does not understand, without changes', 'echo "cat > $HOME/told" | sh', 'true'],
  ])('runs a command %s', async (_, notify, work) => {
    const { project, result } = await prepare(notify, 'tools/x.js', () => `${work}; ${promise}`);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).not.toContain('notify was not run');
    expect(existsSync(join(project.home, 'told'))).toBe(true);
  });
});

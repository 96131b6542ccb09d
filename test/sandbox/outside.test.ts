import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, spoolProgram } from '../support/project.ts';
import { createSandboxedProject, sandboxProblem, users } from '../support/sandbox.ts';

/** What leads out of a sandbox: programs that Spool runs outside of it, and files that its caller has open. */

const problem = sandboxProblem();

test('what was left out is said', () => {
  if (problem !== null)
    process.stderr.write(`\nLEFT OUT: ways out of the sandbox by PATH and open files (${problem})\n`);
});

const run = (...more: string[]) => ['ralph', 'Go.', '--change', change, '--allow-all', ...more];

interface Opened {
  readonly path: string;
  readonly flags: 'r' | 'a';
}

/** Starts Spool with files that are open already, by their numbers. */
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

/** In numbers that Node closes in children by itself, and in others. */
const numbers = [3, 14, 17, 40, 200, 1000];

test.skipIf(process.platform !== 'linux')('no process gets a file that was open when Spool was started', async () => {
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
});

describe.each(problem === null ? users() : [])('run by $title', (user) => {
  test('a program that an agent puts on PATH is run by neither git nor notify', async () => {
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

  test('files that are open when Spool is started cannot be reached', async () => {
    const tries = numbers.map(
      (
        number,
      ) => `cat /proc/self/fd/${number}/.aws/credentials >> got.txt; cat /proc/1/fd/${number}/.aws/credentials >> got.txt
        echo x > /proc/self/fd/${number}/planted; echo x >> /proc/self/fd/${number + 1}`,
    );
    const project = createSandboxedProject(user, { agent: [`touch got.txt; ${tries.join('\n')}; ${promise}`] });
    // Prepares the files for that user.
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

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { change, createProject, spoolProgram } from '../support/project.ts';

interface Shell {
  readonly args: readonly string[];
  /** Installs the completion. */
  readonly install: string;
}

const shells: Readonly<Record<string, Shell>> = {
  bash: { args: ['--norc', '--noprofile', '-i'], install: 'eval "$(spool completion bash)"' },
  zsh: {
    args: ['-f', '-i'],
    install: 'autoload -U compinit && compinit -u -D && eval "$(spool completion zsh)"',
  },
  fish: { args: ['--no-config', '-i'], install: 'spool completion fish | source' },
};

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;
const missing = Object.keys(shells).filter((shell) => !isInstalled(shell));

test('the shells are installed, or the report says which are left out', ({ annotate }) =>
  missing.length === 0 ? undefined : void annotate(`left out, as it is not installed: ${missing.join(', ')}`));

/** A project, and a `spool` on PATH that only records its arguments, but completes. */
const createProjectWithSpool = () => {
  const project = createProject({
    files: {
      '.spool/changes/003-01_other/proposal.md': '# Other\n',
      // Would run something if the shell took it for more than a name.
      '.spool/changes/004-01_$(touch pwned)/proposal.md': '# Evil\n',
      '.spool/config.json': '{ "harnesses": { "tailored": { "command": "sh" } } }',
      'notes.md': '',
    },
  });
  const bin = join(project.home, 'bin');
  mkdirSync(bin);
  const calls = join(project.home, 'calls');
  writeFileSync(
    join(bin, 'spool'),
    `#!/bin/sh
case "$1 $2" in
  "__complete "*|completion\\ [bzf]*) exec '${process.execPath}' '${spoolProgram}' "$@" ;;
  *) echo "$*" >> '${calls}' ;;
esac
`,
  );
  chmodSync(join(bin, 'spool'), 0o755);
  return {
    ...project,
    env: { ...project.env, PATH: `${bin}:${project.env.PATH}` },
    /** The arguments of each call that is not about completion. */
    called: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trimEnd().split('\n') : []),
  };
};

/** An interactive shell in a pseudo-terminal, with the completion installed. */
const openShell = async (name: string, project: ReturnType<typeof createProjectWithSpool>) => {
  const { args, install } = shells[name]!;
  const env = { ...project.env, TERM: 'xterm-256color', HISTFILE: '/dev/null' };
  const pty = spawn(name, [...args], { cwd: project.folder, env, cols: 160, rows: 40 });
  let output = '';
  pty.onData((data) => (output += data));
  onTestFinished(() => pty.kill('SIGKILL'));
  pty.write(`${install}\r`);
  return {
    /** Types a line and presses Tab and Enter. Returns the arguments with which Spool was called. */
    complete: async (typed: string): Promise<string> => {
      const number = project.called().length;
      pty.write(`${typed}\t\r`);
      await eventually(() => project.called().length > number, `"${typed}" to be run; the shell says: ${output}`);
      return project.called().at(-1)!;
    },
  };
};

describe.each(Object.keys(shells).filter(isInstalled))('%s', (name) => {
  test('completes commands, flags, values, changes, modules, agents and files', async () => {
    const project = createProjectWithSpool();
    const before = readdirSync(project.folder, { recursive: true }).toSorted();
    const { complete } = await openShell(name, project);

    expect(await complete('spool comple')).toBe('completion');
    expect(await complete('spool config uns')).toBe('config unset');
    expect(await complete('spool ralph --max-it')).toBe('ralph --max-iterations');
    expect(await complete('spool loo')).toBe('loop');
    expect(await complete('spool age')).toBe('agents');
    expect(await complete('spool ralph --yo')).toBe('ralph --yolo');
    expect(await complete('spool ralph --agent')).toBe('ralph --agent');
    expect(await complete('spool ralph --change 002')).toBe(`ralph --change ${change}`);
    expect(await complete('spool ralph --change=003')).toBe('ralph --change=003-01_other');
    expect(await complete('spool diff 003')).toBe('diff 003-01_other');
    expect(await complete('spool ralph --module 00')).toBe('ralph --module 002_ralph');
    expect(await complete('spool ralph --agent tail')).toBe('ralph --agent tailored');
    expect(await complete('spool ralph --notify nt')).toBe('ralph --notify ntfy:');
    expect(await complete('spool ralph --prompt-file note')).toBe('ralph --prompt-file notes.md');
    expect(await complete('spool config set failFast t')).toBe('config set failFast true');
    // Not completed: the shell would take the name for a command.
    expect(await complete('spool show 004')).toBe('show 004');

    expect(readdirSync(project.folder, { recursive: true }).toSorted()).toEqual(before);
  });
});

describe('the hidden command of the scripts', () => {
  test.each([
    ['outside a project', { '.spool/modules/002_ralph/module.md': null }, ['bash', 'ralph', '--change', '']],
    ['with a broken config.json', { '.spool/config.json': '{' }, ['zsh', 'ralph', '--harness', 'x']],
    ['without words', {}, []],
    ['with an unknown command', {}, ['fish', 'nothing', '']],
  ])('prints no error %s', async (_, files, words) => {
    const project = createProject({ files: { ...files, [`.spool/changes/${change}/proposal.md`]: null } });
    expect(await project.spool('__complete', ...words)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    // bash splits at `=` and `:`, and has the part before already.
    [['bash', 'ralph', '--change', '=', '002'], `${change}\t`],
    [['bash', 'ralph', '--notify', 'slack', ':', 'ht'], 'https://\t'],
    [['bash', 'ralph', '--notify', 'slack', ':'], 'https://\t'],
    [['zsh', 'ralph', '--change=002'], `${change}\t`],
    [['fish', 'ralph', '--change=002'], `--change=${change}\t`],
    [['fish', 'ralph', '--agent', 'claude,'], 'claude,opencode\t'],
  ])('%j answers %j', async (words, expected) => {
    const { stdout } = await createProject().spool('__complete', ...words);
    expect(stdout.split('\n').map((line) => line.slice(0, expected.length))).toContain(expected);
  });
});

test.each([
  [[''], ['ralph', 'harnesses'], ['loop', 'agents']],
  [['l'], ['list', 'loop'], []],
  [
    ['ralph', '--'],
    ['--harness', '--allow-all'],
    ['--agent', '--yolo'],
  ],
  [['ralph', '--a'], ['--agent', '--agent-mode', '--allow-all'], []],
  [['loop', '--yolo', '--'], ['--harness'], ['--allow-all', '--yolo']],
])('%j offers an alias only to someone who types it', async (words, offered, missingHere) => {
  const { stdout } = await createProject().spool('__complete', 'fish', ...words);
  const values = stdout.split('\n').map((line) => line.split('\t')[0]);
  expect(values).toEqual(expect.arrayContaining(offered));
  for (const value of missingHere) expect(values).not.toContain(value);
});

test('an unknown shell is an error', async () => {
  expect(await createProject().spool('completion', 'tcsh')).toMatchObject({
    code: 2,
    stderr: 'spool: shell must be bash, zsh or fish (got "tcsh").\n',
  });
});

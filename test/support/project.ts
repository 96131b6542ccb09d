import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { IterationRecord } from '../../src/ralph/record.ts';
import type { RunView } from '../../src/ralph/view.ts';
import { eventually } from './eventually.ts';
import { killProcessesWith } from './processes.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const spoolProgram = join(root, 'dist', 'spool.cjs');
const scriptedAgents = join(root, 'test', 'fixtures', 'bin');

/** The change in the scenarios of the specification. */
export const change = '002-01_add-ralph-loop';

export interface Result {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProjectOptions {
  /** Files by path, in addition to the standard ones. null omits a standard file. */
  readonly files?: Record<string, string | null>;
  /** Shell scripts of the agent for its first call, second call, and so on. The last one is repeated. */
  readonly agent?: readonly string[];
  readonly git?: boolean;
  /** Do not trust the project. */
  readonly untrusted?: boolean;
}

/** A real project in a temporary folder, with a scripted agent on PATH and its own HOME. Deleted after the test. */
export const createProject = ({ files = {}, agent = [], git = true, untrusted = false }: ProjectOptions = {}) => {
  const base = mkdtempSync(join(tmpdir(), 'spool-test-'));
  onTestFinished(() => {
    // A failed test may have left a loop running.
    if (process.platform === 'linux') killProcessesWith(`HOME=${join(base, 'home')}`);
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
  const home = join(base, 'home');
  const folder = join(base, 'project');
  const path = (name: string) => join(folder, name);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  };

  mkdirSync(folder);
  for (const [name, text] of Object.entries({ ...standardFiles, ...files })) if (text !== null) write(name, text);
  mkdirSync(join(home, 'agent'), { recursive: true });
  agent.forEach((script, index) => writeFileSync(join(home, 'agent', `${index + 1}.sh`), script));
  writeFileSync(join(home, '.gitconfig'), gitConfig);

  const env = {
    ...loginShell,
    PATH: `${scriptedAgents}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    PWD: folder,
    NO_COLOR: '1',
    TZ: 'UTC',
    // The scripted agent does not speak ACP.
    SPOOL_AGENT_MODE: 'cold',
  };
  const runGit = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim();
  // One process: starting one from a test worker costs more than git itself.
  if (git) execFileSync('sh', ['-c', createRepository], { cwd: folder, env });

  const start = (args: readonly string[], options: { env?: Record<string, string>; cwd?: string } = {}) => {
    const cwd = options.cwd === undefined ? folder : path(options.cwd);
    return startProcess(process.execPath, [spoolProgram, ...args], { cwd, env: { ...env, PWD: cwd, ...options.env } });
  };

  /** Trusts the project, like a user. */
  const trust = () => spawnSync(process.execPath, [spoolProgram, 'trust', '--yes'], { cwd: folder, env });
  if (!untrusted && runsSomething(files)) trust();

  const stateFile = (name: string, id = change) => path(`.spool/.state/ralph/${id}/${name}`);
  return {
    folder,
    home,
    env,
    path,
    write,
    stateFile,
    trust,
    git: runGit,
    read: (name: string) => readFileSync(path(name), 'utf8'),
    exists: (name: string) => existsSync(path(name)),
    /** Starts Spool and leaves it running. */
    start,
    /** Runs Spool to its end. */
    spool: (...args: string[]) => start(args).result,
    /** The input of the agent in each call. */
    calls: () => readCalls(join(home, 'agent')),
    history: (id = change): IterationRecord[] =>
      existsSync(stateFile('history.jsonl', id))
        ? readFileSync(stateFile('history.jsonl', id), 'utf8')
            .split('\n')
            // The last line may be incomplete.
            .slice(0, -1)
            .map((line) => JSON.parse(line) as IterationRecord)
        : [],
    state: (id = change) => JSON.parse(readFileSync(stateFile('state.json', id), 'utf8')) as RunView,
    /** Edits state.json and the record of the run, as if it had been started like this. */
    startedLike: (edit: (view: RunView) => object) => {
      const view = JSON.parse(readFileSync(stateFile('state.json'), 'utf8')) as RunView;
      writeFileSync(stateFile('state.json'), JSON.stringify(edit(view)));
      const projects = join(home, '.local/state/spool/projects');
      const known = join(projects, readdirSync(projects)[0]!, change, 'runs', `${view.run}.json`);
      const versions = JSON.parse(readFileSync(known, 'utf8')) as RunView[];
      writeFileSync(known, JSON.stringify(versions.map(edit)));
    },
  };
};

const runsSomething = (files: Record<string, string | null>): boolean =>
  '.worktreeinclude' in files ||
  /"(?:harnesses|verify|notify|setup|worktreeSetup|allow)"/.test(files['.spool/config.json'] ?? '');

export type TestProject = ReturnType<typeof createProject>;

/** A child process with its output so far. */
export const startProcess = (
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
) => {
  const child: ChildProcess = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const result = new Promise<Result>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (/\(node:\d+\)/.test(stderr)) reject(new Error(`a warning of Node: ${stderr}`));
      else resolve({ code, signal, stdout, stderr });
    });
  });
  return {
    pid: child.pid!,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    result,
    output: () => stdout + stderr,
    /** Resolves once this text is printed. Fails if the process exits without it. */
    printed: (text: string) =>
      Promise.race([
        eventually(() => (stdout + stderr).includes(text), `"${text}" to be printed`),
        result.then((end) => {
          if (!(stdout + stderr).includes(text)) throw new Error(`ended without "${text}": ${JSON.stringify(end)}`);
        }),
      ]),
  };
};

/** Variables of a login shell and an npm script. An empty environment would hide what programs do with them. */
const loginShell = {
  SHELL: '/bin/sh',
  SHLVL: '1',
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
  LOGNAME: 'tester',
  USER: 'tester',
  OLDPWD: tmpdir(),
  INIT_CWD: tmpdir(),
  npm_command: 'run-script',
  npm_lifecycle_event: 'start',
  npm_lifecycle_script: 'spool',
  npm_execpath: '/usr/lib/node_modules/npm/bin/npm-cli.js',
  npm_package_name: 'somebody',
  npm_config_prefix: '/usr',
  NODE: process.execPath,
};

const standardFiles: Record<string, string> = {
  [`.spool/changes/${change}/proposal.md`]: '# Add the loop\n\nThe proposal of the loop.\n',
  '.spool/modules/002_ralph/module.md': '# Ralph\n\nThe purpose of the module.\n',
  'README.md': 'A project.\n',
};

/** The files of a project in a subfolder of its repository. */
export const inFolder = (folder: string): Record<string, string | null> =>
  Object.fromEntries(
    Object.entries(standardFiles).flatMap(([name, text]) => [
      [name, null],
      [`${folder}/${name}`, text],
    ]),
  );

const createRepository = 'git init --quiet && git add --all && git commit --quiet --allow-empty -m start';

const gitConfig = `[user]
	name = Tester
	email = tester@example.com
[init]
	defaultBranch = main
`;

const readCalls = (folder: string) => {
  const numbers = readdirSync(folder)
    .map((name) => /^call-(\d+)$/.exec(name)?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .toSorted((a, b) => a - b);
  return numbers.map((number) => {
    const read = (name: string) => readFileSync(join(folder, `call-${number}`, name), 'utf8');
    return {
      prompt: read('prompt'),
      args: read('args').trimEnd().split('\n'),
      env: Object.fromEntries(
        read('env')
          .split('\n')
          .map((line) => line.split(/=(.*)/s).slice(0, 2)),
      ) as Record<string, string>,
    };
  });
};

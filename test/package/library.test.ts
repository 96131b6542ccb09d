import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nodeProgram } from '../../scripts/agents.mjs';
import { createAgentProject, twoIterations } from '../support/agent.ts';
import { promise, says } from '../support/agents.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root, startProcess, type TestProject } from '../support/project.ts';

let folder: string;

/** Another version of Node that the library supports. */
const otherVersion = '22.23.3';

/** Its program, or the reason why it cannot be run. */
let otherNode: string | Error;

const installNode = (version: string): string | Error => {
  try {
    const program = nodeProgram(version);
    execFileSync(program, ['--version']);
    return program;
  } catch (error) {
    process.stderr.write(`The library is not tested on Node ${version}, which cannot be installed: ${error}\n`);
    return error as Error;
  }
};

/** The programs in docs/library.md, by name. */
const programs = new Map(
  [...readFileSync(join(root, 'docs/library.md'), 'utf8').matchAll(/```ts\n\/\/ (\w+)\.ts\n(.*?)```/gs)].map(
    ([, name, text]) => [name!, text!],
  ),
);

const refusals = `
import { readFileSync } from 'node:fs';
import { openProject, startRun, stopRun } from 'spool-ralph';

const project = openProject(process.cwd());
const attempts = [
  () => startRun({ project, change: '002-01', settings: { maxIterations: 0 } }),
  () => startRun({ project, change: '002-01', settings: { minIterations: 7, maxIterations: 3 } }),
  () => startRun({ project, change: '002-01', settings: { maxTurns: 3 } }),
  () => startRun({ project, change: '999' }),
];
for (const attempt of attempts)
  await attempt().catch((error: Error) => console.log(error.name, error.message));
console.log(await stopRun(project, '002-01'));
const asleep = new AbortController();
const stopped = await startRun({
  project,
  change: '002-01',
  agents: {
    sleeper: ({ signal }) => {
      setImmediate(() => asleep.abort());
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  },
  signal: asleep.signal,
});
console.log(stopped.reason, stopped.detail);
let emitLate = () => {};
const stopping = new AbortController();
const ignored = await startRun({
  project,
  change: '002-01',
  settings: { fresh: true },
  agents: {
    deaf: ({ emit }) => {
      emitLate = () => emit({ type: 'text', text: 'too late', plain: false });
      stopping.abort();
      return new Promise(() => {});
    },
  },
  signal: stopping.signal,
});
console.log(ignored.reason);
emitLate();
const log = readFileSync(\`.spool/.state/ralph/\${ignored.view.change}/runs/\${ignored.view.run}/0001.log\`, 'utf8');
console.log(log.includes('too late'));
`;

const twoRuns = `
import { openProject, startRun } from 'spool-ralph';

const results = await Promise.all(
  process.argv.slice(2).map((folder, index) =>
    startRun({
      project: openProject(folder),
      change: '002-01',
      env: { ...process.env, WHO: \`run \${index}\` },
      settings: { verify: [\`test "$WHO" = "run \${index}"\`], maxIterations: 2 },
      agents: { who: ({ env }) => \`I am \${env.WHO}.\\n\\n<promise>COMPLETE</promise>\` },
    }),
  ),
);
for (const { reason } of results) console.log(reason);
`;

const twoHomes = `
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProject, startRun } from 'spool-ralph';

const setting = '[filter "spy"]\\n\\tclean = touch ran; cat\\n';
const both = process.argv.slice(2).map((folder, index) => ({ folder, home: join(process.env.HOME!, 'home-' + index) }));
for (const { home } of both) mkdirSync(home);
const runs = both.map(({ folder, home }, index) =>
  startRun({
    project: openProject(folder),
    change: '002-01',
    env: { ...process.env, HOME: home },
    settings: { maxIterations: 2 },
    agents: {
      writer: ({ cwd }) => {
        writeFileSync(join(cwd, 'part.txt'), 'part');
        if (index === 0) writeFileSync(join(home, '.gitconfig'), setting);
        return '<promise>COMPLETE</promise>';
      },
    },
    onEvent: (event) => {
      if (event.type === 'notice' && event.text.includes('during the run')) console.log(index, event.text);
      if (event.type === 'iteration-finished') console.log(index, event.record.git?.filesChanged ?? 'without git');
    },
  }),
);
await Promise.all(runs);
`;

const steered = `
import { openProject, pauseRun, resumeRun, startRun } from 'spool-ralph';

const project = openProject(process.cwd());
console.log(await pauseRun(project, '002-01'), await resumeRun(project, '002-01'));
let turns = 0;
const { reason } = await startRun({
  project,
  change: '002-01',
  agents: {
    worker: async () => {
      if (++turns === 1) console.log(await pauseRun(project, '002-01'));
      return turns === 1 ? 'One.' : '<promise>COMPLETE</promise>';
    },
  },
  onEvent: (event) => {
    if (event.type === 'paused' || event.type === 'resumed') console.log(event.type);
    if (event.type === 'paused') void resumeRun(project, '002-01');
  },
});
console.log(reason, turns);
`;

const realAgent = `
import { openProject, startRun } from 'spool-ralph';

const ends: string[] = [];
const { reason } = await startRun({
  project: openProject(process.cwd()),
  change: '002-01',
  prompt: 'Go.',
  settings: { harness: 'opencode', model: 'scripted/model', allowAll: true },
  onEvent: (event) => {
    if (event.type === 'iteration-finished') ends.push(event.record.end);
  },
});
console.log(reason, ends.join());
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-library-'));
  const env = { PATH: process.env.PATH, HOME: folder };
  const npm = (args: string[]) => execFileSync('npm', [...args, '--loglevel=error'], { cwd: root, env });
  const packed = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder]).toString(),
  ) as readonly [{ filename: string }];
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  npm(['install', '--offline', '--prefix', folder, join(folder, packed[0].filename)]);
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  symlinkSync(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
  for (const [name, text] of [
    ...programs,
    ['refusals', refusals],
    ['steered', steered],
    ['two-runs', twoRuns],
    ['two-homes', twoHomes],
    ['real-agent', realAgent],
  ])
    writeFileSync(join(folder, `${name}.ts`), text!);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = '--strict --module nodenext --target es2023 --types node'.split(' ');
  const files = [...programs.keys(), 'refusals', 'steered', 'two-runs', 'two-homes', 'real-agent'].map(
    (name) => `${name}.ts`,
  );
  execFileSync(process.execPath, [compiler, ...options, ...files], { cwd: folder, stdio: 'inherit' });
  otherNode = installNode(otherVersion);
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Runnable = Pick<TestProject, 'folder' | 'env'>;

const runOn = (node: string, project: Runnable, name: string, ...args: string[]) =>
  startProcess(node, [join(folder, `${name}.js`), ...args], { cwd: project.folder, env: project.env });

const run = (project: Runnable, name: string, ...args: string[]) => runOn(process.execPath, project, name, ...args);

test('docs/library.md has three programs', () => {
  expect([...programs.keys()]).toEqual(['run', 'function', 'follow']);
});

/** Defines the tests of the programs in docs/library.md. */
const onNode = (version: string, program: () => string | Error) =>
  describe(`on Node ${version}, a compiled program that uses the packed library`, () => {
    let node: string;

    beforeEach(async ({ annotate, skip }) => {
      const found = program();
      if (typeof found === 'string') {
        node = found;
        return;
      }
      await annotate(`left out, as Node ${version} cannot be installed: ${found.message}`);
      skip();
    });

    test('runs a change and prints its events', async () => {
      const project = createProject({ agent: [`echo a > a.txt; ${says('Hi.')}`, promise] });

      expect(await runOn(node, project, 'run').result).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^Iteration 1\n {2}1 files changed\nIteration 2\n {2}0 files changed\ncomplete: .* \(2 iterations\)\n$/,
        ),
        stderr: '',
      });
      expect(project.state()).toMatchObject({ status: 'complete', gate: { verify: ['true'] } });
    });

    test('runs an agent that is a function, with commits and checkpoints', async () => {
      const project = createProject({});

      expect(await runOn(node, project, 'function').result).toMatchObject({
        code: 0,
        stdout: 'complete after 2 iterations: part-1.txt, part-2.txt\n',
      });
      expect(project.history()).toMatchObject([
        { end: 'answered', exitCode: null, error: null, commit: expect.any(String), tools: { write: 1 } },
        { completionFound: true, checkpoint: expect.any(String) },
      ]);
      expect(project.git('log', '--format=%s').split('\n').length).toBeGreaterThan(2);
    });

    test('follows a run that another process started', async () => {
      const project = createProject({ agent: [`while [ ! -e go ]; do sleep 0.05; done; ${promise}`] });
      const loop = project.start(['ralph', '--change', change]);
      await loop.printed('Iteration 1');
      const follower = runOn(node, project, 'follow');
      await follower.printed('Iteration 1');
      project.write('go', '');

      expect(await follower.result).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Iteration 1\ncomplete: .*\n1 iterations, complete\n$/),
      });
      expect(await loop.result).toMatchObject({ code: 0 });
    });
  });

onNode(process.versions.node, () => process.execPath);
onNode(otherVersion, () => otherNode);

describe('a compiled program that uses the packed library', () => {
  test.runIf(process.platform === 'linux')(
    'runs the real OpenCode in its default mode, and leaves no process',
    async () => {
      const project = await createAgentProject('opencode', twoIterations, {}, null);

      expect(await run(project, 'real-agent').result).toMatchObject({
        code: 0,
        stdout: 'complete answered,answered\n',
      });

      expect(project.history()).toMatchObject([
        { end: 'answered', error: null, tools: { bash: 1 }, usage: { inputTokens: 2000 } },
        { end: 'answered', error: null, completionFound: true },
      ]);
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    },
  );

  test('pauses and resumes a run', async () => {
    expect(await run(createProject(), 'steered').result).toMatchObject({
      code: 0,
      stdout: 'false false\ntrue\npaused\nresumed\ncomplete 2\n',
    });
  });

  test('gets errors that name settings instead of flags, and can stop a run', async () => {
    const project = createProject({});

    const { stdout, code } = await run(project, 'refusals').result;

    const lines = stdout.trim().split('\n');
    expect(code).toBe(0);
    expect(lines.slice(0, 4).every((line) => line.startsWith('SpoolError '))).toBe(true);
    expect(stdout).not.toContain('--');
    expect(lines[0]).toContain('maxIterations must be');
    expect(lines[1]).toContain('minIterations 7');
    expect(lines[2]).toContain('There is no setting "maxTurns"');
    expect(lines[3]).toContain('No change "999"');
    expect(lines[4]).toBe('false');
    expect(lines.slice(5)).toEqual(['interrupted stopped by request', 'interrupted', 'false']);
  });

  test('can have two runs at the same time that share nothing', async () => {
    const [one, other] = [createProject({}), createProject({})];

    expect(await run(one, 'two-runs', one.folder, other.folder).result).toMatchObject({
      code: 0,
      stdout: 'complete\ncomplete\n',
    });
    for (const project of [one, other]) expect(project.state()).toMatchObject({ status: 'complete' });
  });

  test('watches the files in the home folder of each run', async () => {
    const [one, other] = [createProject({}), createProject({})];

    const { stdout, code } = await run(one, 'two-homes', one.folder, other.folder).result;

    expect(code).toBe(0);
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      expect.stringMatching(/^0 filter\.spy\.clean in .*\/home-0\/\.gitconfig was changed during the run/),
      '0 without git',
      '1 1',
    ]);
  });
});

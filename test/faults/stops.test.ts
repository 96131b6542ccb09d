import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { fewAtATime } from '../support/at-a-time.ts';
import {
  agent,
  endsByLimit,
  endsBySignal,
  endsSoon,
  hangs,
  ignoresSignals,
  landingEnds,
  run,
} from '../support/hanging-git.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

// More calls of each are tried by test/trials/hangs.trial.ts.

test.each([
  { title: 'a run', args: run, script: hangs, most: 4 },
  { title: 'a run, and ignores signals', args: run, script: ignoresSignals, most: 2 },
  { title: 'a run in a worktree', args: [...run, '--worktree'], script: hangs, most: 4 },
])('a git that hangs in $title does not outlast Ctrl-C', async (hanging) => {
  expect(await endsBySignal(hanging)).toBe(hanging.most);
});

test.each([
  { title: 'a run', args: run, script: hangs, most: 3 },
  { title: 'a run, and ignores signals', args: run, script: ignoresSignals, most: 2 },
])('a git that hangs in $title does not outlast --max-duration', async (hanging) => {
  expect(await endsByLimit(hanging)).toBe(hanging.most);
});

test('a git that hangs does not outlast Ctrl-C in a landing', () => fewAtATime([1, 4, 12], 3, landingEnds));

test.each(['proposal.md', 'tasks.md'])('a FIFO in the place of %s does not make Spool deaf to Ctrl-C', async (name) => {
  const file = `.spool/changes/${change}/${name}`;
  const project = createProject({ agent: [`rm -f ${file}; mkfifo ${file}; echo ready; sleep 1000`] });
  const loop = project.start(run);
  await loop.printed('ready');
  loop.kill('SIGINT');

  expect(await endsSoon(loop.result)).toMatchObject({ code: 130 });
});

test('a FIFO as the prompt file, or as context.txt, does not make Spool deaf to Ctrl-C', async () => {
  const project = createProject({ agent });
  execFileSync('mkfifo', [project.path('prompt.md')]);
  const loop = project.start(['ralph', '--change', change, '--prompt-file', 'prompt.md']);
  // Node has opened it when a writer finds a reader.
  execFileSync('sh', ['-c', 'exec 3> prompt.md'], { cwd: project.folder });
  loop.kill('SIGINT');
  await endsSoon(loop.result);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);

  mkdirSync(project.path(`.spool/.state/ralph/${change}`), { recursive: true });
  execFileSync('mkfifo', [project.stateFile('context.txt')]);
  expect(await endsSoon(project.spool(...run))).toMatchObject({ code: 2 });
});

/** Files of git that Spool reads or copies itself, beside those that git reads for it. */
const filesOfGit = ['info/exclude', 'HEAD', 'index', 'packed-refs', 'config', 'spool-index.json'];

const fifoAt = (path: string) => `rm -f ${path}; mkfifo ${path}`;

const outlastsNothing = async (name: string): Promise<void> => {
  const script = [`echo work > work.txt; ${fifoAt(`.git/${name}`)}; echo planted; ${promise}`];
  const limited = createProject({ agent: script });
  const interrupted = createProject({ agent: script });
  const loops = [limited.start([...run, '--max-duration', '3s']), interrupted.start(run)] as const;
  try {
    await loops[1].printed('planted');
    loops[1].kill('SIGINT');
    const [byLimit, bySignal] = await endsSoon(Promise.all(loops.map(({ result }) => result)));
    expect([0, 3], `${name}: ${byLimit!.stderr}`).toContain(byLimit!.code);
    expect([0, 130], `${name}: ${bySignal!.stderr}`).toContain(bySignal!.code);
    for (const { stderr } of [byLimit!, bySignal!]) expect(stderr, name).not.toContain('bug in Spool');
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
};

test('a FIFO in the place of a file of git outlasts neither --max-duration nor Ctrl-C', () =>
  fewAtATime(filesOfGit, 3, outlastsNothing));

const isNamedPipe = (path: string) => `${path} is a named pipe, which blocks git (delete it)`;

test.each(['.gitattributes', '.git/info/exclude', '.git/objects/info/alternates'])(
  'a FIFO at %s is named once, and the run goes on',
  async (path) => {
    const project = createProject({ agent: [`echo 1 > 1.txt; ${fifoAt(path)}`, promise] });

    const { code, stderr } = await endsSoon(project.spool(...run));

    expect(code, stderr).toBe(0);
    expect(stderr.split(isNamedPipe(project.path(path)))).toHaveLength(2);
  },
);

test('a FIFO called .gitignore is named by a run and a rewind, and git is asked again once it is gone', async () => {
  const path = 'sub/.gitignore';
  const fifo = `mkdir sub; ${fifoAt(path)}`;
  const project = createProject({ agent: ['echo 1 > 1.txt', fifo, `rm ${path}`, `echo 4 > 4.txt; ${promise}`] });
  const said = isNamedPipe(project.path(path));

  const first = await endsSoon(project.spool(...run, '--max-iterations', '2'));
  expect(first).toMatchObject({ code: 3 });
  expect(first.stderr).toContain(`${said}: changes are no longer tracked or committed.`);
  expect(await endsSoon(project.spool('rewind', change, '1', '--dry-run'))).toMatchObject({
    code: 2,
    stderr: `spool: git is blocked: ${said}.\n`,
  });

  expect(await endsSoon(project.spool(...run, '--fresh'))).toMatchObject({ code: 0 });
  expect(project.git('log', '--name-only', '--format=')).toContain('4.txt');
});

const commands = {
  run: [...run, '--fresh'],
  doctor: ['doctor'],
  diff: ['diff', change],
  prune: ['prune', '--keep', '1', '--yes'],
  rewind: ['rewind', change, '0', '--dry-run'],
};

/** Where a FIFO is, what makes git read it, and the commands that need it. */
const blocking: [string, string, string, (keyof typeof commands)[]][] = [
  ['.git/objects/info/alternates', 'true', '.git/objects/info/alternates', ['run', 'diff']],
  [
    'a file that the config includes',
    'git config include.path ../pipe',
    'pipe',
    ['run', 'doctor', 'diff', 'prune', 'rewind'],
  ],
  [
    'a file that an included file includes',
    `git config include.path ../more; printf '[include]path="../project/pipe"' > more`,
    'pipe',
    ['run', 'doctor'],
  ],
  ['a file of ignore rules', 'git config core.excludesFile "$PWD/pipe"', 'pipe', ['run', 'rewind']],
  [
    'the index of a pack elsewhere',
    'mkdir -p other/pack; echo ../../other > .git/objects/info/alternates; touch other/pack/pack-1.pack',
    'other/pack/pack-1.idx',
    ['run', 'diff'],
  ],
];

test.each(blocking)('a FIFO at %s is named within seconds', async (_, script, path, names) => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ${promise}`] });
  await project.spool(...run);
  await project.spool(...run, '--fresh');
  execFileSync('sh', ['-c', `${script}; ${fifoAt(path)}`], { cwd: project.folder, env: project.env });

  for (const name of names) {
    const { stdout, stderr } = await endsSoon(project.spool(...commands[name]));
    expect(`${name}: ${stdout}${stderr}`).toContain(`${project.path(path)} is a named pipe`);
  }
});

test('a FIFO at .worktreeinclude is named', async () => {
  const project = createProject({ agent });
  execFileSync('mkfifo', [project.path('.worktreeinclude')]);

  expect(await endsSoon(project.start([...run, '--worktree'], { env: { SPOOL_TRUST: '1' } }).result)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('.worktreeinclude is not a regular file') as string,
  });
});

test('a FIFO that would block a landing is named', async () => {
  const project = createProject({ agent });
  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
  mkdirSync(project.path('sub'));
  execFileSync('mkfifo', [project.path('sub/.gitignore')]);

  expect(await endsSoon(project.spool('land', change))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`git is blocked: ${project.path('sub/.gitignore')} is a named pipe`) as string,
  });
});

test('a hook puts a FIFO in the place of the log of HEAD, and the run goes on', async () => {
  const project = createProject({ agent });
  project.write('.git/hooks/post-commit', `#!/bin/sh\n${fifoAt('.git/logs/HEAD')}\n`);
  chmodSync(project.path('.git/hooks/post-commit'), 0o755);
  const loop = project.start(run);
  try {
    expect(await endsSoon(loop.result)).toMatchObject({ code: 0 });
  } finally {
    loop.kill('SIGKILL');
  }
});

test('Ctrl-C and --max-duration hold while the files of a huge folder are taken', async () => {
  const many = 'mkdir many; cd many; seq 1 30000 | xargs touch; cd ..';
  const project = createProject({ agent: [`${many}; ${promise}`] });
  const loop = project.start(run);
  await loop.printed('<promise>COMPLETE</promise>');
  loop.kill('SIGINT');
  expect([0, 130]).toContain((await endsSoon(loop.result)).code);

  const again = createProject({ agent: [`${many}; ${promise}`] });
  const limited = again.start([...run, '--max-duration', '1s', '--max-iterations', '2']);
  expect([0, 3]).toContain((await endsSoon(limited.result)).code);
});

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { forEachConcurrent } from '../support/concurrency.ts';
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
import { startAs, users } from '../support/sandbox.ts';

// test/trials/hangs.trial.ts tries more calls of each.

test.each([
  { title: 'a run', args: run, script: hangs, max: 4 },
  { title: 'a run and ignores signals', args: run, script: ignoresSignals, max: 2 },
  { title: 'a run in a worktree', args: [...run, '--worktree'], script: hangs, max: 4 },
])('Ctrl-C ends Spool while git hangs in $title', async (hanging) => {
  expect(await endsBySignal(hanging)).toBe(hanging.max);
});

test.each([
  { title: 'a run', args: run, script: hangs, max: 3 },
  { title: 'a run and ignores signals', args: run, script: ignoresSignals, max: 2 },
])('--max-duration ends Spool while git hangs in $title', async (hanging) => {
  expect(await endsByLimit(hanging)).toBe(hanging.max);
});

test('Ctrl-C ends a landing while git hangs', () => forEachConcurrent([1, 4, 12], 3, landingEnds));

test.each(['proposal.md', 'tasks.md'])('Ctrl-C ends Spool with a FIFO in place of %s', async (name) => {
  const file = `.spool/changes/${change}/${name}`;
  const project = createProject({ agent: [`rm -f ${file}; mkfifo ${file}; echo ready; sleep 1000`] });
  const loop = project.start(run);
  await loop.printed('ready');
  loop.kill('SIGINT');

  expect(await endsSoon(loop.result)).toMatchObject({ code: 130 });
});

test('Ctrl-C ends Spool with a FIFO as prompt file, and a FIFO as context.txt is an error', async () => {
  const project = createProject({ agent });
  execFileSync('mkfifo', [project.path('prompt.md')]);
  const loop = project.start(['ralph', '--change', change, '--prompt-file', 'prompt.md']);
  // A writer can open the FIFO once Node has opened it for reading.
  execFileSync('sh', ['-c', 'exec 3> prompt.md'], { cwd: project.folder });
  loop.kill('SIGINT');
  await endsSoon(loop.result);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);

  mkdirSync(project.path(`.spool/.state/ralph/${change}`), { recursive: true });
  execFileSync('mkfifo', [project.stateFile('context.txt')]);
  expect(await endsSoon(project.spool(...run))).toMatchObject({ code: 2 });
});

/** Files in .git that Spool reads or copies itself. */
const gitFiles = ['info/exclude', 'HEAD', 'index', 'packed-refs', 'config', 'spool-index.json'];

const fifoAt = (path: string) => `rm -f ${path}; mkfifo ${path}`;

const endsInTime = async (name: string): Promise<void> => {
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

test('--max-duration and Ctrl-C end Spool with a FIFO in place of a file in .git', () =>
  forEachConcurrent(gitFiles, 3, endsInTime));

const isNamedPipe = (path: string) => `${path} is a named pipe, which blocks git (delete it)`;

test.each(['.gitattributes', '.git/info/exclude', '.git/objects/info/alternates'])(
  'a FIFO at %s is reported in one notice and in the summary, and the run continues',
  async (path) => {
    const project = createProject({ agent: [`echo 1 > 1.txt; ${fifoAt(path)}`, promise] });

    const { code, stderr } = await endsSoon(project.spool(...run));

    expect(code, stderr).toBe(0);
    expect(stderr.split(`${isNamedPipe(project.path(path))}: changes are no longer tracked`)).toHaveLength(2);
    expect(stderr).toContain(`Uncommitted unknown (${isNamedPipe(project.path(path))})`);
  },
);

test('a FIFO named .gitignore is reported by a run and a rewind, and git is used again once it is deleted', async () => {
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

/** Where the FIFO is, the setting that makes git read it, and the commands that fail. */
const blocking: [string, string, string, (keyof typeof commands)[]][] = [
  ['.git/objects/info/alternates', 'true', '.git/objects/info/alternates', ['run', 'diff']],
  [
    'a file included by the config',
    'git config include.path ../pipe',
    'pipe',
    ['run', 'doctor', 'diff', 'prune', 'rewind'],
  ],
  [
    'a file included by an included file',
    `git config include.path ../more; printf '[include]path="../project/pipe"' > more`,
    'pipe',
    ['run', 'doctor'],
  ],
  [
    'a file with attributes, below the folder of git',
    'git config core.attributesFile "%(prefix)/..$PWD/pipe"',
    'pipe',
    ['run', 'rewind'],
  ],
  [
    'a file included by the config, below the home folder of a user',
    'git config include.path "~root/..$PWD/pipe"',
    'pipe',
    ['run', 'doctor'],
  ],
  ['a file with ignore rules', 'git config core.excludesFile "$PWD/pipe"', 'pipe', ['run', 'rewind']],
  [
    'the index of a pack in an alternate object store',
    'mkdir -p other/pack; echo ../../other > .git/objects/info/alternates; touch other/pack/pack-1.pack',
    'other/pack/pack-1.idx',
    ['run', 'diff'],
  ],
];

test.each(blocking)('a FIFO at %s is reported within seconds', async (_, script, path, names) => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ${promise}`] });
  await project.spool(...run);
  await project.spool(...run, '--fresh');
  execFileSync('sh', ['-c', `${script}; ${fifoAt(path)}`], { cwd: project.folder, env: project.env });

  for (const name of names) {
    const { stdout, stderr } = await endsSoon(project.spool(...commands[name]));
    expect(`${name}: ${stdout}${stderr}`).toContain(`${project.path(path)} is a named pipe`);
  }
});

/** More includes than Spool searches. The last one leads to the setting. */
const afterManyIncludes = `mkfifo pipe; printf '[core]\\n\\texcludesFile = %s/pipe\\n' "$PWD" > last
  for n in $(seq 300); do echo "[include]path = none-$n"; done >> .git/config; echo "[include]path = $PWD/last" >> .git/config`;

test('git is ended if it only waits, for anything, and is not called again', async () => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ${afterManyIncludes}`, promise] });

  const { code, stderr } = await endsSoon(project.spool(...run));

  expect(code, stderr).toBe(0);
  const why = `git does not respond in ${project.folder}: it waits for something`;
  expect(stderr.split(`\n${why}`)).toHaveLength(2);
  expect(stderr).toContain(`Uncommitted unknown (${why}`);
});

test('git does not wait forever for a lock, regardless of the settings', async () => {
  const settings = ['filesRefLockTimeout', 'packedRefsTimeout'].map((name) => `git config -- core.${name} -1`);
  const project = createProject({ agent: [`echo 1 > 1.txt; ${settings.join('; ')}`] });
  const locks = 'touch .git/refs/heads/main.lock .git/packed-refs.lock';
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${locks}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);

  expect(await endsSoon(project.spool(...run, '--max-duration', '3s'))).toMatchObject({ code: 3 });
});

const notUtf8 = `d=$(printf 'd\\377'); mkdir "$d"; touch "$d/x"; git add "$d/x"; mkfifo "$d/.gitattributes"`;

test('a FIFO in a folder whose name is not UTF-8 is reported, and the run continues', async () => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ${notUtf8}`, promise] });

  const { code, stderr } = await endsSoon(project.spool(...run));

  expect(code, stderr).toBe(0);
  expect(stderr).toContain(isNamedPipe(project.path('d\uFFFD/.gitattributes')));
});

test('a FIFO that a setting with a name that is not UTF-8 leads to is reported', async () => {
  const project = createProject({ agent: [promise] });
  const script = `p="$PWD/$(printf 'pipe\\377')"; mkfifo "$p"; git config include.path "$p"`;
  execFileSync('sh', ['-c', script], { cwd: project.folder, env: project.env });

  const { stderr } = await endsSoon(project.spool(...run));

  expect(stderr).toContain(`${project.path('pipe\uFFFD')} is a named pipe`);
});

const object = 'o=$(git rev-parse HEAD^{tree}); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)';
const unsearched = (path: string) => `${path} cannot be searched for a named pipe that blocks it (make it readable)`;

/** What an agent does, and what is reported. */
const hidden: [string, string, string][] = [
  ['packed-refs', 'mkfifo .git/packed-refs; chmod 300 .git', unsearched('/.git')],
  ['a loose object', `${object}; rm -f $f; mkfifo $f; chmod 300 $(dirname $f)`, unsearched('')],
  [
    '.gitattributes',
    'mkdir d; touch d/x; git add d/x; mkfifo d/.gitattributes; chmod 300 d',
    isNamedPipe('/d/.gitattributes'),
  ],
  [
    '.gitattributes in a subfolder',
    'mkdir -p d/e; touch d/e/x; git add d/e/x; mkfifo d/e/.gitattributes; chmod 300 d',
    unsearched('/d'),
  ],
];

const user = users().at(-1)!;

// The superuser can read every folder.
test.skipIf(user.title === 'the superuser').each(hidden)(
  'a FIFO in place of %s in an unreadable folder is reported within seconds',
  async (_, plant, said) => {
    const project = createProject({ agent: [`echo 1 > 1.txt; ${plant}`, promise] });
    onTestFinished(() => void execFileSync('chmod', ['-R', 'u+rwX', project.folder]));

    const { code, stderr } = await endsSoon(startAs(user, project, { args: run, env: {} }).result);

    expect(code, stderr).toBe(0);
    expect(stderr).toContain(said);
  },
);

/** What an agent or an archive puts behind links, where git reads it, and what is reported. */
const behindLinks: [string, string, string][] = [
  [
    'a FIFO in a folder that a link in .git leads to',
    'mkdir info; mkfifo info/exclude; rm -r .git/info; ln -s ../info .git/info',
    '/.git/info/exclude is a named pipe',
  ],
  [
    'a FIFO in a git folder that .git is a link to',
    'mv .git ../git; rm -f ../git/info/exclude; mkfifo ../git/info/exclude; ln -s ../git .git',
    '/.git/info/exclude is a named pipe',
  ],
  [
    'a FIFO in the git folder of a nested repository that its .git is a link to',
    'git init -q n; cd n; git commit -q --allow-empty -m x; mv .git ../../n; ln -s ../../n .git; rm .git/HEAD; mkfifo .git/HEAD',
    '/n/.git/HEAD is a named pipe',
  ],
  [
    'a FIFO in an alternate object store of an alternate object store',
    `mkdir -p ../one/info ../two/info; mkfifo ../two/info/alternates; echo "$PWD/../two" > ../one/info/alternates
      echo "\\"$PWD/../\\157ne\\"" > .git/objects/info/alternates`,
    '/two/info/alternates is a named pipe',
  ],
  [
    'a FIFO that a setting over two lines names',
    `mkfifo pipe; printf '[core]\nexcludesFile = "%s"/pi\\\\\npe # x\n' "$PWD" >> .git/config`,
    '/pipe is a named pipe',
  ],
];

test.each(behindLinks)('%s is reported', async (_, plant, said) => {
  const project = createProject({ agent: [promise] });
  execFileSync('sh', ['-ec', plant], { cwd: project.folder, env: project.env });

  const { code, stdout, stderr } = await endsSoon(project.spool(...run));

  expect(code, stderr).toBe(0);
  expect(stdout + stderr).toContain(said);
});

/** Files that git reads to their end. */
const endless = ['commondir', 'objects/info/alternates', 'refs/heads/main', 'info/attributes'];

test.each(endless)('a device at .git/%s is reported before git has read much of it', async (name) => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ln -sf /dev/zero .git/${name}`, promise] });

  const { code, stderr } = await endsSoon(project.spool(...run, '--max-iterations', '2'));

  expect(code, stderr).toBe(0);
  expect(stderr).toContain(`${project.path(`.git/${name}`)} is a device, which git reads without end (delete it)`);
});

test.each(['commondir', 'HEAD', 'objects/info/alternates', 'refs/heads/main'])(
  'a huge file at .git/%s is reported before git has read much of it',
  async (name) => {
    const project = createProject({ agent: [`echo 1 > 1.txt; truncate -s 100G .git/${name}`, promise] });

    const { code, stderr } = await endsSoon(project.spool(...run, '--max-iterations', '2'));

    expect(code, stderr).toBe(0);
    expect(stderr).toContain(`${project.path(`.git/${name}`)} is too large for git to read (delete it)`);
  },
);

test('a huge index is not copied', async () => {
  const project = createProject({ agent: [`echo 1 > 1.txt; truncate -s 100G .git/index; ${promise}`] });

  expect((await endsSoon(project.spool(...run))).code).not.toBe(70);
});

test('a link to /dev/null in .git is not in the way', async () => {
  const project = createProject({ agent: [`echo 1 > 1.txt; ${promise}`] });
  execFileSync('sh', ['-c', 'ln -sf /dev/null .git/info/exclude'], { cwd: project.folder });

  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  expect(project.git('log', '--name-only', '--format=')).toContain('1.txt');
});

test('a FIFO at .worktreeinclude is reported', async () => {
  const project = createProject({ agent });
  execFileSync('mkfifo', [project.path('.worktreeinclude')]);

  expect(await endsSoon(project.start([...run, '--worktree'], { env: { SPOOL_TRUST: '1' } }).result)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('.worktreeinclude is not a regular file') as string,
  });
});

test('a FIFO that would block a landing is reported', async () => {
  const project = createProject({ agent });
  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
  mkdirSync(project.path('sub'));
  execFileSync('mkfifo', [project.path('sub/.gitignore')]);

  expect(await endsSoon(project.spool('land', change))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`git is blocked: ${project.path('sub/.gitignore')} is a named pipe`) as string,
  });
});

test('a run continues after a hook replaces the reflog of HEAD with a FIFO', async () => {
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

test('Ctrl-C and --max-duration work during the snapshot of a huge folder', async () => {
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

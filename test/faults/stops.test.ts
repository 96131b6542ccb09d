import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type Result, type TestProject } from '../support/project.ts';

const run = ['ralph', 'Build it.', '--change', change, '--stop-grace', '300ms'];

/** Long, so that a busy machine is no failure, and short against what hangs for ever. */
const momentMs = 45_000;

/** A git on PATH that counts its calls, and hangs from the one on whose number is in $HOME/git/hangs-at. */
const withGit = (project: TestProject, hangs: string) => {
  const folder = join(project.home, 'git');
  mkdirSync(folder);
  project.write('../bin/git', gitScript(hangs));
  chmodSync(project.path('../bin/git'), 0o755);
  return {
    env: { PATH: `${project.path('../bin')}:${project.env.PATH}` },
    calls: () => readdirSync(folder).filter((name) => name.startsWith('call-')).length,
    hangAt: (call: number) => writeFileSync(join(folder, 'hangs-at'), String(call)),
    isHanging: () => existsSync(join(folder, 'hanging')),
  };
};

/** What runs hooks of the user's is not counted: a hook may take its time, and is ended by a second signal. */
const gitScript = (hangs: string) => `#!/bin/sh
case " $* " in *' commit '* | *' worktree add '*) exec /usr/bin/git "$@" ;; esac
n=1
until mkdir "$HOME/git/call-$n" 2>/dev/null; do n=$((n + 1)); done
if [ -e "$HOME/git/hangs-at" ] && [ $n -ge "$(cat "$HOME/git/hangs-at")" ]; then
  touch "$HOME/git/hanging"
  ${hangs}
fi
exec /usr/bin/git "$@"
`;

const hangs = 'exec sleep 1000';
const ignoresSignals = "trap '' TERM INT; while :; do sleep 0.1; done";
const agent = [`echo work > work.txt; ${promise}`];

/** Calls of git that a run makes, evenly among all of them. */
const someCalls = async (args: readonly string[], most: number): Promise<number[]> => {
  const project = createProject({ agent });
  const git = withGit(project, 'exit 1');
  expect(await project.start(args, { env: git.env }).result).toMatchObject({ code: 0 });
  const count = git.calls();
  const step = Math.max(1, (count - 1) / (most - 1));
  return [...new Set(Array.from({ length: most }, (_, index) => Math.min(count, Math.round(1 + index * step))))];
};

const endsSoon = async <Result>(result: Promise<Result>): Promise<Result> => {
  let timer: NodeJS.Timeout;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not end')), momentMs);
  });
  return Promise.race([result, tooLong]).finally(() => clearTimeout(timer));
};

interface Trial {
  readonly args: readonly string[];
  readonly call: number;
  readonly script: string;
  readonly signal: NodeJS.Signals | null;
}

/** How a run ends whose git hangs from a call on, and that is sent a signal then, or not. */
const endOf = async ({ args, call, script, signal }: Trial) => {
  const project = createProject({ agent });
  const git = withGit(project, script);
  git.hangAt(call);
  const loop = project.start(args, { env: git.env });
  if (signal !== null) {
    await eventually(() => git.isHanging(), `call ${call} of git to hang`);
    loop.kill(signal);
  }
  const ended = await endsSoon(loop.result);
  expect(ended.stderr).not.toContain('bug in Spool');
  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, `call ${call} to be gone`);
  return { ...ended, call };
};

const inTurns = async (trials: readonly Trial[], check: (ended: Result & { call: number }) => void): Promise<void> => {
  for (let at = 0; at < trials.length; at += 4)
    for (const ended of await Promise.all(trials.slice(at, at + 4).map(endOf))) check(ended);
};

test.each([
  ['a run', run, hangs, 12],
  ['a run, and ignores signals', run, ignoresSignals, 4],
  ['a run in a worktree', [...run, '--worktree'], hangs, 12],
] as const)('a git that hangs in %s does not outlast Ctrl-C', async (_, args, script, most) => {
  const calls = await someCalls(args, most);
  const trials = calls.map((call) => ({ args, call, script, signal: 'SIGINT' as const }));
  await inTurns(trials, ({ code, signal, stderr, call }) =>
    // Before it holds anything, the signal itself ends Spool. What was complete by then is complete.
    expect([130, 0, 'SIGINT'], `call ${call}: ${stderr}`).toContain(signal ?? code),
  );
});

test.each([
  ['a run', run, hangs, 8],
  ['a run, and ignores signals', run, ignoresSignals, 4],
] as const)('a git that hangs in %s does not outlast --max-duration', async (_, args, script, most) => {
  const calls = await someCalls(args, most);
  const trials = calls.map((call) => ({ args: [...args, '--max-duration', '2s'], call, script, signal: null }));
  await inTurns(trials, ({ code, stderr, call }) => expect([3, 0], `call ${call}: ${stderr}`).toContain(code));
});

test.each([1, 4, 8, 12, 16])('a git that hangs does not outlast Ctrl-C in a landing: call %i', async (call) => {
  const project = createProject({ agent });
  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
  const git = withGit(project, hangs);
  git.hangAt(call);
  const landing = project.start(['land', change], { env: git.env });
  await eventually(() => git.isHanging(), 'git to hang');
  landing.kill('SIGINT');

  const { code, signal, stderr } = await endsSoon(landing.result);
  expect([130, 'SIGINT'], stderr).toContain(signal ?? code);
  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'git to be gone');
});

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

test.each(filesOfGit)('a FIFO in the place of .git/%s outlasts neither --max-duration nor Ctrl-C', async (name) => {
  const script = [`echo work > work.txt; ${fifoAt(`.git/${name}`)}; echo planted; ${promise}`];
  const limited = createProject({ agent: script });
  const interrupted = createProject({ agent: script });
  const loops = [limited.start([...run, '--max-duration', '3s']), interrupted.start(run)] as const;
  try {
    await loops[1].printed('planted');
    loops[1].kill('SIGINT');
    const [byLimit, bySignal] = await endsSoon(Promise.all(loops.map(({ result }) => result)));
    expect([0, 3], byLimit!.stderr).toContain(byLimit!.code);
    expect([0, 130], bySignal!.stderr).toContain(bySignal!.code);
    for (const { stderr } of [byLimit!, bySignal!]) expect(stderr).not.toContain('bug in Spool');
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
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

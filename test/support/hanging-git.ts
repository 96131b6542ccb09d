import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { promise } from './agents.ts';
import { fewAtATime } from './at-a-time.ts';
import { eventually } from './eventually.ts';
import { processesWith } from './processes.ts';
import { change, createProject, type TestProject } from './project.ts';

export const run = ['ralph', 'Build it.', '--change', change, '--stop-grace', '300ms'];

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

export const hangs = 'exec sleep 1000';
export const ignoresSignals = "trap '' TERM INT; while :; do sleep 0.1; done";
export const agent = [`echo work > work.txt; ${promise}`];

/** How many calls of git a run makes. */
const countCalls = async (args: readonly string[]): Promise<number> => {
  const project = createProject({ agent });
  const git = withGit(project, 'exit 1');
  expect(await project.start(args, { env: git.env }).result).toMatchObject({ code: 0 });
  return git.calls();
};

/** Calls of git, evenly among all of them. */
const someOf = (count: number, most: number): number[] => {
  if (most >= count) return Array.from({ length: count }, (_, index) => index + 1);
  const step = Math.max(1, (count - 1) / (most - 1));
  return [...new Set(Array.from({ length: most }, (_, index) => Math.min(count, Math.round(1 + index * step))))];
};

export const endsSoon = async <Result>(result: Promise<Result>): Promise<Result> => {
  let timer: NodeJS.Timeout;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not end')), momentMs);
  });
  return Promise.race([result, tooLong]).finally(() => clearTimeout(timer));
};

/** A run whose git hangs from a call on, and how many of its calls are tried at most. */
export interface Hanging {
  readonly title: string;
  readonly args: readonly string[];
  readonly script: string;
  readonly most: number;
}

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

/** Tries some calls, a few at the same time; the answer is how many. */
const tryCalls = async (
  { args, script, most }: Hanging,
  { limit, signal, codes }: Pick<Trial, 'signal'> & { limit: readonly string[]; codes: readonly (number | string)[] },
): Promise<number> => {
  const calls = someOf(await countCalls(args), most);
  await fewAtATime(calls, 4, async (call) => {
    const ended = await endOf({ args: [...args, ...limit], call, script, signal });
    expect(codes, `call ${call}: ${ended.stderr}`).toContain(ended.signal ?? ended.code);
  });
  return calls.length;
};

export const endsBySignal = (hanging: Hanging) =>
  // Before it holds anything, the signal itself ends Spool. What was complete by then is complete.
  tryCalls(hanging, { limit: [], signal: 'SIGINT', codes: [130, 0, 'SIGINT'] });

export const endsByLimit = (hanging: Hanging) =>
  tryCalls(hanging, { limit: ['--max-duration', '2s'], signal: null, codes: [3, 0] });

/** A landing whose git hangs from a call on, and that is interrupted then. */
export const landingEnds = async (call: number): Promise<void> => {
  const project = createProject({ agent });
  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });
  const git = withGit(project, hangs);
  git.hangAt(call);
  const landing = project.start(['land', change], { env: git.env });
  await eventually(() => git.isHanging(), `call ${call} of git to hang`);
  landing.kill('SIGINT');

  const { code, signal, stderr } = await endsSoon(landing.result);
  expect([130, 'SIGINT'], `call ${call}: ${stderr}`).toContain(signal ?? code);
  await eventually(() => processesWith(`HOME=${project.home}`).length === 0, `call ${call} to be gone`);
};

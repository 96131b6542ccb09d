import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { promise } from './agents.ts';
import { forEachConcurrent } from './concurrency.ts';
import { eventually } from './eventually.ts';
import { processesWith } from './processes.ts';
import { change, createProject, type TestProject } from './project.ts';

export const run = ['ralph', 'Build it.', '--change', change, '--stop-grace', '300ms'];

/** Long enough for a busy machine, short compared with a process that hangs forever. */
const momentMs = 45_000;

/** A git on PATH that counts its calls, and hangs from the call in $HOME/git/hangs-at on. */
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

/** Calls that run hooks are not counted: a hook may take long, and a second signal kills it. */
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

/** The number of git calls of a run. */
const countCalls = async (args: readonly string[]): Promise<number> => {
  const project = createProject({ agent });
  const git = withGit(project, 'exit 1');
  expect(await project.start(args, { env: git.env }).result).toMatchObject({ code: 0 });
  return git.calls();
};

/** Up to `most` call numbers, evenly distributed. */
const someOf = (count: number, max: number): number[] => {
  if (max >= count) return Array.from({ length: count }, (_, index) => index + 1);
  const step = Math.max(1, (count - 1) / (max - 1));
  return [...new Set(Array.from({ length: max }, (_, index) => Math.min(count, Math.round(1 + index * step))))];
};

export const endsSoon = async <Result>(result: Promise<Result>): Promise<Result> => {
  let timer: NodeJS.Timeout;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not end in time')), momentMs);
  });
  return Promise.race([result, tooLong]).finally(() => clearTimeout(timer));
};

/** A run whose git hangs at some call, and at most how many of its calls are tried. */
export interface Hanging {
  readonly title: string;
  readonly args: readonly string[];
  readonly script: string;
  readonly max: number;
}

interface Trial {
  readonly args: readonly string[];
  readonly call: number;
  readonly script: string;
  readonly signal: NodeJS.Signals | null;
}

/** The end of a run whose git hangs at `call`, with a signal sent at that moment, or none. */
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

/** Tries some calls concurrently. Returns how many. */
const tryCalls = async (
  { args, script, max }: Hanging,
  { limit, signal, codes }: Pick<Trial, 'signal'> & { limit: readonly string[]; codes: readonly (number | string)[] },
): Promise<number> => {
  const calls = someOf(await countCalls(args), max);
  await forEachConcurrent(calls, 4, async (call) => {
    const ended = await endOf({ args: [...args, ...limit], call, script, signal });
    expect(codes, `call ${call}: ${ended.stderr}`).toContain(ended.signal ?? ended.code);
  });
  return calls.length;
};

export const endsBySignal = (hanging: Hanging) =>
  // Early on, the signal itself ends Spool. A run that is already complete exits with 0.
  tryCalls(hanging, { limit: [], signal: 'SIGINT', codes: [130, 0, 'SIGINT'] });

export const endsByLimit = (hanging: Hanging) =>
  tryCalls(hanging, { limit: ['--max-duration', '2s'], signal: null, codes: [3, 0] });

/** Interrupts a landing whose git hangs at `call`. */
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

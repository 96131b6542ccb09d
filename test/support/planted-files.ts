import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { promise } from './agents.ts';
import { change, createProject, type TestProject } from './project.ts';

const state = `.spool/.state/ralph/${change}`;
const run = ['ralph', 'Build it.', '--change', change];
export const precious = 'Precious.\n';

/** A file outside the project that must not change. */
export const createVictim = (project: TestProject) => {
  const file = join(project.home, 'precious.txt');
  writeFileSync(file, precious);
  return { file, now: () => readFileSync(file, 'utf8') };
};

export const oneLine = (what: string) => expect.stringMatching(new RegExp(`(?:^|\\n)spool: [^\\n]*${what}[^\\n]*\\n$`));

/** What an agent can put in place of a file that Spool writes. */
const plants = {
  'a link': (path: string) => `rm -rf ${path}; ln -s "$HOME/precious.txt" ${path}`,
  'a hard link': (path: string) => `rm -rf ${path}; ln "$HOME/precious.txt" ${path}`,
  'a link to nothing': (path: string) => `rm -rf ${path}; ln -s "$HOME/created.txt" ${path}`,
  'a FIFO': (path: string) => `rm -rf ${path}; mkfifo ${path}`,
};

interface Target {
  readonly target: string;
  readonly path: string;
}

/** Every plant for every target, grouped by target. */
const onAll = <Case extends Target>(targets: readonly Case[]) =>
  targets.flatMap((target) =>
    Object.entries(plants).map(([plant, script]) => ({ ...target, plant, script: script(target.path) })),
  );

/** For each target the link and one of the others, in rotation. */
export const sampled = <Case>(all: readonly Case[]): Case[] => {
  const each = Object.keys(plants).length;
  return all.filter((_, index) => {
    const [target, plant] = [Math.floor(index / each), index % each];
    return plant === 0 || plant === 1 + (target % (each - 1));
  });
};

export const plantedByAgent = onAll([
  { target: 'history.jsonl', path: `${state}/history.jsonl` },
  { target: 'state.json', path: `${state}/state.json` },
  { target: 'events.jsonl', path: `$(echo ${state}/runs/*)/events.jsonl` },
  { target: 'control.jsonl', path: `${state}/control.jsonl` },
  { target: 'the log of the next iteration', path: `$(echo ${state}/runs/*)/0002.log` },
  { target: 'the prompt of the next iteration', path: `$(echo ${state}/runs/*)/0002.prompt.md` },
  { target: 'the log of a verify command', path: `$(echo ${state}/runs/*)/0001.verify-1.log` },
  { target: 'what is not committed', path: `$(echo ${state}/runs/*)/uncommitted.json` },
  { target: 'what is left out', path: `$(echo ${state}/runs/*)/skipped.json` },
  { target: 'the log of notify', path: `$(echo ${state}/runs/*)/notify.log` },
  { target: 'the note on the index', path: '.git/spool-index.json' },
]);

/** Plants during a run, and checks that nothing outside changes. */
export const checkPlantedByAgent = async ({ script }: { readonly script: string }): Promise<void> => {
  const project = createProject({ agent: [`${script}; echo work >> work.txt; ${promise}`, promise] });
  const victim = createVictim(project);

  const result = await project.spool(
    ...run,
    '--verify',
    'echo evil; test -f done || { touch done; exit 1; }',
    '--notify',
    'echo evil',
  );

  expect(victim.now()).toBe(precious);
  expect(existsSync(join(project.home, 'created.txt'))).toBe(false);
  // Spool continues if it can, and otherwise names the file.
  if (result.code !== 0) expect(result).toMatchObject({ code: 2, stderr: oneLine('so Spool does not use it') });
  expect(result.stderr).not.toContain('bug in Spool');
};

/** The first call, after which the file is planted, and the second one, which would write to it. */
const resumes = { agent: ['kill -9 $PPID', promise], first: run, next: run, mine: 'mine.txt' };
const setsUp = { ...resumes, first: [...run, '--worktree', '--worktree-setup', 'echo evil'] };
const lands = {
  agent: [`echo work >> work.txt; ${promise}`],
  first: [...run, '--worktree'],
  next: ['land', change, '--verify', 'echo evil'],
  mine: 'mine.txt',
};

export const plantedBetweenCalls = onAll([
  { target: 'workspace', ...resumes, path: `$(echo ${state}/runs/*)/workspace` },
  { target: 'user-prompt.md', ...resumes, path: `$(echo ${state}/runs/*)/user-prompt.md` },
  { target: 'start.json', ...resumes, path: `$(echo ${state}/runs/*)/start.json` },
  { target: 'the log of a setup', ...setsUp, next: setsUp.first, path: `$(echo ${state}/runs/*)/setup.log` },
  { target: 'the log of a landing', ...lands, path: `${state}/land.log` },
  { target: 'landed.json', ...lands, path: `${state}/landed.json` },
  // A landing only displaces uncommitted files.
  { target: 'landing.json', ...lands, mine: 'work.txt', path: `${state}/landing.json` },
  { target: 'the copies of a change', ...lands, next: lands.first, path: `${state}/copies` },
  { target: 'the tip of the copies', ...lands, next: lands.first, path: `${state}/copies/tip` },
]);

/** Plants between two calls, and checks that nothing outside changes. */
export const checkPlantedBetweenCalls = async ({
  script,
  agent,
  first,
  next,
  mine,
}: (typeof plantedBetweenCalls)[number]): Promise<void> => {
  const project = createProject({ files: { [`.spool/changes/${change}/tasks.md`]: '- [ ] 1.1 One\n' }, agent });
  const victim = createVictim(project);
  await project.spool(...first);
  if (first === setsUp.first) project.git('worktree', 'remove', '--force', `.spool/worktrees/${change}`);
  project.write(mine, 'mine\n');
  project.write(`.spool/changes/${change}/tasks.md`, '- [ ] 1.1 One\n- [ ] 1.2 Two\n');
  execFileSync('sh', ['-c', script], { cwd: project.folder, env: project.env });

  const { stderr } = await project.spool(...next);

  expect(victim.now()).toBe(precious);
  expect(existsSync(join(project.home, 'created.txt'))).toBe(false);
  expect(stderr).not.toContain('bug in Spool');
};

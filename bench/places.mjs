// The projects and repositories that are measured, in a folder that is removed in the end.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const spoolProgram = join(root, 'dist', 'spool.cjs');
export const change = '001-01_bench';

/** @param {number} number */
const changeName = (number) => `001-${String(number).padStart(2, '0')}_bench`;

export const makeBase = () => {
  const base = mkdtempSync(join(tmpdir(), 'spool-bench-'));
  process.on('exit', () => rmSync(base, { recursive: true, force: true }));
  return base;
};

/**
 * @typedef {object} Place
 * @property {string} folder
 * @property {NodeJS.ProcessEnv} env
 */

/**
 * A project with changes, and an agent that exits at once.
 * @param {string} base
 * @param {string} name
 * @param {{ changes?: number }} [options]
 * @returns {Place}
 */
export const makeProject = (base, name, { changes = 1 } = {}) => {
  const folder = join(base, name);
  const bin = join(base, `${name}.bin`);
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(folder, '.spool', 'modules', '001_bench'), { recursive: true });
  writeFileSync(join(folder, '.spool', 'modules', '001_bench', 'module.md'), '# Bench\n');
  for (let number = 1; number <= changes; number++) {
    const path = join(folder, '.spool', 'changes', changeName(number));
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'proposal.md'), '# A change\n\n## Why\n\nTo measure.\n');
    writeFileSync(join(path, 'tasks.md'), '- [ ] 1.1 Be quick\n');
  }
  const place = {
    folder,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: base,
      TZ: 'UTC',
      NO_COLOR: '1',
      SPOOL_TRUST: '1',
      // The scripted agent does not speak ACP.
      SPOOL_AGENT_MODE: 'cold',
      ...quietGit,
    },
  };
  setAgent(place, null);
  return place;
};

const quietGit = {
  GIT_CONFIG_GLOBAL: devNull,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Bench',
  GIT_AUTHOR_EMAIL: 'bench@localhost',
  GIT_COMMITTER_NAME: 'Bench',
  GIT_COMMITTER_EMAIL: 'bench@localhost',
};

/**
 * What the agent does, as a shell script; null for a program that exits at once.
 * @param {Place} place
 * @param {string | null} script
 */
export const setAgent = ({ folder }, script) => {
  const agent = join(`${folder}.bin`, 'opencode');
  rmSync(agent, { force: true });
  if (script === null) symlinkSync(existsSync('/bin/true') ? '/bin/true' : '/usr/bin/true', agent);
  else writeFileSync(agent, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
};

/**
 * @param {Place} place
 * @param {readonly string[]} args
 */
const git = ({ folder, env }, ...args) =>
  execFileSync('git', args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });

/**
 * Makes the project a repository with the given number of tracked files.
 * @param {Place} place
 * @param {number} files
 */
export const makeRepository = (place, files) => {
  for (let at = 0; at < files; at++) {
    const folder = join(place.folder, 'src', `part-${Math.floor(at / 100)}`);
    if (at % 100 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file-${at}.txt`), `This is file ${at}.\n`);
  }
  git(place, 'init', '--quiet');
  // Both sides are to be measured without work that git does now and then.
  git(place, 'config', 'gc.auto', '0');
  git(place, 'add', '--all');
  git(place, 'commit', '--quiet', '-m', 'Start');
  // git reads a file again that is as young as its index.
  git(place, 'update-index', '--refresh');
};

/**
 * @param {Place} place
 * @param {number} number
 */
const stateOf = ({ folder }, number) => join(folder, '.spool', '.state', 'ralph', changeName(number));

/** @param {Place} place */
export const dropRuns = (place) => rmSync(join(stateOf(place, 1), 'runs'), { recursive: true, force: true });

/**
 * Gives a change a history of the given number of iterations of an interrupted run, made of the record and the state of
 * a real one. The returned function restores it after a run was resumed.
 * @param {Place} place
 * @param {number} finished
 */
export const makeHistory = (place, finished, number = 1) => {
  const folder = stateOf(place, number);
  rmSync(folder, { recursive: true, force: true });
  const args = ['ralph', 'Go.', '--change', changeName(number), '--max-iterations', '1', ...endless];
  spawnSync(process.execPath, [spoolProgram, ...args], { cwd: place.folder, env: place.env });
  const history = join(folder, 'history.jsonl');
  const state = join(folder, 'state.json');
  const record = readFileSync(history, 'utf8').trim();
  const file = openSync(history, 'w');
  for (let first = 1; first <= finished; first += 1000) {
    const count = Math.min(1000, finished - first + 1);
    const lines = Array.from({ length: count }, (_, at) =>
      record.replace('"iteration":1,', `"iteration":${first + at},`),
    );
    writeSync(file, `${lines.join('\n')}\n`);
  }
  closeSync(file);
  const view = JSON.parse(readFileSync(state, 'utf8'));
  const interrupted = JSON.stringify(
    { ...view, status: 'interrupted', finishedIterations: finished, iteration: finished },
    null,
    2,
  );
  const { size } = statSync(history);
  const putBack = () => {
    truncateSync(history, size);
    writeFileSync(state, interrupted);
    // It is a state that Spool has not written, so nothing can be known of it.
    rmSync(join(`${place.env.HOME}`, '.local'), { recursive: true, force: true });
  };
  putBack();
  return putBack;
};

/**
 * Gives all changes of a project the history of the first.
 * @param {Place} place
 * @param {number} changes
 */
export const shareHistory = (place, changes) => {
  for (let number = 2; number <= changes; number++) {
    const folder = stateOf(place, number);
    rmSync(folder, { recursive: true, force: true });
    cpSync(stateOf(place, 1), folder, { recursive: true, filter: (path) => !path.endsWith('history.jsonl') });
    linkSync(join(stateOf(place, 1), 'history.jsonl'), join(folder, 'history.jsonl'));
    const state = join(folder, 'state.json');
    writeFileSync(state, readFileSync(state, 'utf8').replaceAll(changeName(1), changeName(number)));
  }
};

/** Limits that would end a loop whose agent does nothing. */
export const endless = ['--max-stalled', 'unlimited', '--max-failures', 'unlimited'];

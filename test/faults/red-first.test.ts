import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { ledgerOf, prints, recordOf, requirement, spec } from '../support/proof.ts';

/** Trying tests on the code from before the change leaves nothing behind, however it ends. */

/** Notes each trial, and waits in the first of them until it may continue. */
const testScript = `case "$PWD" in */.trial-*)
  echo "$PWD" >> "$HOME/trials"
  if [ ! -e "$HOME/go" ]; then echo "waiting for go"; touch "$HOME/hangs"; until [ -e "$HOME/go" ]; do sleep 0.02; done; fi;;
esac
${prints('[ -e sum.txt ]')}
`;

const files = { [spec]: requirement };
const agent = [`mkdir -p test; cat > test/sum.sh <<'END'\n${testScript}END\necho 3 > sum.txt; ${promise}`];
const run = ['ralph', '--change', change, '--red-first', '--verify', 'sh test/sum.sh'];

const go = (project: TestProject) => writeFileSync(join(project.home, 'go'), '');
const trials = (project: TestProject): number =>
  existsSync(join(project.home, 'trials'))
    ? readFileSync(join(project.home, 'trials'), 'utf8').trim().split('\n').length
    : 0;

const nothingLeft = (project: TestProject) => {
  expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(readdirSync(project.path('.spool/worktrees'))).toEqual(['.gitignore']);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
};

const isProven = (project: TestProject) =>
  expect(ledgerOf(project).scenarios).toMatchObject([{ state: 'proven', redFirst: 'failed' }]);

describe('in the trial', () => {
  test.each([
    ['kill -9', 'SIGKILL', []],
    ['kill -9 and --fresh', 'SIGKILL', ['--fresh']],
    ['Ctrl-C', 'SIGINT', []],
  ] as const)('%s: the next start cleans up and tries again', async (_, signal, more) => {
    const project = createProject({ files, agent });
    const loop = project.start(run);
    await eventually(() => existsSync(join(project.home, 'hangs')), 'the trial');
    loop.kill(signal);
    const stopped = await loop.result;
    if (signal === 'SIGINT') {
      expect(stopped).toMatchObject({ code: 130 });
      nothingLeft(project);
    } else {
      expect(readdirSync(project.path('.spool/worktrees'))).toHaveLength(2);
    }
    // The gate has no result yet.
    expect(existsSync(join(recordOf(project), 'ledger.json'))).toBe(false);
    expect(project.history()).toEqual([]);
    go(project);
    const before = trials(project);

    const result = await project.spool(...run, ...more);

    expect(result).toMatchObject({ code: 0 });
    // Without the change, and with it.
    expect(trials(project)).toBe(before + 2);
    expect(project.calls()).toHaveLength(more.length === 0 ? 1 : 2);
    isProven(project);
    nothingLeft(project);
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

test('in a worktree with a setup; a later run with the same tests tries nothing again', async () => {
  const project = createProject({
    files: {
      ...files,
      '.spool/config.json': JSON.stringify({ worktreeSetup: 'mkdir -p deps; touch deps/ready; pwd >> "$HOME/setups"' }),
      '.gitignore': 'deps\n',
    },
    agent: [
      `mkdir -p test; cat > test/sum.sh <<'END'\n[ -e deps/ready ] || exit 1\n${testScript}END\necho 3 > sum.txt; ${promise}`,
      promise,
    ],
  });
  go(project);

  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 0 });

  isProven(project);
  expect(trials(project)).toBe(2);
  // That of the run, and those of the two trials.
  const setups = readFileSync(join(project.home, 'setups'), 'utf8').trim().split('\n');
  expect(setups).toHaveLength(3);
  expect(new Set(setups).size).toBe(2);
  expect(project.git('log', '-1', '--format=%B', `ralph/${change}`)).toContain('Scenarios: 1/1 proven');

  const again = await project.spool(...run, '--worktree', '--fresh');
  expect(again).toMatchObject({ code: 0 });
  expect(again.stderr).not.toContain('Trying what proves');
  expect(trials(project)).toBe(2);
  isProven(project);
  expect(ledgerOf(project)).toMatchObject({ run: project.state().run });
});

test('fails where nothing can be tried: without git, and if the first checkpoint is gone', async () => {
  const outside = createProject({ files, agent, git: false });
  expect(await outside.spool(...run)).toMatchObject({
    code: 2,
    stderr: 'spool: --red-first needs a git repository. Run "git init", or leave it out.\n',
  });
  expect(outside.calls()).toEqual([]);
  expect(outside.exists('.spool/.state')).toBe(false);

  const project = createProject({ files, agent });
  const loop = project.start(run);
  await eventually(() => existsSync(join(project.home, 'hangs')), 'the trial');
  loop.kill('SIGINT');
  await loop.result;
  // Recorded, but not in the repository any more.
  const checkpoints = join(recordOf(project), 'checkpoints');
  const text = readFileSync(checkpoints, 'utf8').replaceAll(/ 0 \w+$/gm, ` 0 ${'1'.repeat(40)}`);
  writeFileSync(checkpoints, '');
  appendFileSync(checkpoints, text);
  expect(await project.spool(...run)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `--red-first: the first checkpoint of ${change} no longer exists. Start over: spool ralph`,
    ),
  });
});

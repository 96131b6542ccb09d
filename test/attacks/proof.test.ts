import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const scenario = 'sum/adding/two-numbers';
const old = 'old.test.mjs';

const files = {
  [`.spool/changes/${change}/specs/sum/spec.md`]: `## ADDED Requirements

### Requirement: Adding

The program SHALL add numbers.

#### Scenario: Two numbers

- **WHEN** 1 and 2 are added
- **THEN** the result is 3
`,
  'sum.mjs': 'export const sum = () => 0;\n',
  [old]: `import test from 'node:test';
import assert from 'node:assert';
import { sum } from './sum.mjs';

test('a sum is a number', () => {
  assert.equal(typeof sum(), 'number');
  assert.ok(!Number.isNaN(sum()));
});
`,
};

const work = `echo 'export const sum = (...all) => all.reduce((a, b) => a + b, 0);' > sum.mjs
cat > sum.test.mjs <<'END'
import test from 'node:test';
import assert from 'node:assert';
import { sum } from './sum.mjs';
test('adds @scenario ${scenario}', () => assert.equal(sum(1, 2), 3));
END`;

const run = ['ralph', '--change', change, '--retry-delay', '10ms', '--require-scenarios', '--verify', 'node --test'];

const lost = `${old} lost assertions in "a sum is a number" (2 before, 1 now) while the agent was running`;
const notCompared =
  'the tests cannot be compared with those from before the agent, because git cannot save or read them';

describe('an agent that weakens a test', () => {
  test('does not hide it from git, and does not get around the comparison by breaking git', async () => {
    const weaken = `sed -i '/isNaN/d' ${old}`;
    const restore = `git update-index --no-assume-unchanged --no-skip-worktree ${old}; cp "$HOME/good" ${old}`;
    const project = createProject({
      files,
      agent: [
        `cp ${old} "$HOME/good"; ${work}\ngit update-index --assume-unchanged ${old}; ${weaken}; ${promise}`,
        `${restore}; git update-index --skip-worktree ${old}; ${weaken}; ${promise}`,
        // A file with what looks like a key is in no checkpoint.
        `${restore}; ${weaken}; echo "// ghp_abcdefghijklmnopqrstuvwxyzABCDEF1234" >> ${old}; ${promise}`,
        // It moves to a file in which it is skipped.
        `${restore}; sed "s/test('a/test.skip('a/" ${old} > other.test.mjs; rm ${old}; ${promise}`,
        `rm other.test.mjs; ${restore}; ${weaken}; cp .git/index "$HOME/index"; echo x > .git/index; ${promise}`,
        // The version to compare with is gone.
        `cp "$HOME/index" .git/index; id=$(git hash-object "$HOME/good"); rm -f ".git/objects/\${id%\${id#??}}/\${id#??}"; ${promise}`,
      ],
    });

    const result = await project.spool(...run, '--max-iterations', '6');

    expect(result).toMatchObject({ code: 3 });
    expect(project.history().map(({ gate }) => gate!.tampering)).toEqual([
      [lost],
      [lost],
      [lost],
      [`${old} was deleted while the agent was running`],
      [notCompared],
      [notCompared],
    ]);
    expect(project.history().map(({ gate }) => gate!.accept)).toEqual([
      ...Array.from({ length: 4 }, () => `spool accept ${change}`),
      null,
      null,
    ]);
  });

  test('does not do it in a command of the gate, whose changes are not those of the user', async () => {
    const saboteur = `cat > saboteur.test.mjs <<'END'
import { readFileSync, writeFileSync } from 'node:fs';
writeFileSync('${old}', readFileSync('${old}', 'utf8').replace(/\\n.*isNaN.*/, ''));
throw new Error('not yet');
END`;
    const project = createProject({
      files,
      agent: [`${work}\n${saboteur}\n${promise}`, `rm saboteur.test.mjs; ${promise}`],
    });

    expect(await project.spool(...run, '--max-iterations', '2')).toMatchObject({ code: 3 });

    expect(project.history().map(({ gate }) => gate!.tampering)).toEqual([[], [lost]]);
    expect(await project.spool('accept', change)).toMatchObject({ stdout: expect.stringContaining('lost assertions') });
    expect(await project.spool(...run, '--max-iterations', '1')).toMatchObject({ code: 0 });
  });
});

test('the result of --red-first is not believed after a helper of the test was changed', async () => {
  const project = createProject({
    files,
    agent: [
      `${work}\nmkdir test; echo "export { equal } from 'node:assert';" > test/check.mjs
sed -i "s|'node:assert'|'./test/check.mjs'|; s|import assert|import * as assert|" sum.test.mjs; ${promise}`,
      `echo 'export const equal = () => {};' > test/check.mjs; echo 'export const sum = () => 0;' > sum.mjs; ${promise}`,
    ],
  });

  const twice = ['--min-iterations', '2', '--max-iterations', '2'];
  expect(await project.spool(...run, '--red-first', ...twice)).toMatchObject({ code: 3 });

  expect(project.history().map(({ rejected }) => rejected)).toEqual([
    null,
    expect.stringContaining('also passes without the change, so it proves nothing'),
  ]);
});

test('what an agent marks as unchanged is committed; what the user has marked is not, and stays marked', async () => {
  const project = createProject({ files, agent: [`git update-index --assume-unchanged sum.mjs; ${work}\n${promise}`] });
  project.git('update-index', '--assume-unchanged', 'README.md');
  project.write('README.md', 'Mine.\n');

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  expect(project.git('show', 'HEAD:sum.mjs')).toContain('reduce');
  expect(project.git('show', '--format=', '--name-only').split('\n')).toEqual(['sum.mjs', 'sum.test.mjs']);
  expect(project.git('ls-files', '-v', 'README.md', 'sum.mjs').split('\n')).toEqual(['h README.md', 'H sum.mjs']);
  expect(project.read('README.md')).toBe('Mine.\n');
});

test('attributes of the agent do not hide its changes from the reviewer', async () => {
  const hide = `echo '*.mjs -diff' | tee .gitattributes > .git/info/attributes`;
  const project = createProject({
    files,
    agent: [
      `${work}\n${hide}\n${promise}`,
      `git diff base -- sum.mjs > "$HOME/seen.txt"; echo '<verdict>PASS</verdict>'`,
    ],
  });

  expect(await project.spool(...run, '--review', 'opencode')).toMatchObject({ code: 0 });

  const [, review] = project.calls();
  expect(review!.prompt).toContain('M sum.mjs (+1 -1)');
  expect(review!.prompt).toContain('\n+export const sum = (...all)');
  expect(review!.prompt).toContain('\n+*.mjs -diff');
  expect(project.read('../home/seen.txt')).toContain('\n+export const sum = (...all)');
});

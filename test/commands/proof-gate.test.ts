import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/ralph/proof.ts';
import { promise } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const spec = `.spool/changes/${change}/specs/sum/spec.md`;
const tasks = `.spool/changes/${change}/tasks.md`;

const requirement = `## ADDED Requirements

### Requirement: Adding

The program SHALL add numbers.

#### Scenario: Two numbers

- **WHEN** 1 and 2 are added
- **THEN** the result is 3
`;

const second = `
#### Scenario: No numbers

- **WHEN** nothing is added
- **THEN** the result is 0
`;

const [twoNumbers, noNumbers] = ['sum/adding/two-numbers', 'sum/adding/no-numbers'];

/** The old code is wrong, and has a test that is right. */
const files = {
  [spec]: requirement,
  'sum.mjs': 'export const sum = () => 0;\n',
  'old.test.mjs': `import test from 'node:test';
import assert from 'node:assert';
import { sum } from './sum.mjs';

test('a sum is a number', () => {
  assert.equal(typeof sum(), 'number');
  assert.ok(!Number.isNaN(sum()));
});
`,
};

const fixed = `echo 'export const sum = (...all) => all.reduce((a, b) => a + b, 0);' > sum.mjs`;

const testFile = (body: string, before = '') => `cat > sum.test.mjs <<'END'
import test from 'node:test';
import assert from 'node:assert';
import { sum } from './sum.mjs';
${before}${body}
END`;

const honest = testFile(`test('adds', () => assert.equal(sum(1, 2), 3));`, `// @scenario ${twoNumbers}\n`);
/** Of the change, by title, as TAP on its output. */
const nodeTest = 'node --test';

const run = ['ralph', '--change', change, '--retry-delay', '10ms', '--require-scenarios', '--verify', nodeTest];
const once = [...run, '--max-iterations', '1'];

const recordOf = (project: TestProject) => {
  const projects = join(project.home, '.local/state/spool/projects');
  return join(projects, readdirSync(projects)[0]!, change);
};
const ledgerOf = (project: TestProject) =>
  JSON.parse(readFileSync(join(recordOf(project), 'ledger.json'), 'utf8')) as Ledger;

const lastOf = (project: TestProject) => project.history().at(-1)!;

describe('--require-scenarios', () => {
  test('a promise counts when every scenario is proven; until then the next prompt says what is missing', async () => {
    const project = createProject({
      files: { ...files, [spec]: requirement + second },
      agent: [
        `${fixed}\n${honest}\n${promise}`,
        `${testFile(`test('adds', () => assert.equal(sum(1, 2), 3)); // @scenario ${twoNumbers}
test.skip('adds nothing @scenario ${noNumbers}', () => {});
test('other @scenario sum/adding/no-such', () => {});`)}\n${promise}`,
        `${testFile(`test('adds @scenario ${twoNumbers}', () => assert.equal(sum(1, 2), 3));
test('adds nothing @scenario ${noNumbers}', () => assert.equal(sum(), 0));`)}\n${promise}`,
      ],
    });

    const result = await project.spool(...run);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('  Scenarios   2/2 proven\n');
    expect(result.stderr).toContain('every scenario is proven');
    expect(project.history().map(({ rejected }) => rejected)).toEqual([
      `1 of 2 scenarios is not proven: ${noNumbers} (no test or command names it)`,
      `1 of 2 scenarios is not proven: ${noNumbers} (the test "adds nothing @scenario ${noNumbers}" in sum.test.mjs was skipped); no scenario has the id sum/adding/no-such`,
      null,
    ]);
    const [first, next] = project.calls().map(({ prompt }) => prompt);
    expect(first).toContain('## Scenarios To Prove');
    expect(first).toContain(`\`@scenario ${twoNumbers}\``);
    expect(first).toContain(`- \`${noNumbers}\`: No numbers`);
    expect(next).toContain(
      `Not proven yet (1 of 2 scenarios are):\n\n- \`${noNumbers}\` (No numbers): no test or command`,
    );
    expect(lastOf(project).gate!.proof).toEqual({
      count: { unlinked: 0, linked: 0, failing: 0, proven: 2, stale: 0, total: 2 },
      required: true,
      unproven: [],
    });
    const { scenarios, iteration } = ledgerOf(project);
    expect(iteration).toBe(3);
    expect(scenarios[0]).toMatchObject({
      id: twoNumbers,
      title: 'Two numbers',
      requirement: 'Adding',
      state: 'proven',
      reason: null,
      proof: { kind: 'test', command: nodeTest, exitCode: 0, outcome: 'passed', iteration: 3, file: 'sum.test.mjs' },
    });
    const { proof, hash } = scenarios[0]!;
    expect(proof).toMatchObject({ hash, commit: project.git('rev-parse', 'HEAD'), run: lastOf(project).run });
    expect(proof!.checkpoint).toBe(lastOf(project).checkpoint);
    expect((await project.spool('status', change)).stdout).toContain('  Scenarios   2/2 proven\n');

    // What was proven is stale when a person changes the text, and archiving can demand proof.
    project.write(spec, project.read(spec).replace('is 0', 'is zero'));
    expect(await project.spool('archive', change, '--require-scenarios')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`1 of 2 scenarios; ${noNumbers}: its text changed since it was proven`),
    });
    project.write(spec, project.read(spec).replace('is zero', 'is 0'));
    expect(await project.spool('archive', change, '--require-scenarios')).toMatchObject({ code: 0 });
  });

  test('fails for a change without scenarios, and if nothing can prove them', async () => {
    const project = createProject({ files: { ...files, [spec]: null } });
    expect(await project.spool(...once)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--require-scenarios: ${change} has no scenarios. Add one to its specs`),
    });
    project.write(spec, requirement);
    expect(await project.spool('ralph', '--change', change, '--red-first')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--red-first: nothing can prove the scenarios'),
    });
    expect(project.calls()).toEqual([]);
  });
});

describe('agents that cheat', () => {
  test('reports that this gate did not write, an edited ledger and tests that are not run prove nothing', async () => {
    const forged = `ok 1 - adds @scenario ${twoNumbers}`;
    const destination = '--test-reporter=tap --test-reporter-destination';
    const verify = `mkdir -p reports && node --test ${destination}=reports/out.tap && [ -d "$SPOOL_REPORTS" ] && ls -A "$SPOOL_REPORTS" > seen.txt`;
    const ledger = `find "$HOME/.local/state/spool" -name ledger.json`;
    const project = createProject({
      files: { ...files, 'reports/old.tap': `TAP version 13\n${forged}\n1..1\n` },
      agent: [
        // A report that has been lying around.
        `${fixed}\n${promise}`,
        // One that is written before the gate, with a time in the future, and an edited ledger.
        `echo 'TAP version 13\n${forged}\n1..1' > reports/out2.tap; touch -d 2099-01-01 reports/*.tap
for file in $(${ledger}); do sed -i 's/"unlinked","reason":"[^"]*"/"proven","reason":null/; s/"linked"/"proven"/' "$file"; done
${promise}`,
        // A source that names the scenario, outside of all tests that run.
        `mkdir -p notes; echo '// @scenario ${twoNumbers}' > notes/a.js; ${promise}`,
        `rm -r notes\n${honest}\n${promise}`,
      ],
    });

    const flags = ['--require-scenarios', '--report', 'reports/*.tap', '--verify', verify];
    const result = await project.spool('ralph', '--change', change, '--retry-delay', '10ms', ...flags);

    expect(project.history().map(({ rejected }) => rejected)).toEqual([
      `1 of 1 scenarios is not proven: ${twoNumbers} (no test or command names it)`,
      `1 of 1 scenarios is not proven: ${twoNumbers} (no test or command names it)`,
      `1 of 1 scenarios is not proven: ${twoNumbers} (the tests in notes/a.js have no result in the reports of this gate)`,
      null,
    ]);
    expect(result).toMatchObject({ code: 0 });
    expect(ledgerOf(project).scenarios).toMatchObject([{ state: 'proven', proof: { iteration: 4, command: verify } }]);
    // The folder for reports was new.
    expect(project.read('seen.txt')).toBe('');
  });

  test('weakened tests are rejected until they are restored, or the user accepts them', async () => {
    const old = 'old.test.mjs';
    const weak = (edit: string) => `${fixed}\n${honest}\n${edit}\n${promise}`;
    const project = createProject({
      files,
      agent: [
        weak(`sed -i '/isNaN/d' ${old}`),
        weak(`git checkout -q HEAD~1 -- ${old}; sed -i "s/test('a sum/test.skip('a sum/" ${old}`),
        weak(`rm ${old}`),
        weak(`echo 'moved'; git log --format=%H -- ${old} | tail -1 | xargs -I@ git show @:${old} > moved.test.mjs`),
      ],
    });

    const result = await project.spool(...run);

    const start = project.git('rev-parse', '--short=12', `refs/spool/${change}/${lastOf(project).run}/0`);
    expect(project.history().map(({ gate }) => gate!.tampering)).toEqual([
      [`${old} lost assertions in "a sum is a number" (2 before, 1 now) while the agent was running`],
      [`${old} gained a mark that skips tests while the agent was running`],
      [`${old} was deleted while the agent was running`],
      [],
    ]);
    expect(project.history()[2]!.gate).toMatchObject({
      accept: `spool accept ${change}`,
      restore: [`git restore --source=${start} -- ${old}`],
      runs: [],
    });
    expect(project.calls()[1]!.prompt).toContain(`How to restore it:\n\n- git restore --source=${start} -- ${old}`);
    expect(result).toMatchObject({ code: 0 });

    // A person may do what an agent may not, and can accept what an agent did.
    const again = createProject({ files, agent: [weak(`sed -i '/isNaN/d' ${old}`), promise] });
    expect(await again.spool(...once)).toMatchObject({ code: 3 });
    expect(await again.spool('accept', change)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${old} lost assertions in "a sum is a number" (2 before, 1 now)`),
    });
    again.write(old, again.read(old).replace("test('a sum", "test.skip('a sum"));
    expect(await again.spool(...once)).toMatchObject({ code: 0 });
  });

  test('scenarios that are reworded, and commands that are replaced', async () => {
    const withCommand = `${requirement}- **Verify**: \`node check.mjs\`\n`;
    const check = `import { sum } from './sum.mjs';\nprocess.exit(sum(1, 2) === 3 ? 0 : 1);\n`;
    const project = createProject({
      files: {
        ...files,
        [spec]: withCommand + second,
        [tasks]: `- [x] 1.1 Add nothing\n  - **Verify**: \`node check.mjs\`\n  - **Requirements**: ${noNumbers}\n`,
        'check.mjs': check,
      },
      agent: [
        `sed -i 's/is 3/is 0/' ${spec}; ${promise}`,
        `git checkout -q HEAD~1 -- ${spec}; sed -i 's/node check.mjs/true/' ${spec}; ${promise}`,
        `git log --format=%H -- ${spec} | tail -1 | xargs -I@ git checkout -q @ -- ${spec}; sed -i 's/node check.mjs/true/' ${tasks}; ${promise}`,
      ],
    });
    const command = ['ralph', '--change', change, '--retry-delay', '10ms', '--require-scenarios'];

    expect(await project.spool(...command)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(new RegExp(`scenarios of ${change}[^]*node check.mjs`)),
    });
    const trusted = { env: { SPOOL_TRUST: '1' } };
    await project.start([...command, '--max-iterations', '3'], trusted).result;

    const [first, replaced, inTasks] = project.history();
    expect(first!.gate!.tampering).toEqual([expect.stringContaining('spec.md was changed')]);
    expect(replaced!.gate!.tampering).toEqual([expect.stringContaining('spec.md was changed')]);
    expect(inTasks!.gate).toMatchObject({
      tampering: [],
      // The command that was there when the run began.
      runs: [{ command: 'node check.mjs', outcome: 'failed' }],
      proof: { count: { proven: 0, failing: 2 } },
    });
  });
});

describe('--red-first', () => {
  test('a test that cannot fail proves nothing', async () => {
    const project = createProject({
      files,
      agent: [
        `${fixed}\n${testFile(`test('adds @scenario ${twoNumbers}', () => assert.ok(sum));`)}\n${promise}`,
        `${honest}\n${promise}`,
      ],
    });

    const result = await project.spool(...run, '--red-first');

    expect(project.history().map(({ rejected }) => rejected)).toEqual([
      `1 of 1 scenarios is not proven: ${twoNumbers} (the test "adds @scenario ${twoNumbers}" in sum.test.mjs also passes without the change, so it proves nothing)`,
      null,
    ]);
    expect(result).toMatchObject({ code: 0 });
    expect(ledgerOf(project).scenarios).toMatchObject([{ state: 'proven', redFirst: 'failed' }]);
    expect(readdirSync(project.path('.spool/worktrees'))).toEqual(['.gitignore']);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
  });
});

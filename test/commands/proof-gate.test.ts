import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
  });

  test('is refused for a change without scenarios, and if nothing can prove them', async () => {
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

import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { ledgerOf, requirement, scenario, spec } from '../support/proof.ts';

/** What lands must be proven as it lands: after the rebase, by reports of this verification. */

/** Reports the scenario as skipped if the base has `slow`, and never if it has `silent`. */
const tests = `[ -d "$SPOOL_REPORTS" ] || exit 9
{ echo 'TAP version 13'
  [ -e silent ] || { [ -e slow ] && echo 'ok 1 - adds @scenario ${scenario} # SKIP' || echo 'ok 1 - adds @scenario ${scenario}'; }
  [ -e silent ] && echo 1..0 || echo 1..1; } > "$SPOOL_REPORTS/out.tap"
[ -e sum.txt ]`;

const files = { [spec]: requirement, 'test.sh': `${tests}\n` };
const verify = 'sh test.sh';
const run = ['ralph', '--change', change, '--worktree', '--require-scenarios', '--verify', verify];

const commitOnMain = (project: TestProject, name: string, text: string) => {
  project.write(name, text);
  project.git('add', name);
  project.git('commit', '-qm', `add ${name}`);
};

/** Everything that a landing can change. */
const snapshot = (project: TestProject) => [
  project.git('for-each-ref', 'refs/heads'),
  project.git('status', '--porcelain', '--ignored'),
  ledgerOf(project),
];

test('lands what is proven after the rebase; the ledger names the landed commit, which keeps its trailer', async () => {
  const project = createProject({ files, agent: [`echo 3 > sum.txt; ${promise}`] });
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  const branch = `ralph/${change}`;
  expect(ledgerOf(project).scenarios).toMatchObject([{ proof: { commit: project.git('rev-parse', branch) } }]);
  commitOnMain(project, 'other.txt', 'meanwhile\n');

  // The command needs its folder for reports also if nothing must be proven.
  expect(await project.spool('land', change, '--dry-run')).toMatchObject({ code: 0, stderr: `Verifying: ${verify}\n` });
  const result = await project.spool('land', change, '--require-scenarios');

  expect(result).toMatchObject({ code: 0, stderr: `Verifying: ${verify}\nScenarios: 1/1 proven\n` });
  const head = project.git('rev-parse', 'HEAD');
  expect(project.git('log', '--format=%s').split('\n')).toEqual([
    'ralph(002-01): iteration 1',
    'add other.txt',
    'start',
  ]);
  expect(project.git('log', '-1', '--format=%(trailers:key=Scenarios)').trim()).toBe('Scenarios: 1/1 proven');
  expect(ledgerOf(project)).toMatchObject({
    run: project.state().run,
    iteration: 1,
    scenarios: [{ state: 'proven', proof: { commit: head, command: verify, outcome: 'passed' } }],
  });
  const proof = (await project.spool('proof', change)).stdout;
  expect(proof).toContain(head.slice(0, 8));
  expect(proof).toContain(`\n\n  Archive     spool archive ${change}\n  Export `);
  expect(await project.spool('archive', change, '--require-scenarios')).toMatchObject({ code: 0 });
});

test('nothing lands if a scenario is no longer proven after the rebase, and one line says which', async () => {
  const project = createProject({ files, agent: [`echo 3 > sum.txt; ${promise}`] });
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  const land = ['land', change, '--require-scenarios'];
  const fails = async (why: string) => {
    const before = snapshot(project);
    const result = await project.spool(...land);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr.replaceAll(/\s+/g, ' ').trim()).toMatch(
      `is not proven (after rebasing onto main: ${why}). Nothing was changed. Land it anyway with --force.`,
    );
    expect(snapshot(project)).toEqual(before);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
  };

  // The command still passes.
  commitOnMain(project, 'slow', '');
  await fails(`0 of 1 scenarios; ${scenario}: the test "adds @scenario ${scenario}" was skipped`);
  commitOnMain(project, 'silent', '');
  await fails(`0 of 1 scenarios; ${scenario}: no test or command names it`);
  project.git('rm', '-q', 'slow', 'silent');
  const second = '\n#### Scenario: No numbers\n\n- **WHEN** nothing is added\n- **THEN** the result is 0\n';
  commitOnMain(project, spec, requirement + second);
  await fails('1 of 2 scenarios; sum/adding/no-numbers: no test or command names it');

  expect(await project.spool(...land, '--force')).toMatchObject({ code: 0 });
  expect(project.exists('sum.txt')).toBe(true);
});

test('the commands of the scenarios run too, if the user trusts them', async () => {
  const project = createProject({
    files: { ...files, [spec]: `${requirement}- **Verify**: \`sh check.sh\`\n`, 'check.sh': '[ -e sum.txt ]\n' },
    agent: [`echo 3 > sum.txt; ${promise}`],
  });
  const trusted = { env: { SPOOL_TRUST: '1' } };
  const worked = ['ralph', '--change', change, '--worktree', '--require-scenarios'];
  expect(await project.start(worked, trusted).result).toMatchObject({ code: 0 });
  const land = ['land', change, '--require-scenarios'];

  expect(await project.spool(...land)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(new RegExp(`scenarios of ${change}[^]*sh check.sh`)),
  });
  const result = await project.start(land, trusted).result;

  expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('Verifying: sh check.sh\nScenarios: 1/1') });
  expect(ledgerOf(project).scenarios).toMatchObject([
    { state: 'proven', proof: { kind: 'command', command: 'sh check.sh', commit: project.git('rev-parse', 'HEAD') } },
  ]);
  expect(readdirSync(project.path('.spool/worktrees'))).toEqual(['.gitignore']);
});

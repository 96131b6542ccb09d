import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { type PrintedProof, writeLedger } from '../support/ledger.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const spec = `.spool/changes/${change}/specs/login/spec.md`;
const specText = `## ADDED Requirements

### Requirement: Password

The system SHALL check the password.

#### Scenario: Signs in
- **WHEN** the password is right
- **THEN** the user is signed in

**Verify**: \`true\`

#### Scenario: Locks
- **WHEN** five passwords were wrong
- **THEN** the account is locked
`;

const proofOf = async (project: TestProject): Promise<PrintedProof> =>
  JSON.parse((await project.spool('proof', change, '--json')).stdout) as PrintedProof;

test('shows the scenarios of a change before and after a run, when their text has changed, and archived', async () => {
  const project = createProject({
    files: { [spec]: specText, [`.spool/changes/${change}/tasks.md`]: '- [x] 1. Write it\n' },
    agent: [`echo ghp_abcdefghijklmnopqrstuvwxyz0123456789 > x.txt; ${promise}`],
  });
  const before = await project.spool('proof', change);
  expect(before).toMatchObject({ code: 1, stderr: '' });
  expect(before.stdout).toMatch(
    /^● 002-01_add-ralph-loop\n {2}Proof {7}0 of 2 scenarios proven, 1 linked, 1 unlinked\n {2}Checked {5}never/,
  );
  expect(before.stdout).toContain(`  Prove       spool ralph ${change} --require-scenarios\n`);

  await project.spool('ralph', change);
  const { scenarios } = await proofOf(project);
  expect(scenarios.map(({ id, state }) => [id, state])).toEqual([
    ['login/password/signs-in', 'linked'],
    ['login/password/locks', 'unlinked'],
  ]);
  writeLedger(project, change, scenarios, [{ id: 'login/typo', where: 'test/login.test.ts' }]);

  const after = await project.spool('proof', change);
  expect(after.code).toBe(0);
  expect(after.stdout).toContain('    ✔ proven  Signs in  login > Signs in  1  ');
  expect(after.stdout).toContain('  Unknown IDs login/typo (test/login.test.ts)\n');
  expect(await proofOf(project)).toMatchObject({
    proven: true,
    archived: false,
    count: { proven: 2, total: 2, failing: 0 },
    gate: { iteration: 1 },
    run: { status: 'complete', iterations: 1 },
  });
  const markdown = await project.spool('proof', change, '--markdown');
  expect(markdown).toMatchObject({ code: 0, stderr: '' });
  expect(markdown.stdout).toContain('**2 of 2 scenarios proven.** Checked in iteration 1.\n');
  expect(await project.spool('proof', change, '--html', '--output', 'proof.html')).toEqual({
    code: 0,
    signal: null,
    stdout: '',
    stderr: 'Wrote proof.html.\n',
  });
  expect(project.read('proof.html')).toMatch(/^<!doctype html>[^]*<svg [^]*<\/html>\n$/);

  project.write(spec, specText.replace('five', 'three'));
  const stale = await project.spool('proof', change, '--output', 'proof.txt');
  expect(stale).toMatchObject({ code: 1, stdout: '', stderr: 'Wrote proof.txt.\n' });
  expect(project.read('proof.txt')).toContain('1 of 2 scenarios proven, 1 stale');
  expect(project.read('proof.txt')).toContain('its text changed since it was proven');
  project.write(spec, specText);

  expect(await project.spool('archive', change, '--no-specs')).toMatchObject({ code: 0 });
  expect(await proofOf(project)).toMatchObject({ proven: true, archived: true, count: { proven: 2 } });
});

test('refuses two formats and a file that cannot be written', async () => {
  const project = createProject();
  expect(await project.spool('proof', change, '--json', '--html')).toMatchObject({
    code: 2,
    stderr: 'spool: --json and --html cannot be used together.\n',
  });
  const { code, stderr } = await project.spool('proof', change, '--output', 'missing/proof.md');
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/missing\/proof\.md: no such file/) });
  expect(stderr).not.toMatch(/proof\.md\.[0-9a-f]/);
  const none = await project.spool('proof', change);
  expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining('no scenarios') });
});

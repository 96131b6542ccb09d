import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import type { ProofJson } from '../../src/report/proof/json.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const spec = `.spool/changes/${change}/specs/login/spec.md`;
const specText = `## ADDED Requirements

### Requirement: Password

The system SHALL check the password.

#### Scenario: Signs in
- **WHEN** the password is right
- **THEN** the user is signed in

#### Scenario: Locks
- **WHEN** five passwords were wrong
- **THEN** the account is locked
`;

/** Both scenarios have a test, and one test names a scenario that does not exist. */
const tests = `cat > login.test.mjs <<'END'
import test from 'node:test';
test('signs in @scenario login/password/signs-in', () => {});
test('locks @scenario login/password/locks', () => {});
END`;
const gate = ['--verify', 'node --test', '--require-scenarios'];

const proofOf = async (project: TestProject): Promise<ProofJson> =>
  JSON.parse((await project.spool('proof', change, '--json')).stdout) as ProofJson;

test('shows the scenarios of a change before and after a run, when their text has changed, and archived', async () => {
  const project = createProject({
    files: { [spec]: specText, [`.spool/changes/${change}/tasks.md`]: '- [x] 1. Write it\n' },
    agent: [
      `${tests}
${promise}`,
    ],
  });
  const before = await project.spool('proof', change);
  expect(before).toMatchObject({ code: 1, stderr: '' });
  expect(before.stdout).toMatch(
    /^● 002-01_add-ralph-loop\n {2}Proof {7}0 of 2 scenarios proven, 2 unlinked\n {2}Verified {4}never/,
  );
  expect(before.stdout).toContain(`  Prove       spool ralph ${change} --require-scenarios\n`);

  expect(await project.spool('ralph', change, ...gate)).toMatchObject({ code: 0 });
  const after = await project.spool('proof', change);
  expect(after.code).toBe(0);
  expect(after.stdout).toMatch(
    /\n {4}✔ proven {2}Signs in {2}signs in @scenario login\/password\/signs-in {2}1 {2}[0-9a-f]{8}\n/,
  );
  expect(await proofOf(project)).toMatchObject({
    proven: true,
    archived: false,
    count: { proven: 2, total: 2, failing: 0 },
    gate: { iteration: 1 },
    run: { status: 'complete', iterations: 1 },
  });
  const markdown = await project.spool('proof', change, '--markdown');
  expect(markdown).toMatchObject({ code: 0, stderr: '' });
  expect(markdown.stdout).toContain('**2 of 2 scenarios proven.** Verified in iteration 1.\n');
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

test('rejects two formats and a file that cannot be written', async () => {
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

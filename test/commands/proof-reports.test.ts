import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, root } from '../support/project.ts';
import { ledgerOf, prints, requirement, scenario, spec } from '../support/proof.ts';

/** What runners report reaches the ledger, and the ledger outlives runs. */

const second = '\n#### Scenario: No numbers\n\n- **WHEN** nothing is added\n- **THEN** the result is 0\n';
const noNumbers = 'sum/adding/no-numbers';

test('a JUnit report of node:test and a JSON report of Vitest prove scenarios, by comment and by title', async () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const project = createProject({
    files: {
      [spec]: requirement + second,
      'sum.mjs': 'export const sum = (...all) => all.reduce((a, b) => a + b, 0);\n',
      'package.json': '{ "type": "module" }\n',
    },
    agent: [
      `mkdir -p unit; cat > unit/two.test.mjs <<'END'
import test from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.mjs';
// @scenario ${scenario}
test('adds <two> & "more"', () => assert.equal(sum(1, 2), 3));
END
mkdir -p other; cat > other/none.test.js <<'END'
import { describe, expect, test } from 'vitest';
import { sum } from '../sum.mjs';
describe('without numbers', () => {
  test('is 0 @scenario ${noNumbers}', () => expect(sum()).toBe(0));
});
END
${promise}`,
    ],
  });
  const junit = 'node --test --test-reporter=junit --test-reporter-destination="$SPOOL_REPORTS/node.xml" unit/*.mjs';
  const json = `node '${vitest}' run other --root . --globals --reporter=default --reporter=json --outputFile.json=out/vitest.json`;
  const flags = ['--require-scenarios', '--verify', junit, '--verify', json, '--report', 'out/*.json'];
  // Vitest is not installed in the project.
  project.write('.git/info/exclude', 'node_modules\n');
  symlinkSync(join(root, 'node_modules'), project.path('node_modules'));

  const result = await project.spool('ralph', '--change', change, '--max-iterations', '1', ...flags);

  expect(project.history()[0]).toMatchObject({ rejected: null });
  expect(result).toMatchObject({ code: 0 });
  expect(ledgerOf(project).scenarios).toMatchObject([
    { id: scenario, proof: { command: junit, test: 'adds <two> & "more"', file: 'unit/two.test.mjs' } },
    { id: noNumbers, proof: { command: json, file: 'other/none.test.js' } },
  ]);
  expect(project.git('log', '-1', '--format=%(trailers:key=Scenarios,valueonly)').trim()).toBe('2/2 proven');
});

test('the ledger stays when a gate is interrupted, when the run is resumed, and when it starts over', async () => {
  const project = createProject({
    files: { [spec]: requirement },
    agent: [`echo 1 > a.txt; ${promise}`, `echo 2 > a.txt; ${promise}`, 'rm a.txt', `echo 4 > a.txt; ${promise}`],
  });
  // Waits in the second gate.
  const waits = `if [ "$(cat a.txt)" = 2 ] && [ ! -e "$HOME/go" ]; then touch "$HOME/hangs"; until [ -e "$HOME/go" ]; do sleep 0.02; done; fi`;
  const run = ['ralph', '--change', change, '--require-scenarios', '--retry-delay', '10ms'];
  const verify = ['--verify', `${waits}; ${prints('[ -e a.txt ]')}`];
  expect(await project.spool(...run, ...verify)).toMatchObject({ code: 0 });
  const first = ledgerOf(project);
  expect(first.scenarios).toMatchObject([{ state: 'proven', proof: { commit: project.history()[0]!.commit } }]);

  const loop = project.start([...run, ...verify]);
  await eventually(() => existsSync(join(project.home, 'hangs')), 'the second gate');
  loop.kill('SIGKILL');
  await loop.result;
  expect(ledgerOf(project)).toEqual(first);
  expect((await project.spool('proof', change, '--json')).stdout).toContain(first.run);
  writeFileSync(join(project.home, 'go'), '');
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  const [, resumed] = project.history();
  expect(ledgerOf(project)).toMatchObject({
    run: resumed!.run,
    scenarios: [{ state: 'proven', proof: { run: resumed!.run, commit: resumed!.commit } }],
  });

  // A gate that fails keeps the last proof, which is that of the earlier run.
  const fresh = [...run, ...verify, '--fresh', '--verify-each'];
  expect(await project.spool(...fresh, '--max-iterations', '1')).toMatchObject({ code: 3 });
  const failed = project.history().at(-1)!;
  expect(ledgerOf(project)).toMatchObject({
    run: failed.run,
    scenarios: [{ state: 'failing', proof: { run: resumed!.run, commit: resumed!.commit } }],
  });
  expect(await project.spool(...fresh)).toMatchObject({ code: 0 });
  expect(ledgerOf(project).scenarios).toMatchObject([
    { state: 'proven', proof: { commit: project.git('rev-parse', 'HEAD') } },
  ]);
});

test('a command finds a folder for its reports even if the change has no scenarios', async () => {
  const project = createProject({ agent: [promise] });
  const verify = '[ -d "$SPOOL_REPORTS" ] && echo "$SPOOL_REPORTS" > "$HOME/folder" && touch "$SPOOL_REPORTS/a.xml"';

  expect(await project.spool('ralph', '--change', change, '--verify', verify)).toMatchObject({ code: 0 });

  expect(existsSync(readFileSync(join(project.home, 'folder'), 'utf8').trim())).toBe(false);
});

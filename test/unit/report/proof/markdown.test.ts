import { expect, test } from 'vitest';
import { proofMarkdown } from '../../../../src/report/proof/markdown.ts';
import { reportWith, scenarioWith } from './reports.ts';

test('the proof as Markdown', () => {
  expect(proofMarkdown(reportWith())).toMatchInlineSnapshot(`
    "## Proof of 002-01\\_add-login

    **2 of 4 scenarios proven, 1 failing, 1 unlinked.** Verified in iteration 3.

    | State | Scenario | Why |
    | --- | --- | --- |
    | **failing** | Stays signed in after the browser was closed and opened again (Remember me) | the test "login &#62; stays signed in" failed (npm test, exit code 1) |
    | **unlinked** | Forgets after 30 days (Remember me) | no gate has run since it was added |

    <details><summary>2 proven scenarios</summary>

    | Requirement | Scenario | Proven by | Iteration | Commit |
    | --- | --- | --- | ---: | --- |
    | Password | Signs in with the right password | login &#62; signs in | 2 | 1a2b3c4d |
    | Password | Locks after five attempts | <code>npm run lock-check</code> | 2 | cccccccc |

    </details>

    <details><summary>1 ID in tests that no scenario has</summary>

    - <code>login/passwords/typo</code> in test/login.test.ts

    </details>

    **Complete** after 3 iterations in 1m 5s · opencode · 1,000 tokens in, 100 out, $0.25

    | Command | Result | Time |
    | --- | --- | ---: |
    | <code>npm test</code> | passed | 1.5s |

    <details><summary>1 of 2 tasks done</summary>

    - [x] Write the form
    - [ ] Write the test

    </details>

    <details><summary>3 iterations</summary>

    | # | Result | Time | Tasks | Files | Lines | Cost | Commit |
    | ---: | --- | ---: | ---: | ---: | --- | ---: | --- |
    | 1 | checks failed | 4.2s | 1/3 | 1 | +2 -1 | $0.25 | 11111111 |
    | 2 | checks failed | 4.2s | 2/3 | 1 | +2 -1 | $0.25 | 22222222 |
    | 3 | worked | 4.2s | 3/3 | 1 | +2 -1 | $0.25 | 33333333 |

    </details>
    "
  `);
});

test('without scenarios and without a run', () => {
  const report = reportWith({ scenarios: [], unknown: [], tasks: [], run: null, records: [], gate: null });
  expect(proofMarkdown(report)).toBe(
    '## Proof of 002-01\\_add-login\n\nThe change has no scenarios, so there is nothing to prove.\n',
  );
});

test('text from outside stays in its cell and mentions no one', () => {
  const evil = '| a |\n\n</details><script>alert(1)</script> @octocat #1 [x](http://evil.example) `';
  const report = reportWith({
    change: evil,
    scenarios: [
      scenarioWith({ title: evil, requirement: evil }),
      scenarioWith({ title: evil, requirement: evil, state: 'failing', reason: evil }),
    ],
    unknown: [{ id: evil, where: evil }],
    tasks: [{ title: evil, done: false, optional: false }],
    records: reportWith().records.map((record) => ({ ...record, commit: '|@x #1 |' })),
  });
  const text = proofMarkdown(report);
  // GitHub finds no mentions in code.
  const outsideCode = text.replaceAll(/<code>.*?<\/code>/g, '');
  expect(text).not.toMatch(/<script|:\/\//);
  expect(outsideCode).not.toMatch(/@[ox]|[^&]#1/);
  for (const line of text.split('\n').filter((one) => one.startsWith('|')))
    expect([4, 6, 9]).toContain(line.split('|').length - 1);
  expect(text.match(/<details>/g)).toHaveLength(text.match(/<\/details>/g)!.length);
});

test.each([300, 3000])('with %d scenarios it fits into a pull request, and says what is left out', (count) => {
  const scenarios = Array.from({ length: count }, (_, index) =>
    scenarioWith({
      title: `Scenario ${index} ${'x'.repeat(150)}`,
      state: index % 2 ? 'proven' : 'failing',
      reason: 'y'.repeat(180),
    }),
  );
  const tasks = Array.from({ length: count }, (_, index) => ({ title: `Task ${index}`, done: true, optional: false }));
  const text = proofMarkdown(reportWith({ scenarios, tasks }));
  expect(text.length).toBeLessThanOrEqual(60_000);
  expect(text).toMatch(/\nand \d+ more\n/);
  expect(text).toContain(`${count / 2} of ${count} scenarios proven, ${count / 2} failing`);
});

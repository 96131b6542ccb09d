import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage } from '../support/browser.ts';
import { message, spends, startWeb } from '../support/page-server.ts';
import { describePage, overhang, pageTest, see, show, tab } from '../support/page.ts';
import { change, createProject, root } from '../support/project.ts';

const axe = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

const violationsIn = async (page: Page): Promise<string[]> => {
  const found = await page.evaluate<{ id: string }[]>('axe.run().then(({ violations }) => violations)');
  return found.map(({ id }) => id);
};

/** Every view on a desk and on a phone, in a theme each. */
const checkViews = async (page: Page, views: readonly (readonly [hash: string, text: string])[]): Promise<void> => {
  for (const [hash, text] of views) {
    await show(page, hash);
    await see(page.getByRole('main'), text);
    for (const [colorScheme, width] of [
      ['dark', 1280],
      ['light', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 740 });
      const where = `${hash} in ${colorScheme} at ${width}`;
      expect(await overhang(page), where).toBeLessThanOrEqual(0);
      expect(await violationsIn(page), where).toEqual([]);
    }
  }
};

const spec = `## ADDED Requirements

### Requirement: Password

The system SHALL check the password.

#### Scenario: Signs in
- **WHEN** the password is right
- **THEN** the user is signed in
`;

const notes = `Next: the **lock** after five attempts

Tried and failed:
- a counter in \`memory\` <b>`;

const works = [
  `cat > login.test.mjs <<'END'
import test from 'node:test';
test('signs in <b> @scenario login/password/signs-in', () => {});
END`,
  spends(0.5),
  message(`<handover>\n${notes}\n</handover>\n\n<promise>COMPLETE</promise>`),
].join('\n');

const finding = 'login.test.mjs:2: the test <b>checks</b> nothing';
const reviews = (verdict: 'PASS' | 'FAIL', ...findings: string[]): string =>
  `${spends(0.25)}\n${message([...findings.map((each) => `- ${each}`), `<verdict>${verdict}</verdict>`].join('\n'))}`;

describePage('the proof', (browser) => {
  pageTest('is on the page with the notes and the review, and a separate file that needs no script', async () => {
    const path = `.spool/changes/${change}/specs/login/spec.md`;
    const project = createProject({
      files: { [path]: spec },
      agent: [works, reviews('FAIL', finding, 'no lock'), message('<promise>COMPLETE</promise>'), reviews('PASS')],
    });
    const flags = ['--verify', 'node --test', '--require-scenarios', '--review', 'opencode:second/model'];
    expect(await project.spool('ralph', change, ...flags)).toMatchObject({ code: 0 });
    const web = await startWeb(project);
    // axe is a script that the policy forbids.
    const { page, problems } = await openPage(browser(), web.url, { bypassCSP: true });
    await page.evaluate(axe);
    await see(page, '1/1 proven');
    await checkViews(page, [
      ['#/', '1/1 proven'],
      [`#/change/${change}/latest/1/gate`, 'no lock'],
      [`#/change/${change}/latest/1/handover`, 'a counter in'],
      [`#/change/${change}/latest/proof`, '1 of 1 scenario proven'],
    ]);

    await page.setViewportSize({ width: 1280, height: 740 });
    await show(page, `#/change/${change}`);
    expect(await tab(page, 'Handover').count()).toBe(0);
    await tab(page, 'Gate').click();
    const review = page.getByRole('region', { name: 'Review' });
    await see(review, 'PASS');
    expect(await review.innerText()).toMatch(/^PASS\s+Review by opencode:second\/model\s+\S+ · \$0\.25$/);
    await page.getByRole('link', { name: '#1' }).click();
    await see(review, 'FAIL');
    expect(await review.innerText()).toMatch(/2 findings · \S+ · \$0\.25/);
    expect(await review.getByRole('listitem').allInnerTexts()).toEqual([finding, 'no lock']);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.keyboard.press('6');
    // The tab is not cut off.
    await page.waitForFunction(`document.querySelector('.iteration .tabs').scrollLeft > 0`);
    await page.setViewportSize({ width: 1280, height: 740 });
    const handover = page.getByRole('region', { name: 'Handover notes' });
    await see(handover, 'a counter in memory <b>');
    expect(await handover.locator('strong').innerText()).toBe('lock');
    await tab(page, 'Proof').click();
    await see(page, 'signs in <b> @scenario');
    project.write(path, spec.replace('right', 'correct'));
    await page.reload();
    await see(page, 'its text changed since it was proven');
    expect(problems).toEqual([]);

    await project.spool('proof', change, '--html', '--output', 'proof.html');
    const context = await browser().newContext({
      javaScriptEnabled: true,
      colorScheme: 'dark',
      viewport: { width: 390, height: 800 },
    });
    const file = await context.newPage();
    const messages: string[] = [];
    file.on('console', (message) => messages.push(message.text()));
    file.on('request', (request) => messages.push(request.url()));
    await file.goto(pathToFileURL(project.path('proof.html')).href);
    await see(file, '0 of 1 scenario proven, 1 stale');
    expect(await file.locator('svg').count()).toBeGreaterThanOrEqual(3);
    expect(await overhang(file)).toBe(0);
    expect(messages).toEqual([pathToFileURL(project.path('proof.html')).href]);
    await context.close();

    // axe is a script that the policy forbids.
    const { page: checked } = await openPage(browser(), pathToFileURL(project.path('proof.html')).href, {
      bypassCSP: true,
    });
    await checked.evaluate(axe);
    expect(await violationsIn(checked)).toEqual([]);
  });
});

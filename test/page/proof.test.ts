import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { openPage } from '../support/browser.ts';
import { message, spends, startWeb } from '../support/page-server.ts';
import { describePage, overhang, pageTest, see, tab } from '../support/page.ts';
import { change, createProject, root } from '../support/project.ts';

const spec = `## ADDED Requirements

### Requirement: Password

The system SHALL check the password.

#### Scenario: Signs in
- **WHEN** the password is right
- **THEN** the user is signed in
`;

describePage('the proof', (browser) => {
  pageTest('is a tab of a run, and a file of its own that needs no script', async () => {
    const path = `.spool/changes/${change}/specs/login/spec.md`;
    const agent = [
      `cat > login.test.mjs <<'END'
import test from 'node:test';
test('signs in <b> @scenario login/password/signs-in', () => {});
END`,
      spends(0.5),
      message('<promise>COMPLETE</promise>'),
    ];
    const project = createProject({ files: { [path]: spec }, agent: [agent.join('\n')] });
    await project.spool('ralph', change, '--verify', 'node --test', '--require-scenarios');
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(`#/change/${change}`, web.url).href);
    await tab(page, 'Proof').click();
    await see(page, '1 of 1 scenario proven');
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
    await checked.evaluate(readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
    const found = await checked.evaluate<{ id: string }[]>('axe.run().then(({ violations }) => violations)');
    expect(found.map(({ id }) => id)).toEqual([]);
  });
});

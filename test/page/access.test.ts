import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { waitsFor } from '../support/agents.ts';
import { openPage } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { describePage, focusedText, overhang, pageTest, see, show } from '../support/page.ts';
import { change, createProject, root } from '../support/project.ts';
import { message, shell, spends, startWeb } from '../support/page-server.ts';

const axe = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

const violationsIn = async (page: Page): Promise<string[]> => {
  const found = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
  return found.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html}`);
};

const code = 'export const add = (a, b) => a + b; // "sum"\n';
const tasks = `.spool/changes/${change}/tasks.md`;
const otherChange = '002-02_other-change-with-a-name-that-is-rather-long-for-a-phone';

/** A run with a rejected promise behind it and an agent at work, a failed run, and a change without one. */
const createBusyProject = async () => {
  const project = createProject({
    files: {
      [tasks]: '- [ ] 1. First\n- [ ] 2. Second\n',
      'src/add.js': 'export const add = (a, b) => a - b; // "sum"\n',
      [`.spool/changes/${otherChange}/proposal.md`]: '# Other\n',
      '.spool/changes/002-03_third/proposal.md': '# Third\n',
    },
    agent: [
      'echo broken >&2; exit 3',
      [
        message('I change `add` now.\n\n- One\n- Two\n\n```js\nconst a = "b"; // c\n```'),
        shell('npm test', true),
        shell('ls'),
        `printf '%s' '${code}' > src/add.js`,
        `sed -i 's/\\[ \\] 1/[x] 1/' ${tasks}`,
        spends(0.25),
        message('<promise>COMPLETE</promise>'),
      ].join('\n'),
      `${message('Again.')}\n${waitsFor('never')}`,
    ],
  });
  await project.spool('ralph', '--change', otherChange, '--max-failures', '1');
  project.start(['ralph', '--change', change, '--verify', "echo 'a test failed'; false", '--max-cost', '1']);
  const web = await startWeb(project);
  return { project, web };
};

const views: readonly (readonly [view: string, text: string])[] = [
  ['', 'Again.'],
  ['/1/diff', 'src/add.js'],
  ['/1/gate', 'The promise was rejected'],
  ['/1/prompt', 'Ralph Wiggum'],
  ['/1/log', 'I change'],
  ['/1/conversation', 'I change'],
  ['/charts', 'Time per iteration'],
  ['/changes', 'src/add.js'],
  ['/plan', 'Settings and limits'],
];

describePage('the page', (browser) => {
  for (const colorScheme of ['dark', 'light'] as const)
    pageTest(`has nothing that axe complains about, and fits on a phone, in ${colorScheme}`, async () => {
      const { web } = await createBusyProject();
      // axe is a script that the policy forbids.
      const { page, problems } = await openPage(browser(), web.url, { colorScheme, bypassCSP: true });
      await page.evaluate(axe);
      const check = async (what: string, ...widths: number[]) => {
        for (const width of widths) {
          await page.setViewportSize({ width, height: 740 });
          expect(await overhang(page), `${what} at ${width}`).toBeLessThanOrEqual(0);
        }
        expect(await violationsIn(page), what).toEqual([]);
      };
      await see(page, 'Needs a person');
      expect(await page.getByText('Loading').count()).toBe(0);
      await check('overview', 1280);
      await check('overview', 360);
      for (const [view, text] of views) {
        await show(page, `#/change/${change}/latest${view}`);
        await see(page.getByRole('main'), text);
        await check(view, 360, 1280);
      }
      const dialogs: readonly (readonly [view: string, button: string, text: string])[] = [
        [change, 'Stop now…', 'Same as'],
        [change, 'Add context…', 'The agent reads it'],
        [change, 'Keyboard shortcuts', 'This list'],
        [otherChange, 'Start again…', 'Max. cost'],
        [otherChange, 'Rewind…', 'Same as'],
      ];
      for (const [of, name, text] of dialogs) {
        await show(page, `#/change/${of}/latest`);
        const opener = page.getByRole('button', { name });
        await opener.click();
        await see(page.getByRole('dialog'), text);
        await check(name, 1280, 360);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        expect(await opener.evaluate((element) => element.matches(':focus')), name).toBe(true);
      }
      expect(problems).toEqual([]);
    });

  pageTest('can be used with the keyboard alone', async () => {
    const { web } = await createBusyProject();
    const { page, problems } = await openPage(browser(), web.url);
    const { keyboard } = page;
    await see(page, 'Needs a person');
    const focused = () => focusedText(page);

    await keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await keyboard.press('Enter');
    await keyboard.press('/');
    await keyboard.type('ralph-loop');
    await page.getByRole('link', { name: otherChange }).waitFor({ state: 'detached' });
    // Back from a change, the filter and the focus are where they were.
    await page.getByRole('link', { name: change }).focus();
    await keyboard.press('Enter');
    await see(page.getByRole('log'), 'Again.');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
    await keyboard.press('Escape');
    await page.getByRole('link', { name: change }).waitFor();
    expect(await focused()).toBe(change);
    expect(await page.getByRole('searchbox').inputValue()).toBe('ralph-loop');
    // The view listens to keys a moment after it is shown.
    await eventually(async () => {
      await keyboard.press('Escape');
      return page.getByRole('link', { name: otherChange }).isVisible();
    }, 'the other change');
    // It moves to the group above at the same time, with the focus.
    await see(page.locator('.group-attention'), 'Promise rejected in iteration 1');

    expect(await focused()).toBe(change);
    await keyboard.press('j');
    expect(await focused()).toBe(otherChange);
    await keyboard.press('k');
    expect(await focused()).toBe(change);
    await keyboard.press('Enter');
    await see(page.getByRole('log'), 'Again.');

    await keyboard.press('j');
    await see(page.getByRole('heading', { level: 2 }), 'Iteration 1');
    await keyboard.press('2');
    await see(page, 'src/add.js');
    await keyboard.press('l');
    await see(page.getByRole('heading', { level: 2 }), 'Iteration 2');

    await keyboard.press('?');
    await see(page.getByRole('dialog', { name: 'Keyboard shortcuts' }), 'This list');
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keyboard.press('c');
    await keyboard.type('A hint.');
    await keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await see(page.locator('.action-outcome'), /add-context/);
    await keyboard.press('Escape');
    await see(page, 'Needs a person');
    expect(problems).toEqual([]);
  });

  pageTest('keeps the theme that was chosen', async () => {
    const project = createProject();
    const web = await startWeb(project);
    const { page } = await openPage(browser(), web.url, { colorScheme: 'dark' });
    const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    await see(page, 'Not run yet');
    const dark = await background();
    await page.getByRole('button', { name: 'Theme: system. Change to light' }).click();
    const light = await background();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Theme: light' }).waitFor();
    expect(await background()).toBe(light);
  });
});

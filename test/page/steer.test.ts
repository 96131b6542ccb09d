import { expect } from 'vitest';
import { waitsFor } from '../support/agents.ts';
import { openPage } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { button, describePage, pageTest, see, tab } from '../support/page.ts';
import { change, createProject } from '../support/project.ts';
import { message, startWeb } from '../support/page-server.ts';

const done = message('<promise>COMPLETE</promise>');
const toRun = `#/change/${change}/latest`;

describePage('steering from the page', (browser) => {
  pageTest('a run takes context, is paused and resumed, and stops after its iteration', async () => {
    const waits = (number: number) =>
      `${message(`Iteration ${number} works.`)}\n${waitsFor(`go-${number}`)}\necho ${number} > work.txt`;
    const project = createProject({ agent: [1, 2, 3].map(waits) });
    const run = project.start(['ralph', '--change', change]);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(toRun, web.url).href);
    await see(page.getByRole('log'), 'Iteration 1 works.');

    await button(page, 'Add context…').click();
    const dialog = page.getByRole('dialog', { name: 'Add context' });
    await dialog.getByRole('textbox').fill('Use the <b>old</b> parser.');
    await button(dialog, 'Add').click();
    await dialog.waitFor({ state: 'detached' });
    await see(page.locator('.action-outcome'), /add-context/);

    await button(page, 'Pause').click();
    await see(page, 'pauses after this iteration');
    project.write('go-1', '');
    await see(page.locator('.run-title'), 'Paused');
    await tab(page, 'All changes').first().click();
    await see(page.getByRole('listitem').filter({ hasText: change }), 'Paused');
    await page.goBack();
    await button(page, 'Resume').click();
    await see(page.getByRole('log'), 'Iteration 2 works.');
    expect(project.calls()[1]!.prompt).toContain('Use the <b>old</b> parser.');

    await button(page, 'Stop after this iteration').click();
    await see(page, 'stops after this iteration');
    project.write('go-2', '');
    await see(page.locator('.run-title'), 'Interrupted');
    expect((await run.result).code).toBe(143);
    expect(project.history()).toHaveLength(2);
    expect(problems).toEqual([]);
  });

  pageTest('a run is stopped now, after it was said what that does', async () => {
    const project = createProject({ agent: [`${message('I work.')}\n${waitsFor('never')}`] });
    const run = project.start(['ralph', '--change', change]);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(toRun, web.url).href);
    await see(page.getByRole('log'), 'I work.');

    await button(page, 'Stop now…').click();
    const dialog = page.getByRole('dialog');
    await see(dialog, `spool stop ${change} --now`);
    // The first press only asked.
    expect(project.state().status).toBe('running');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await button(page, 'Stop now…').click();
    await button(dialog, 'Stop now').click();

    await see(page.locator('.run-title'), 'Interrupted');
    expect((await run.result).code).toBe(143);
    expect(problems).toEqual([]);
  });

  pageTest('a change is started and its run rewound', async () => {
    const project = createProject({ agent: ['echo one > one.txt', `echo two > two.txt\n${done}`] });
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);

    await button(page, `Start ${change}`).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Max. iterations').fill('4');
    await button(dialog, 'Preview').click();
    await see(dialog, `--max-iterations=4`);
    expect(project.calls()).toEqual([]);
    await button(dialog, 'Start').click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: change }).click();
    await see(page.locator('.run-title'), 'Complete');
    expect(project.state().maxIterations).toBe(4);
    expect(project.exists('two.txt')).toBe(true);

    await button(page, 'Rewind…').click();
    await dialog.getByLabel('Back to the files').selectOption('1');
    await see(dialog, /two\.txt/);
    await dialog.getByText('Lines that differ between the two checkpoints').click();
    await see(dialog.locator('.text-removed'), 'two');
    expect(project.exists('two.txt')).toBe(true);
    await button(dialog, 'Rewind').click();
    await dialog.waitFor({ state: 'detached' });
    await see(page.locator('.action-outcome'), /spool rewind/);
    expect(project.exists('two.txt')).toBe(false);
    expect(project.exists('one.txt')).toBe(true);
    expect(problems).toEqual([]);
  });

  pageTest('a branch lands, after it was said what that does', async () => {
    const project = createProject({ agent: [`echo one > one.txt\n${done}`] });
    await project.spool('ralph', '--change', change, '--worktree');
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(toRun, web.url).href);
    await see(page.locator('.run-title'), 'Complete');

    await button(page, 'Land…').click();
    const dialog = page.getByRole('dialog');
    await see(dialog, `spool land ${change}`);
    await eventually(() => button(dialog, 'Land').isEnabled(), 'the preview');
    expect(project.exists('one.txt')).toBe(false);
    await button(dialog, 'Land').click();
    await dialog.waitFor({ state: 'detached' });
    await see(page.locator('.action-outcome'), /spool land/);
    expect(project.read('one.txt')).toBe('one\n');
    await see(page, 'Start again…');
    await button(page, 'Land…').waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  pageTest('what cannot be done fails in the words of the command', async () => {
    const project = createProject();
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(toRun, web.url).href);
    await button(page, 'Start…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Agent').fill('nobody');
    await button(dialog, 'Preview').click();
    await button(dialog, 'Start').click();
    // The dialog stays, with what was entered.
    await see(dialog.locator('.action-outcome'), /spool ralph .* failed \(exit code 2\)/);
    await see(dialog.locator('.action-outcome'), /nobody/);
    await button(dialog, 'Back').click();
    expect(await dialog.getByLabel('Agent').inputValue()).toBe('nobody');
    expect(problems).toEqual([]);
  });

  pageTest('a read-only page says so, and offers nothing', async () => {
    const project = createProject({ agent: [done] });
    await project.spool('ralph', '--change', change);
    const web = await startWeb(project, '--read-only');
    const { page, problems } = await openPage(browser(), web.url);
    await see(page, 'Read-only');
    await page.goto(new URL(toRun, web.url).href);
    await see(page, 'started with --read-only');
    expect(await button(page, /Start|Rewind|Add context/).count()).toBe(0);
    expect(problems).toEqual([]);
  });
});

import { appendFileSync, openSync, closeSync, writeSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openPage } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { button, describePage, pageTest, see } from '../support/page.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { message, startWeb } from '../support/page-server.ts';

const logOf = (project: TestProject) => {
  const runs = project.stateFile('runs');
  return join(runs, readdirSync(runs)[0]!, '0001.log');
};

describePage('a long run', (browser) => {
  pageTest('of 1,000 iterations is a list of which only a part exists', async () => {
    const project = createProject({ agent: [message('<promise>COMPLETE</promise>')] });
    await project.spool('ralph', '--change', change);
    const [record] = project.history();
    const more = Array.from({ length: 999 }, (_, index) => JSON.stringify({ ...record, iteration: index + 2 }));
    appendFileSync(project.stateFile('history.jsonl'), `${more.join('\n')}\n`);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(`#/change/${change}/latest`, web.url).href);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await see(timeline, '#1000');
    expect(await timeline.getByRole('listitem').count()).toBeLessThan(60);
    const list = timeline.locator('.window-list');
    // All of them are there, the first one at the end.
    await eventually(async () => (await list.evaluate((element) => element.scrollHeight)) > 999 * 50, 'all rows');
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await timeline.getByRole('link', { name: /^#1 / }).waitFor();
    expect(await timeline.getByRole('listitem').count()).toBeLessThan(60);
    expect(await timeline.getByRole('listitem').last().getAttribute('aria-posinset')).toBe('1000');
    // There is a journal of the first one only.
    expect(problems.filter((problem) => !problem.endsWith('/conversation'))).toEqual([]);
  });

  pageTest('with a log of 200 MB shows any part of it', async () => {
    const project = createProject({ agent: [message('<promise>COMPLETE</promise>')] });
    await project.spool('ralph', '--change', change);
    const block = Array.from(
      { length: 10_000 },
      (_, index) => `${String(index).padStart(9, '0')} ${'é'.repeat(45)}\n`,
    ).join('');
    const file = openSync(logOf(project), 'w');
    for (let written = 0; written < 200; written++) writeSync(file, block);
    writeSync(file, 'the very end\n');
    closeSync(file);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(`#/change/${change}/latest/1/log`, web.url).href);
    await see(page, /^\d{3}\.\d MB$/);
    const text = page.getByRole('region', { name: 'log of iteration 1' });
    const shown = () => text.innerText();
    expect((await shown()).startsWith('000000000 é')).toBe(true);

    await button(page, 'End').click();
    await eventually(async () => (await shown()).includes('the very end'), 'the end');
    // Upwards, beyond what was loaded.
    const first = (await shown()).slice(0, 9);
    await text.evaluate((element) => element.scrollTo(0, 0));
    await eventually(async () => (await shown()).slice(0, 9) !== first, 'an earlier part');
    await page.getByRole('slider').press('Home');
    await eventually(async () => (await shown()).startsWith('000000000 é'), 'the start');
    // Downwards: the parts follow each other without a gap, and few of them are in the page.
    for (let step = 0; step < 8; step++) {
      const last = (await shown()).slice(-20_000);
      await text.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await eventually(async () => (await shown()).slice(-20_000) !== last, 'a later part');
    }
    const numbers = (await shown())
      .split('\n')
      .filter(Boolean)
      .map((line) => Number(line.slice(0, 9)));
    expect(numbers.every((number, index) => index === 0 || number === (numbers[index - 1]! + 1) % 10_000)).toBe(true);
    expect(await shown()).not.toContain('\ufffd');
    expect((await shown()).length).toBeLessThan(400_000);
    expect(readFileSync(logOf(project)).length).toBeGreaterThan(180_000_000);
    expect(problems).toEqual([]);
  });
});

import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createAgentProject, twoIterations } from '../support/agent.ts';
import { waitsFor } from '../support/agents.ts';
import { openPage } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { describePage, pageTest, see, tab } from '../support/page.ts';
import { change, createProject } from '../support/project.ts';
import { message, shell, spends, startWeb } from '../support/page-server.ts';

const tasks = `.spool/changes/${change}/tasks.md`;
const taskFile = { [tasks]: '- [ ] 1. First\n- [ ] 2. Second\n' };
const tick = (title: string) => `sed -i 's/\\[ \\] ${title}/[x] ${title}/' ${tasks}`;

const manyLines = Array.from({ length: 80 }, (_, index) => `Line ${index + 1}.`).join('\n\n');

describePage('a run on the page', (browser) => {
  pageTest('is watched from its first line to its completion', async () => {
    const project = createProject({ files: { ...taskFile, 'check.sh': 'test -f second.txt\n' } });
    const go = (name: string) => `${project.home}/${name}`;
    const script = (number: number, ...lines: string[]) =>
      writeFileSync(`${project.home}/agent/${number}.sh`, lines.join('\n'));
    script(
      1,
      message('I read the **code** first.'),
      shell('ls src'),
      shell('npm test', true),
      waitsFor(go('more')),
      message('The first part is there.'),
      'echo one > first.txt',
      tick('1. First'),
      spends(0.02),
      message('<promise>COMPLETE</promise>'),
    );
    script(
      2,
      message('Now the second part.'),
      waitsFor(go('end')),
      'echo two > second.txt',
      tick('2. Second'),
      spends(0.03),
      message('<promise>COMPLETE</promise>'),
    );
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);

    await see(page, 'Not run yet');
    const run = project.start(['ralph', '--change', change, '--verify', 'sh check.sh', '--max-iterations', '5']);
    // The overview follows by itself.
    const row = page.getByRole('listitem').filter({ hasText: change });
    await see(row, 'Running');
    await row.getByRole('link', { name: change }).click();

    await see(page, 'Iteration 1');
    const conversation = page.getByRole('log');
    await see(conversation, 'I read the');
    await conversation.getByText('2 tool calls').click();
    await see(conversation, 'npm test');
    await see(conversation, 'failed');
    expect(await page.title()).toContain('Running #1/5');
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain('data:image/svg');

    writeFileSync(go('more'), '');
    await see(page, 'Iteration 2');
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await see(timeline, 'Rejected');
    await timeline.getByTitle('1. First').waitFor();
    await see(timeline, /^"sh check\.sh" failed/);
    await see(page.getByRole('log'), 'Now the second part.');
    await see(page.locator('.facts'), '1/2');

    writeFileSync(go('end'), '');
    await see(page.locator('.run-title'), 'Complete');
    await see(timeline, 'Done');
    expect(await page.title()).toContain('Complete');
    expect((await run.result).code).toBe(0);

    // What happened in the first iteration, later.
    await timeline.getByRole('link', { name: /#1 Rejected/ }).click();
    await see(page.getByRole('log'), 'The first part is there.');
    await tab(page, 'Diff').click();
    await see(page, 'first.txt');
    await see(page.locator('.text-added'), 'one');
    await tab(page, 'Gate').click();
    await see(page, 'The promise was rejected');
    await see(page, 'sh check.sh');
    await tab(page, 'Prompt').click();
    await see(page, /Ralph Wiggum Loop - Iteration 1/);
    await tab(page, 'Raw log').click();
    await see(page, '"text":"I read the **code** first."');
    expect(problems).toEqual([]);
  });

  pageTest('is the same after the page is loaded again, and on a second page', async () => {
    const project = createProject({
      agent: [`${message('Hello.')}\n${waitsFor('go')}\n${message('Bye.')}\n${message('<promise>COMPLETE</promise>')}`],
    });
    const run = project.start(['ralph', '--change', change, '--no-commit']);
    const web = await startWeb(project);
    const first = await openPage(browser(), web.url);
    await first.page.getByRole('link', { name: change }).click();
    await see(first.page.getByRole('log'), 'Hello.');
    const address = first.page.url();

    await first.page.reload();
    await see(first.page.getByRole('log'), 'Hello.');
    const second = await openPage(browser(), web.url);
    await second.page.goto(address);
    await see(second.page.getByRole('log'), 'Hello.');
    await tab(second.page, 'Raw log').click();
    const rawLog = second.page.getByRole('region', { name: 'log of iteration 1' });
    await see(rawLog, 'Hello.');

    project.write('go', '');
    for (const { page } of [first, second]) await see(page.locator('.run-title'), 'Complete');
    await see(first.page.getByRole('log'), 'Bye.');
    // Also what came after the log was read last.
    await see(rawLog, 'COMPLETE');
    await run.result;
    expect([...first.problems, ...second.problems]).toEqual([]);
  });

  pageTest('continues where it was when the server was killed and started again', async () => {
    const before = `${message('Before.')}\n${message(manyLines)}`;
    const project = createProject({
      agent: [`${before}\n${waitsFor('go')}\n${message('After.')}\n${message('<promise>COMPLETE</promise>')}`],
    });
    const run = project.start(['ralph', '--change', change, '--no-commit']);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.getByRole('link', { name: change }).click();
    const log = page.getByRole('log');
    await see(log, 'Line 80.');
    await eventually(() => log.evaluate((element) => element.scrollTop > 0), 'the end to be shown');
    await log.evaluate((element) => element.scrollTo(0, 100));

    web.kill('SIGKILL');
    await web.result;
    await see(page, 'Reconnecting');
    project.write('go', '');
    expect((await run.result).code).toBe(0);
    await startWeb(project, '--port', web.port);

    await see(page, 'Live');
    await see(page.locator('.run-title'), 'Complete');
    await see(log, 'After.');
    expect(await log.getByText('Line 80.').count()).toBe(1);
    expect(await log.evaluate((element) => element.scrollTop)).toBe(100);
    expect(problems).toEqual([]);
  });

  pageTest('does not move what is read when more arrives', async () => {
    const project = createProject({
      agent: [`${message(manyLines)}\n${waitsFor('go')}\n${message('One more.')}\n${waitsFor('end')}`],
    });
    project.start(['ralph', '--change', change, '--no-commit']);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.getByRole('link', { name: change }).click();
    const log = page.getByRole('log');
    await see(log, 'Line 80.');
    // It starts at the end, and the reader goes up.
    await eventually(() => log.evaluate((element) => element.scrollTop > 0), 'the end to be shown');
    await log.evaluate((element) => element.scrollTo(0, 100));
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();

    project.write('go', '');
    await see(log, 'One more.');
    expect(await log.evaluate((element) => element.scrollTop)).toBe(100);

    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor({ state: 'detached' });
    expect(
      await log.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight),
    ).toBeLessThan(50);
    project.write('end', '');
    expect(problems).toEqual([]);
  });

  pageTest('that was killed shows what it did, even when a newer one has started', async () => {
    const project = createProject({
      agent: [`${message('I was cut off.')}\n${waitsFor('never')}`, message('<promise>COMPLETE</promise>')],
    });
    const run = project.start(['ralph', '--change', change]);
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(`#/change/${change}/latest`, web.url).href);
    await see(page.getByRole('log'), 'I was cut off.');
    run.kill('SIGKILL');
    await see(page.locator('.run-title'), 'Interrupted');
    await page.reload();
    await see(page.getByRole('region', { name: 'Timeline' }), 'Interrupted');
    await see(page.getByRole('log'), 'I was cut off.');
    await page.keyboard.press('3');
    await see(page, 'The iteration was cut off.');

    // Who reads a part of it keeps it.
    await project.spool('ralph', '--change', change, '--fresh');
    await see(page, 'This is an earlier run of the change.');
    await tab(page, 'Conversation').click();
    await see(page.getByRole('log'), 'I was cut off.');
    await tab(page, 'Show the latest run').click();
    await see(page.locator('.run-title'), 'Complete');
    await page.goBack();
    await see(page.getByRole('log'), 'I was cut off.');
    expect(problems).toEqual([]);
  });

  if (process.platform === 'linux')
    pageTest('shows the iterations, the conversation and the log of an agent that stays running', async () => {
      const project = await createAgentProject('opencode', twoIterations, {}, null);
      const web = await startWeb(project.plain);
      const { page, problems } = await openPage(browser(), web.url);

      const result = await project.run('ralph', 'Go.', '--change', change, '--allow-all');
      expect(result).toMatchObject({ code: 0 });
      expect(project.history()).toMatchObject([{ end: 'answered' }, { end: 'answered' }]);
      await page.getByRole('link', { name: change }).click();

      await see(page.locator('.run-title'), 'Complete');
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await see(timeline, 'Done');
      await timeline.getByRole('link', { name: /#1/ }).click();
      const conversation = page.getByRole('log');
      await see(conversation, 'I work on 1.');
      await see(conversation, 'echo 1 >> made.txt');
      await see(conversation, 'There is more to do.');
      await tab(page, 'Diff').click();
      await see(page, 'made.txt');
      await tab(page, 'Raw log').click();
      const rawLog = page.getByRole('region', { name: 'log of iteration 1' });
      await see(rawLog, '"method":"session/prompt"');
      await see(rawLog, '"stopReason":"end_turn"');
      expect(problems).toEqual([]);
    });
});

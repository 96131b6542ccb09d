import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { openPage } from '../support/browser.ts';
import { button, describePage, pageTest, see } from '../support/page.ts';
import { change, createProject } from '../support/project.ts';
import { message, spends, startWeb } from '../support/page-server.ts';

const tasks = `.spool/changes/${change}/tasks.md`;
const work = (number: number, ...more: string[]) =>
  [
    `seq ${number} > ${number}.txt`,
    `sed -i 's/\\[ \\] ${number}/[x] ${number}/' ${tasks}`,
    spends(0.25 * number),
    ...more,
  ].join('\n');

describePage('the charts', (browser) => {
  pageTest('show exact values, zoom, and are saved as SVG, PNG and CSV', async () => {
    const project = createProject({
      files: { [tasks]: '- [ ] 1. One\n- [ ] 2. Two\n- [ ] 3. Three\n' },
      agent: [work(1), work(2), work(3, message('<promise>COMPLETE</promise>'))],
    });
    await project.spool('ralph', '--change', change, '--max-cost', '2');
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.goto(new URL(`#/change/${change}/latest/charts`, web.url).href);
    const chart = page.getByRole('region', { name: 'Cost and tokens' });
    await see(chart, '$1.5');

    // With the keyboard, value by value.
    const plot = chart.getByRole('group', { name: 'Arrow keys' });
    await plot.focus();
    await page.keyboard.press('Home');
    await see(chart, 'Iteration 1');
    await see(chart, '$0.25');
    await page.keyboard.press('ArrowRight');
    await see(chart, '$0.75');
    await see(chart, '2,200');
    await page.keyboard.press('+');
    await button(chart, 'Reset zoom').click();
    await button(chart, 'Reset zoom').waitFor({ state: 'detached' });

    // With the mouse: a drag zooms, a double click shows all again.
    const box = (await plot.locator('.u-over').boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await button(chart, 'Reset zoom').waitFor();
    await page.mouse.dblclick(box.x + box.width / 2, box.y + 50);
    await button(chart, 'Reset zoom').waitFor({ state: 'detached' });

    await chart.getByText('Table').click();
    await chart.getByRole('row').first().waitFor();
    expect(await chart.getByRole('row').allInnerTexts()).toEqual([
      'Iteration\tCost\tTokens',
      'Iteration 1\t$0.25\t1,100',
      'Iteration 2\t$0.75\t2,200',
      'Iteration 3\t$1.5\t3,300',
    ]);

    const saved = async (kind: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), button(chart, `as ${kind}`).click()]);
      expect(download.suggestedFilename()).toBe(`${change}-cost.${kind.toLowerCase()}`);
      return readFileSync(await download.path());
    };
    expect((await saved('CSV')).toString()).toBe(
      'Iteration,Cost,Tokens\r\n1,0.25,1100\r\n2,0.75,2200\r\n3,1.5,3300\r\n',
    );
    const svg = (await saved('SVG')).toString();
    const parsed = await page.evaluate<{ name: string; texts: string[] }>(`(() => {
      const root = new DOMParser().parseFromString(${JSON.stringify(svg)}, 'image/svg+xml').documentElement;
      return { name: root.nodeName, texts: [...root.querySelectorAll('text')].map((each) => each.textContent) };
    })()`);
    expect(parsed.name).toBe('svg');
    expect(parsed.texts).toContain(`Cost and tokens, in total · ${change}`);
    expect(parsed.texts).toContain('Limit $2');
    const png = await saved('PNG');
    expect(png.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
    // Its width and height.
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1920, 840]);

    await see(page.getByRole('region', { name: 'Tasks done' }), 'Tasks done 3');
    await see(page.getByRole('region', { name: 'Time per iteration' }), 'Agent');
    await see(page.getByRole('region', { name: 'Files and lines' }), 'Lines added 4');
    expect(problems).toEqual([]);
  });
});

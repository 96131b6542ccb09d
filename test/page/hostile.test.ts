import { expect } from 'vitest';
import { openPage } from '../support/browser.ts';
import { describePage, pageTest, see, show } from '../support/page.ts';
import { change, createProject } from '../support/project.ts';
import { message, shell, startWeb } from '../support/page-server.ts';

const image = '<img src=x onerror=alert(1)>';
const script = '<script>alert(2)</script>';
const link = '[press](javascript:alert(3))';

describePage('what others say', (browser) => {
  pageTest('is text on every view: in output, file names, branches, tasks and documents', async () => {
    const name = `${image}&${link}.js`;
    const branch = 'spool/<img/onerror=alert(4)>';
    const tasks = `.spool/changes/${change}/tasks.md`;
    const project = createProject({
      files: {
        [`.spool/changes/${change}/proposal.md`]: `# Proposal ${image}\n\n${script} ${link}\n`,
        [tasks]: `- [ ] Task ${image}\n- [x] ${script}\n`,
      },
      agent: [
        [
          message(`Words ${script} ${image} ${link}\n\n\`\`\`html\n${image}\n\`\`\``),
          shell(`echo '${image}'`),
          `echo '${script}' > '${name}'`,
          `sed -i 's/\\[ \\] Task/[x] Task/' ${tasks}`,
          `echo '${image}' >&2`,
          message('<promise>COMPLETE</promise>'),
        ].join('\n'),
      ],
    });
    await project.spool(
      'ralph',
      '--change',
      change,
      '--worktree',
      '--branch',
      branch,
      '--verify',
      `echo '${image}'; false`,
      '--max-iterations',
      '1',
    );
    const web = await startWeb(project);
    const { page, problems } = await openPage(browser(), web.url);
    await page.evaluate(
      `globalThis.seen = []; addEventListener('securitypolicyviolation', (event) => seen.push(event.violatedDirective))`,
    );
    const views = ['', '/1/conversation', '/1/diff', '/1/gate', '/1/prompt', '/1/log', '/charts', '/changes', '/plan'];
    const said = [branch, 'Words <script>', name, '<img', script, script, 'Iteration', name, 'Task <img'];
    await see(page, branch);
    for (const [index, view] of views.entries()) {
      await show(page, `#/change/${change}/latest${view}`);
      await see(page.getByRole('main'), said[index]!);
      const made = await page.evaluate<string[]>(
        `[...document.querySelectorAll('script, img, iframe, object, a[href^="javascript"], [onerror]')].map((each) => each.outerHTML)`,
      );
      expect(made, view).toEqual([expect.stringMatching(/^<script type="module" src="\/?app-\w+\.js"/)]);
    }
    expect(await page.evaluate('seen')).toEqual([]);
    expect(problems).toEqual([]);
  });
});

import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

/** What an agent can delete under the feet of a run. */

const run = ['ralph', '--change', change, '--max-iterations', '1'];

test('the run of a change that its agent deleted stays readable, and only commands that work are printed', async () => {
  const project = createProject({ agent: [`echo x > work.txt; rm -rf .spool; ${promise}`] });

  const result = await project.spool(...run);

  expect(result.code).toBe(3);
  expect(result.stderr).toContain('To restore it: git restore --source=');
  expect(result.stderr).not.toContain('To accept it');
  expect(result.stderr).toMatch(/^ {2}Change +deleted$/m);
  const commands = [...result.stderr.matchAll(/^ {2}\S[^\n]*? {2,}spool (.*)$/gm)].map(([, words]) =>
    words!.split(' '),
  );
  expect(commands.map(([name]) => name)).toEqual(['diff']);
  for (const words of [...commands, ['status', '002-01']])
    expect(await project.spool(...words)).toMatchObject({ code: 0, stderr: '' });
  const status = await project.spool('status', '002-01');
  expect(status.stdout).toMatch(/^ {2}Change +deleted$/m);
  expect(status.stdout).not.toContain('--resume');
  const all = await project.spool('status');
  expect(all.stdout).toMatch(/^limit +002-01.* change deleted; stopped at --max-iterations 1/m);
  expect(all.stdout).not.toContain('archived');
});

test('commits on no branch are not called uncommitted', async () => {
  const project = createProject({ agent: [`git checkout -q --detach; echo x > work.txt; ${promise}`] });

  const { stderr } = await project.spool(...run);

  expect(stderr).toMatch(/^ {2}No branch +commit [\da-f]{8} with 1 file: work\.txt\. To keep it: git branch/m);
  expect(stderr).not.toMatch(/^ {2}Uncommitted/m);
});

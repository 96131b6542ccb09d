import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { createAgentProject } from '../support/agent.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const second = '002-02_second';
const third = '003-01_third';
const files = {
  [`.spool/changes/${second}/proposal.md`]: '# Second\n',
  [`.spool/changes/${third}/proposal.md`]: '# Third\n',
};
/** Reads the change from the prompt. */
const which = `change=$(sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p' "$call/prompt")`;

test.each([
  ['--change twice', ['--change', change, '--change', '003'], [change, third]],
  ['--change with a comma', ['--change', `${change},003-01`], [change, third]],
  ['--module', ['--module', '002'], [change, second]],
  ['--all', ['--all'], [change, second, third]],
])('%s runs one change after the other and prints a table at the end', async (_, args, expected) => {
  const project = createProject({ files, agent: [`${which}; echo "$change" >> order.txt; ${promise}`] });

  const result = await project.spool('ralph', ...args);

  expect(result).toMatchObject({ code: 0 });
  expect(project.read('order.txt').trimEnd().split('\n')).toEqual(expected);
  for (const id of expected) expect(result.stderr).toMatch(new RegExp(`^${id} +complete +1 +[\\d.]+m?s +1 `, 'm'));
  expect(project.git('log', '--format=%s').split('\n')).toHaveLength(expected.length + 1);
});

test('a failed change does not stop the others, the highest exit code is returned, and a second call runs the rest', async () => {
  const script = `${which}; case $change in *second) [ -e "$HOME/fixed" ] || exit 3;; esac; ${promise}`;
  const project = createProject({
    files: { ...files, [`.spool/changes/${third}/proposal.md`]: null, [`.spool/changes/${third}/tasks.md`]: '' },
    agent: [script],
  });

  const first = await project.spool('ralph', '--all', '--fail-fast');
  expect(first).toMatchObject({ code: 1 });
  expect(first.stderr).toMatch(new RegExp(`^${change} +complete`, 'm'));
  expect(first.stderr).toMatch(new RegExp(`^${second} +failed`, 'm'));
  expect(first.stderr).toMatch(new RegExp(`^${third} +not started .* has no proposal`, 'm'));

  project.write('../home/fixed', '');
  project.write(`.spool/changes/${third}/proposal.md`, '# Third\n');
  const again = await project.spool('ralph', '--all', '--fail-fast');
  expect(again).toMatchObject({ code: 0 });
  expect(again.stderr).toMatch(
    new RegExp(`^${change} +complete .* already complete \\(--fresh to run it again\\)`, 'm'),
  );
  expect(project.history(change)).toHaveLength(1);
});

test('a complete change runs again after a task is added', async () => {
  const tasks = `.spool/changes/${second}/tasks.md`;
  const script = `${which}; echo "$change" >> "$HOME/order"; sed -i 's/\\[ \\]/[x]/' .spool/changes/*/tasks.md; ${promise}`;
  const project = createProject({ files: { ...files, [tasks]: '- [ ] one\n' }, agent: [script] });
  expect(await project.spool('ralph', '--all')).toMatchObject({ code: 0 });
  project.write(tasks, `${project.read(tasks)}- [ ] two\n`);

  expect(await project.spool('ralph', '--all', '--require-tasks', '--change', second)).toMatchObject({ code: 0 });
  expect(await project.spool('ralph', '--all')).toMatchObject({ code: 0 });

  const order = readFileSync(join(project.home, 'order'), 'utf8').trimEnd().split('\n');
  expect(order).toEqual([change, second, third, second]);
});

test('--parallel runs in worktrees, each with its own state, log and database', async () => {
  const script = `${which}; touch "$HOME/at-work-$change"; until [ "$(ls "$HOME" | grep -c at-work)" = 3 ]; do sleep 0.01; done
    echo "$OPENCODE_DB" > db.txt; ${promise}`;
  const project = createProject({ files, agent: [script] });

  const result = await project.spool('ralph', '--all', '--parallel', '3');

  expect(result).toMatchObject({ code: 0, stdout: '' });
  const databases = [change, second, third].map((id) => project.git('show', `ralph/${id}:db.txt`));
  expect(new Set(databases).size).toBe(3);
  expect(databases[0]).toMatch(new RegExp(`${change}/agent/opencode\\.db$`));
  for (const id of [change, second, third]) {
    expect(project.history(id)).toMatchObject([{ completionFound: true }]);
    expect(result.stderr).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${id}: complete, done in iteration 1`, 'm'));
    expect(result.stderr).toMatch(new RegExp(`^${id} +complete .* ralph/${id}$`, 'm'));
  }
  expect(readdirSync(project.path('.spool/worktrees'))).toEqual(['.gitignore']);
  expect(project.git('status', '--porcelain')).toBe('');
});

test('a limit on total cost ends all runs', async () => {
  const step = { type: 'step_finish', part: { reason: 'stop', cost: 2, tokens: { input: 1, output: 0 } } };
  const project = createProject({ files, agent: [`echo $$ > work.txt; ${says(JSON.stringify(step))}`] });

  const result = await project.spool('ralph', '--all', '--parallel', '3', '--max-cost', '9');

  expect(result).toMatchObject({ code: 3 });
  const spent = [change, second, third]
    .flatMap((id) => project.history(id))
    .reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0);
  expect(spent).toBeGreaterThanOrEqual(9);
  expect(spent).toBeLessThanOrEqual(14);
  for (const id of [change, second, third]) expect(project.state(id)).toMatchObject({ cause: 'max-cost' });
});

test.each([
  ['with the same title', 'accounts', 'Signing in'],
  ['with another case and spacing', 'Accounts', 'signing  IN'],
])('two changes that claim the same requirement do not run at the same time: %s', async (_, folder, title) => {
  const spec = '## ADDED Requirements\n\n### Requirement: Signing in\nIt SHALL.\n';
  const script = `${which}; case $change in *third) ;; *) mkdir "$HOME/only-one" || touch "$HOME/both"; esac; sleep 0.3; rmdir "$HOME/only-one"; ${promise}`;
  const project = createProject({
    files: {
      ...files,
      [`.spool/changes/${change}/specs/accounts/spec.md`]: spec,
      [`.spool/changes/${second}/specs/${folder}/spec.md`]: spec.replace('Signing in', title),
      [`.spool/changes/${third}/specs/other/spec.md`]: spec,
    },
    agent: [script],
  });

  const result = await project.spool('ralph', '--all', '--parallel', '3');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain(
    `${second} waits for ${change}: both change the requirement "accounts: Signing in".\n`,
  );
  expect(existsSync(join(project.home, 'both'))).toBe(false);
});

test('twenty changes, four at a time, killed and resumed, are each done once', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `010-${String(index + 1).padStart(2, '0')}_change`);
  const project = createProject({
    files: Object.fromEntries(ids.map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n`])),
    agent: [`${which}; echo "$change" >> "$HOME/log"; echo "$change" > "$change.txt"; sleep 0.1; ${promise}`],
  });
  const args = ['ralph', '--module', '010', '--parallel', '4'];
  const first = project.start(args);
  await eventually(
    () =>
      existsSync(join(project.home, 'log')) && readFileSync(join(project.home, 'log'), 'utf8').split('\n').length > 8,
    'some of them',
    60_000,
  );
  first.kill('SIGKILL');
  await first.result;

  const again = await project.spool(...args);

  expect(again.code, again.stderr).toBe(0);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  for (const id of ids) {
    expect(project.state(id)).toMatchObject({ status: 'complete' });
    expect(project.history(id).filter(({ completionFound }) => completionFound)).toHaveLength(1);
    expect(project.git('show', `ralph/${id}:${id}.txt`)).toBe(id);
  }
  expect(project.git('status', '--porcelain')).toBe('');
});

test('Ctrl-C ends all runs and lists those that had not started', async () => {
  const project = createProject({ files, agent: ['touch "$HOME/at-work-$n"; sleep 300'] });
  const loop = project.start(['ralph', '--all', '--parallel', '2']);
  const atWork = (n: number) => existsSync(join(project.home, `at-work-${n}`));
  await eventually(() => atWork(1) && atWork(2), 'two of them to work', 60_000);
  loop.kill('SIGINT');

  const result = await loop.result;

  expect(result).toMatchObject({ code: 130 });
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  expect(result.stderr).toMatch(new RegExp(`^${change} +interrupted`, 'm'));
  expect(result.stderr).toMatch(new RegExp(`^${third} +not started .* interrupted$`, 'm'));
});

test('--json adds the change to each event', async () => {
  const project = createProject({ files, agent: [promise] });

  const result = await project.spool('ralph', '--module', '002', '--json');

  const events = result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { change: string; type: string });
  expect(events.filter(({ type }) => type === 'run-ended').map((event) => event.change)).toEqual([change, second]);
});

test('two loops of the real OpenCode run at the same time', async () => {
  const project = await createAgentProject(
    'opencode',
    ({ step }) =>
      step === 0
        ? { text: 'I work.', tools: [{ shell: 'echo x > made.txt' }] }
        : { text: 'Done.\n\n<promise>COMPLETE</promise>' },
    { files },
  );

  const result = await project.run('ralph', '--module', '002', '--parallel', '2', '--allow-all');

  expect(result).toMatchObject({ code: 0 });
  for (const id of [change, second]) {
    expect(project.git('show', `ralph/${id}:made.txt`)).toBe('x');
    expect(existsSync(project.stateFile('agent/opencode.db', id))).toBe(true);
  }
});

test('a change whose state cannot be written does not stop the others', async () => {
  const project = createProject({ files, agent: [promise] });
  project.write(`.spool/.state/ralph/${second}`, 'a file where a folder should be');

  const result = await project.spool('ralph', '--all', '--parallel', '2');

  expect(result).toMatchObject({ code: 1 });
  expect(result.stderr).toMatch(new RegExp(`^${change} +complete`, 'm'));
  expect(result.stderr).toMatch(new RegExp(`^${second} +not started`, 'm'));
  expect(result.stderr).toMatch(new RegExp(`^${third} +complete`, 'm'));
});

test('a change whose run ends with an error is listed as failed, with the error', async () => {
  const state = `"$(dirname "$(git rev-parse --git-common-dir)")/.spool/.state/ralph/$change"`;
  const script = `${which}; case $change in *second) rm -rf ${state}; touch ${state};; esac; ${promise}`;
  const project = createProject({ files, agent: [script] });

  const result = await project.spool('ralph', '--all', '--parallel', '2');

  expect(result).toMatchObject({ code: 1 });
  expect(result.stderr).toMatch(new RegExp(`^${second} +failed .* Cannot `, 'm'));
  expect(result.stderr).toMatch(new RegExp(`^${third} +complete`, 'm'));
});

test('fails at once with one branch for several changes in worktrees', async () => {
  const project = createProject({ files: { '.spool/changes/002-02_more/proposal.md': '# More\n' }, agent: [promise] });

  expect(await project.spool('ralph', '--all', '--parallel', '2', '--branch', 'feat')).toMatchObject({
    code: 2,
    stderr: 'spool: --branch and several changes in worktrees cannot be used together.\n',
  });
  expect(project.calls()).toEqual([]);
});

test('the error of a change in a batch names the change once', async () => {
  const project = createProject({ files, agent: [waitsFor('go-on'), promise] });
  const limited = ['ralph', '--max-iterations', '1', '--change', change];
  const loop = project.start(limited);
  await loop.printed('waiting for go-on');
  await project.spool('stop', change);
  project.write('go-on', '');
  await loop.result;

  const { stderr } = await project.spool(...limited, '--change', second);

  expect(stderr).toMatch(new RegExp(`^${change} was not resumed: it has used 1 iteration`, 'm'));
  expect(stderr).not.toContain(`${change}: ${change}`);
});

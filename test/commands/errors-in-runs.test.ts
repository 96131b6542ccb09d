import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Puts a folder in place of the history, which cannot be written then. */
const ruin = (id = change) => {
  const history = `"$SPOOL_TEST_STATE/${id}/history.jsonl"`;
  return `rm -f ${history}; mkdir -p ${history}`;
};

const withRuin = (ids: readonly string[], agent: readonly string[]) => {
  const files = Object.fromEntries(ids.map((id) => [`.spool/changes/${id}/proposal.md`, '# It\n\nThe proposal.\n']));
  const project = createProject({ files, agent });
  return { ...project, env: { ...project.env, SPOOL_TEST_STATE: project.path('.spool/.state/ralph') } };
};

/** Wide enough for a message with a path. */
const wide = { columns: 200 };

test('an error of the system in the middle of a run is on a separate line, and nothing is redrawn behind it', async () => {
  const project = withRuin([], [`${says('at work')}; ${ruin()}`]);
  // Longer than it takes until the status line is drawn again.
  const terminal = openTerminal(project, ['ralph', 'Go.', '--change', change, '--notify', 'sleep 1.5'], wide);

  expect(await terminal.exitCode).toBe(1);

  const lines = terminal.lines().map(({ text }) => text);
  expect(terminal.screen()).toContain('OpenCode is working…');
  expect(lines.filter((line) => line.includes('OpenCode is working'))).toEqual([]);
  expect(lines.filter((line) => line.includes('history.jsonl'))).toEqual([expect.stringMatching(/^spool: /)]);
});

test('the line of a run that ends with an error leaves the dashboard while the others work', async () => {
  const [first, second] = ['001-01_one', '001-02_two'];
  const isSecond = 'grep -q "^## Change Proposal (001-02_two)" "$call/prompt"';
  const agent = `if ${isSecond}; then until [ -e "$HOME/go" ]; do sleep 0.01; done; else ${ruin(first)}; fi; ${promise}`;
  const project = withRuin([first, second], [agent]);
  const terminal = openTerminal(project, ['ralph', '--change', first, '--change', second, '--parallel', '2'], wide);
  const working = () => terminal.lines().filter(({ text }) => text.startsWith('●'));
  const isShown = (pattern: RegExp) => terminal.lines().some(({ text }) => pattern.test(text));
  await eventually(() => isShown(/^001-01_one: .*history\.jsonl/), 'the error of the first');

  await eventually(() => isShown(/^● 001-02_two .*#1\/50 .*working/), 'the line of the second');
  expect(working()).toHaveLength(1);
  project.write('../home/go', '');

  expect(await terminal.exitCode).toBe(1);
  expect(working()).toEqual([]);
});

test('the status of a run that ended with an error says which, until the run is resumed', async () => {
  const project = withRuin([], [ruin(), promise]);
  const run = ['ralph', 'Go.', '--change', change];
  const ended = await project.start(run, { env: project.env }).result;
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('history.jsonl: it is a folder.') });

  rmSync(project.stateFile('history.jsonl'), { recursive: true });
  const status = await project.spool('ralph', '--change', change, '--status');

  expect(status.stdout).toMatch(
    / {2}Interrupted: ended by an error: Cannot access .*history\.jsonl: it is a folder\.$/m,
  );
  expect(project.state()).toMatchObject({ status: 'running', error: expect.stringContaining('history.jsonl') });
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  expect(project.state()).toMatchObject({ status: 'complete', error: null });
});

test('the status of a run that was killed claims no reason', async () => {
  const project = createProject({ agent: ['kill -KILL $PPID; sleep 5'] });
  const run = ['ralph', '--change', change];
  expect(await project.spool(...run)).toMatchObject({ signal: 'SIGKILL' });

  const { stdout } = await project.spool(...run, '--status');

  expect(stdout).toContain('  Interrupted: the process is gone: it was killed, or could not save why it ended.\n');
});

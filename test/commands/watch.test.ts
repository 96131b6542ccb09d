import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { widthOf } from '../../src/text/format.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { fullScreenOf } from '../support/full-screen.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const other = '002-02_other-change-with-a-long-name-that-fills-the-line';
const files = { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nText.\n' };

const watch = (project: TestProject, columns: number) => {
  const terminal = openTerminal(project, ['watch'], { columns });
  const screen = () => fullScreenOf(terminal.raw());
  return {
    ...terminal,
    screen,
    row: (id: string) => screen().find((line) => line.includes(id.slice(0, 6))) ?? '',
    has: (pattern: RegExp) =>
      eventually(() => screen().some((line) => pattern.test(line)), `${pattern} on the screen`).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it shows:\n${screen().join('\n')}`);
        },
      ),
  };
};

test.each([120, 80, 50])('at %d columns all runs are watched, and a running one is steered', async (columns) => {
  const project = createProject({ files, agent: [promise, waitsFor('never')] });
  await project.spool('ralph', '--change', other);
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');

  const terminal = watch(project, columns);
  await terminal.has(/^2 runs · 1 running/);
  await terminal.has(/^> running +002-01/);
  expect(terminal.row(other)).toMatch(/^ {2}complete +002-02_/);
  if (columns > 50) expect(terminal.row(change)).toMatch(/waiting f/);
  terminal.type('\u001b[B');
  await terminal.has(/^> complete +002-02/);
  terminal.type('s');
  await terminal.has(/^Not running: 002-02/);
  terminal.type('k');
  terminal.type('c');
  await terminal.has(/^Context \(Enter adds/);
  terminal.type('Mind the gaps.\u007f\u007f.\r');
  await terminal.has(/^Added\. Iteration 2 will read it\./);
  expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toBe('Mind the gap.\n');
  terminal.resize(columns - 10);
  terminal.type('S');
  await terminal.has(/^Stop now\? y\/n/);
  for (const line of terminal.screen()) expect(widthOf(line)).toBeLessThanOrEqual(columns - 10);
  terminal.type('n');
  await terminal.has(/^↑↓/);
  expect(terminal.row(change)).toContain('running');
  terminal.type('S');
  await terminal.has(/^Stop now/);
  terminal.type('y');
  expect(await loop.result).toMatchObject({ code: 143 });
  await terminal.has(/interrupted +002-01/);
  terminal.type('q');

  expect(await terminal.exitCode).toBe(0);
  expect(terminal.raw().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('a run is opened and followed, and shown as interrupted when it is killed', async () => {
  const project = createProject({ files, agent: [waitsFor('one'), waitsFor('never')] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for one');
  const terminal = watch(project, 80);
  await terminal.has(/^> running/);

  terminal.type('\r');
  await eventually(() => terminal.lines().some(({ text }) => text.includes('waiting for one')), 'the live view');
  project.write('one', '');
  await eventually(() => terminal.lines().some(({ text }) => text.includes('waiting for never')), 'the next iteration');
  terminal.type('q');
  await terminal.has(/^> running.* 2\/50/);
  loop.kill('SIGKILL');
  await terminal.has(/^> interrupted +002-01/);
  terminal.type('\r');
  // Above its live view, and below its end.
  await eventually(() => terminal.raw().split('q or Esc: back to all runs').length > 3, 'the end of its live view');
  terminal.type('\u0003');

  expect(await terminal.exitCode).toBe(130);
  expect(terminal.raw().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('without a terminal the runs are printed once', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool('ralph', '--change', change);

  const result = await project.spool('watch');

  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toBe((await project.spool('status')).stdout);
  expect(result.stdout).toMatch(new RegExp(`^complete +${change}`, 'm'));
});

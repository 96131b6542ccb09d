import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { widthOf } from '../../src/text/format.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject } from '../support/project.ts';
import { openWatch } from '../support/watch.ts';

const other = '002-02_other-change-with-a-long-name-that-fills-the-line';
const files = { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nText.\n' };

const waits = (file: string) => `until [ -e "$HOME/${file}" ]; do sleep 0.01; done`;

test.each([120, 80, 50])('at %d columns all runs are watched, and a running one is steered', async (columns) => {
  const project = createProject({ files, agent: [promise, waitsFor('never')] });
  await project.spool('ralph', '--change', other);
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');

  const terminal = openWatch(project, { columns });
  await terminal.has(/^2 runs · 1 running/);
  await terminal.has(/^> running +002-01/);
  expect(terminal.row(other)).toMatch(/^ {2}complete +002-02_/);
  if (columns > 50) await terminal.has(/^> running +002-01.* waiting f/);
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
  const terminal = openWatch(project, { columns: 80 });
  await terminal.has(/^> running/);

  terminal.type('\r');
  await eventually(() => terminal.lines().some(({ text }) => text.includes('waiting for one')), 'the live view');
  project.write('one', '');
  await eventually(() => terminal.lines().some(({ text }) => text.includes('waiting for never')), 'the next iteration');
  // A window that was small and grows shows again what it showed before.
  const before = terminal.raw().length;
  terminal.resize(60);
  await eventually(
    () => /\u001b\[H\u001b\[J[^]*waiting for one[^]*waiting for never/.test(terminal.raw().slice(before)),
    'the lines to be drawn again',
  );
  terminal.resize(80);
  terminal.type('q');
  await terminal.has(/^> running.* 2\/50/);
  loop.kill('SIGKILL');
  await terminal.has(/^> interrupted +002-01/);
  terminal.type('\r');
  await terminal.bottom(/^ q or Esc back · s stop/);
  terminal.type('\u0003');

  expect(await terminal.exitCode).toBe(130);
  expect(terminal.raw().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('a run that is killed while it is opened says so, how to resume it, and what is left of it', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');
  const terminal = openWatch(project, { columns: 140 });
  await terminal.has(/^> running/);
  terminal.type('\r');
  await terminal.shown(/^waiting for never/);

  loop.kill('SIGKILL');

  await terminal.shown(/Interrupted: the process is gone/);
  await terminal.shown(/^ {2}Left over +\d process/);
  await terminal.shown(new RegExp(`^ {2}Resume +spool ralph --change ${change}`));
  terminal.type('q');
  await terminal.has(/^> interrupted .*; \d process/);
  terminal.type('s');
  await terminal.has(/^Is not running: its process died in iteration 1\. Cleaned up \d leftover process/);
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
});

test.each([100, 50])('at %d columns the keys also work while a run is opened', async (columns) => {
  const project = createProject({ agent: [waitsFor('one'), promise] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for one');
  const terminal = openWatch(project, { columns });
  await terminal.has(/^> running/);
  terminal.type('\r');
  await terminal.shown(/^waiting for one/);
  await terminal.bottom(/^ q (?:or Esc )?back/);

  terminal.type('p');
  await terminal.bottom(/^ Pauses after iteration 1, unless the run ends/);
  await terminal.shown(/^Pause requested/);
  terminal.type('r');
  await terminal.bottom(/^ Continues without a pause: iteration 1/);
  terminal.type('c');
  await terminal.bottom(/^ Context \(Enter adds/);
  terminal.type('Mind the gap.\r');
  await terminal.bottom(/^ Added\. Iteration 2 will read it\./);
  expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toBe('Mind the gap.\n');
  terminal.type('S');
  await terminal.bottom(/^ Stop now\? y\/n/);
  terminal.type('n');
  await terminal.bottom(/^ q (?:or Esc )?back/);
  terminal.type('s');
  await terminal.bottom(/^ Stops after iteration 1\./);
  project.write('one', '');
  expect(await loop.result).toMatchObject({ code: 143 });
  await terminal.shown(/Interrupted: stopped by/);
  terminal.type('\u001b');
  await terminal.has(/^> interrupted/);
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
});

test('Ctrl-Z suspends it, with the terminal as it was before, and fg draws it again', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');
  const suspended = (name: string) => `stty -a > ../home/${name}; echo "suspended: ${name}"; ${waits(`after-${name}`)}`;
  const script = `"$@"; ${suspended('table')}; fg; ${suspended('run')}; fg`;
  const terminal = openWatch(project, { columns: 80, script });
  const modesAt = (name: string) => readFileSync(project.path(`../home/${name}`), 'utf8');
  /** What was written since the shell had the terminal. */
  const since = (name: string) => terminal.raw().split(`suspended: ${name}\r\n`)[1] ?? '';

  await terminal.has(/^> running +002-01/);
  terminal.type('\u001a');
  await terminal.shows('suspended: table');
  expect(terminal.raw()).toMatch(/\u001b\[\?25h\u001b\[\?1049l[^]*suspended: table/);
  expect(modesAt('table')).toMatch(/\bicanon\b/);
  expect(modesAt('table')).not.toMatch(/-icanon|-echo\b|-isig/);
  project.write('../home/after-table', '');
  await eventually(() => /\u001b\[\?1049h[^]*running[^]*\u001b\[J/.test(since('table')), 'the table again');

  terminal.type('\r');
  await terminal.shown(/waiting for never/);
  terminal.type('\u001a');
  await terminal.shows('suspended: run');
  // The screen of the shell, without any line of the live view.
  const [, left = ''] = since('table').split('\u001b[?1049l');
  expect(left).not.toMatch(/back|working/);
  expect(modesAt('run')).not.toContain('-icanon');
  project.write('../home/after-run', '');
  await eventually(() => /\u001b\[\?1049h[^]*waiting for never[^]*q or Esc back/.test(since('run')), 'the run again');
  terminal.type('q');
  await terminal.has(/^> running +002-01/);
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
  loop.kill('SIGTERM');
  await loop.result;
});

test('archived runs are not listed, and queued changes are', async () => {
  const project = createProject({ files, agent: [promise, waitsFor('one'), promise] });
  await project.spool('ralph', '--change', other);
  const third = '002-03_third';
  project.write(`.spool/changes/${third}/proposal.md`, '# Third\n');
  expect(await project.spool('archive', other)).toMatchObject({ code: 0 });
  const loop = project.start(['ralph', '--all']);
  await loop.printed('waiting for one');
  const terminal = openWatch(project, { columns: 100 });
  await terminal.has(/^2 runs · 1 running · 1 queued/);
  await terminal.has(/^ {2}queued +002-03.*in the queue of PID/);
  expect(terminal.screen().join('\n')).not.toContain('002-02');

  terminal.type('j\r');
  await terminal.has(/^Not started yet: 002-03/);
  terminal.type('p');
  await terminal.has(/has not started: it is in the queue/);
  terminal.type('s');
  await terminal.has(/^Was removed from the queue of PID/);
  await terminal.has(/^1 run · 1 running/);
  project.write('one', '');
  expect(await loop.result).toMatchObject({ code: 143 });
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
});

test('without a terminal the runs are printed once', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool('ralph', '--change', change);

  const result = await project.spool('watch');

  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toBe((await project.spool('status')).stdout);
  expect(result.stdout).toMatch(new RegExp(`^complete +${change}`, 'm'));
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, spoolProgram } from '../support/project.ts';
import { openShell, openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change];

test('a run under nohup survives its terminal', async () => {
  const project = createProject({ agent: [`touch at-work; ${waitsFor('go-on')}; ${promise}`] });
  const log = join(project.home, 'log');
  const spool = `"${process.execPath}" "${spoolProgram}" ${run.join(' ')}`;
  const shell = openShell(project, `nohup ${spool} > "${log}" 2>&1 & wait`);
  await eventually(() => project.exists('at-work'), 'the agent to work');

  await shell.close();
  project.write('go-on', '');

  await eventually(() => project.history().length > 0, 'the iteration to be recorded');
  await eventually(() => project.state().status !== 'running', 'the run to end');
  expect(project.state()).toMatchObject({ status: 'complete' });
  expect(readFileSync(log, 'utf8')).not.toContain('SIGHUP');
});

test('a run without a terminal ignores SIGHUP and stops on SIGTERM', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${waitsFor('never')}`] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');

  loop.kill('SIGHUP');
  project.write('go-on', '');
  await loop.printed('waiting for never');
  loop.kill('SIGTERM');

  expect(await loop.result).toMatchObject({ code: 143 });
  expect(project.state()).toMatchObject({ detail: 'stopped by SIGTERM' });
});

test('SIGHUP on a terminal stops the run and records it', async () => {
  const project = createProject({ agent: ['kill -HUP $PPID; sleep 300'] });
  const terminal = openTerminal(project, run);

  expect(await terminal.exitCode).toBe(129);
  expect(project.history()).toMatchObject([{ iteration: 1, end: 'interrupted' }]);
  expect(project.state()).toMatchObject({ status: 'interrupted', detail: 'stopped by SIGHUP' });
});

test('a run with --detach survives its terminal, and can be stopped afterwards', async () => {
  const agent = [`touch at-work; ${waitsFor('go-on')}`, `touch at-work-again; ${waitsFor('never')}`];
  const project = createProject({ agent });
  const spool = `"${process.execPath}" "${spoolProgram}" ${run.join(' ')} --detach`;
  const shell = openShell(project, `${spool} && touch detached; sleep 300`);
  await eventually(() => project.exists('detached') && project.exists('at-work'), 'the agent to work');

  await shell.close();
  project.write('go-on', '');

  await eventually(() => project.exists('at-work-again'), 'the next iteration');
  expect(await project.spool('stop', change, '--now')).toMatchObject({ code: 0 });
  await eventually(() => project.state().status === 'interrupted', 'the run to end');
  expect(project.state()).toMatchObject({ detail: 'stopped by request', finishedIterations: 2 });
});

import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ActionPreview, ActionResult, Overview } from '../../src/web/api.ts';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { processesWith } from '../support/processes.ts';
import { agentCalled, sendRaw, startWeb } from '../support/web.ts';

const files = { '.gitignore': 'go-*\n' };
const go = (project: TestProject, name: string) => writeFileSync(project.path(name), '');
const isOver = (project: TestProject, status: string) =>
  eventually(
    () => project.exists(`.spool/.state/ralph/${change}/state.json`) && project.state().status === status,
    status,
  );

test('a run is started, gets context, is paused, resumed and stopped', async () => {
  const project = createProject({
    files,
    agent: [waitsFor('go-1'), waitsFor('go-2'), `${says('three')}; ${waitsFor('go-3')}`],
  });
  const web = await startWeb(project);
  const act = async (action: object) =>
    (await web.post('/api/actions', { action: { change, ...action } })).json<ActionResult>();

  const start = { kind: 'start', change, maxIterations: 5, prompt: '- do it' };
  const preview = (await web.post('/api/preview', { action: start })).json<ActionPreview>();
  expect(preview.lines.join(' ')).toContain(`Starts a new run of ${change} in the background.`);
  expect(preview.lines.join(' ')).toContain('It ends after 5 iterations.');
  expect(preview.command).toBe(`spool ralph --change=${change} --detach --max-iterations=5 -- '- do it'`);
  expect(project.exists(`.spool/.state/ralph/${change}/state.json`)).toBe(false);
  const started = (await web.post('/api/actions', { action: start, token: preview.token })).json<ActionResult>();
  expect(started).toMatchObject({ ok: true, exitCode: 0 });
  await agentCalled(project, 1);
  expect(project.state()).toMatchObject({ status: 'running', maxIterations: 5 });
  expect(project.calls()[0]!.prompt).toContain('- do it');

  const context = await act({ kind: 'add-context', text: '--now "$(touch owned)" `id`' });
  expect(context).toMatchObject({ ok: true, output: expect.stringContaining('Iteration 2 will read it.') });
  expect(await act({ kind: 'pause' })).toMatchObject({
    ok: true,
    output: expect.stringContaining('pauses after iteration 1'),
  });
  go(project, 'go-1');
  await eventually(() => Boolean(project.state().pausedAt), 'the pause');
  expect(await act({ kind: 'resume' })).toMatchObject({ ok: true });
  await agentCalled(project, 2);
  expect(project.calls()[1]!.prompt).toContain('--now "$(touch owned)" `id`');
  expect(project.exists('owned')).toBe(false);
  const stops = await act({ kind: 'stop-after-iteration' });
  expect(stops).toMatchObject({ ok: true, output: expect.stringContaining('stops after iteration 2') });
  go(project, 'go-2');
  await isOver(project, 'interrupted');

  // The same command continues a run that was stopped.
  const again = (await web.post('/api/preview', { action: { kind: 'start', change } })).json<ActionPreview>();
  expect(again.lines[0]).toContain('Resumes the run');
  await web.post('/api/actions', { action: { kind: 'start', change }, token: again.token });
  await agentCalled(project, 3);
  const stopped = await web.confirm({ kind: 'stop-now', change });
  expect(stopped).toMatchObject({ ok: true });
  await isOver(project, 'interrupted');
  const cleared = await web.confirm({ kind: 'clear-context', change });
  expect(cleared).toMatchObject({ ok: true });
  const refused = await act({ kind: 'pause' });
  expect(refused).toMatchObject({ ok: false, exitCode: 2, output: expect.stringContaining('spool: ') });
}, 180_000);

test('rewinds after a preview that changes nothing', async () => {
  const project = createProject({ files, agent: ['echo 1 > a.txt', `echo 2 > a.txt; ${promise}`] });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);
  const action = { kind: 'rewind', change, to: '1' };

  const preview = (await web.post('/api/preview', { action })).json<ActionPreview>();
  expect(preview).toMatchObject({ output: 'M  a.txt', command: `spool rewind ${change} 1` });
  expect(project.read('a.txt')).toBe('2\n');
  expect((await web.post('/api/actions', { action, token: preview.token })).json<ActionResult>()).toMatchObject({
    ok: true,
  });
  expect(project.read('a.txt')).toBe('1\n');
  const missing = (await web.post('/api/preview', { action: { ...action, to: '9' } })).json<ActionPreview>();
  expect(missing).toMatchObject({ token: null, output: expect.stringContaining('has no checkpoint') });
}, 60_000);

test('previews of a change wait for each other, end with their page, and do not delay actions', async () => {
  const project = createProject({ files, agent: [`echo 1 > a.txt; ${promise}`] });
  const verify = 'test ! -e "$HOME/slow" || { echo $$ > "$HOME/verifying"; sleep 600; }';
  await project.spool('ralph', '--change', change, '--worktree', '--verify', verify);
  const web = await startWeb(project);
  const rewindTo = (to: string) => web.post('/api/preview', { action: { kind: 'rewind', change, to } });
  const both = await Promise.all([rewindTo('0'), rewindTo('1')]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);

  writeFileSync(join(project.home, 'slow'), '');
  const page = new AbortController();
  const land = { kind: 'land', change };
  const left = web.post('/api/preview', { action: land }, {}, page.signal).catch((error: Error) => error.name);
  const marker = join(project.home, 'verifying');
  await eventually(() => existsSync(marker) && readFileSync(marker, 'utf8') !== '', 'the verify command');
  const context = { kind: 'add-context', change, text: 'Use tabs.' };
  expect((await web.post('/api/actions', { action: context })).json<ActionResult>()).toMatchObject({ ok: true });
  page.abort();
  expect(await left).toBe('AbortError');
  await eventually(
    () => processesWith(`HOME=${project.home}`).every((pid) => pid === web.pid),
    'the end of the dry run',
  );
  expect((await rewindTo('0')).status).toBe(200);
}, 60_000);

test('lands after a preview that moves nothing', async () => {
  const project = createProject({ files, agent: [`echo 1 > a.txt; ${promise}`] });
  await project.spool('ralph', '--change', change, '--worktree', '--verify', 'test -e a.txt');
  const web = await startWeb(project);
  const before = project.git('rev-parse', 'main');
  expect((await web.read<Overview>('/api/overview')).rows).toMatchObject([
    { change, landed: false, branch: `ralph/${change}` },
  ]);

  const preview = (await web.post('/api/preview', { action: { kind: 'land', change } })).json<ActionPreview>();
  expect(preview.output).toContain('Verifying: test -e a.txt');
  expect(preview.output).toContain(`Would land ${change} on main: 1 commit, 1 file (+1 -0).`);
  expect(project.git('rev-parse', 'main')).toBe(before);
  const landed = (
    await web.post('/api/actions', { action: { kind: 'land', change }, token: preview.token })
  ).json<ActionResult>();
  expect(landed).toMatchObject({ ok: true, output: expect.stringContaining(`Landed ${change} on main`) });
  expect(project.read('a.txt')).toBe('1\n');
  expect((await web.read<Overview>('/api/overview')).rows).toMatchObject([{ change, landed: true }]);
}, 60_000);

test('a landing is undone when the server is stopped, and ends by itself when the server is killed', async () => {
  const project = createProject({ files, agent: [`echo 1 > a.txt; ${promise}`] });
  const verify =
    'test ! -e "$HOME/slow" || { echo $$ >> "$HOME/verifying"; until [ -e "$HOME/go" ]; do sleep 0.05; done; }';
  await project.spool('ralph', '--change', change, '--worktree', '--verify', verify);
  const before = project.git('rev-parse', 'main');
  const action = { kind: 'land', change };
  const verifying = join(project.home, 'verifying');
  const times = () => (existsSync(verifying) ? readFileSync(verifying, 'utf8').split('\n').length - 1 : 0);
  /** Ends the server while it lands. */
  const landing = async (signal: 'SIGTERM' | 'SIGKILL') => {
    rmSync(join(project.home, 'slow'), { force: true });
    const web = await startWeb(project);
    const { token } = (await web.post('/api/preview', { action })).json<ActionPreview>();
    writeFileSync(join(project.home, 'slow'), '');
    const known = times();
    const answer = web.post('/api/actions', { action, token }).catch((error: Error) => error.message);
    await eventually(() => times() > known, 'the verify command');
    web.kill(signal);
    expect(await answer).toBe('socket hang up');
    await web.result;
  };
  const isOver = () => eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the end of the landing');

  await landing('SIGTERM');
  await isOver();
  expect([project.git('rev-parse', 'main'), project.exists('a.txt')]).toEqual([before, false]);
  await landing('SIGKILL');
  writeFileSync(join(project.home, 'go'), '');
  await isOver();
  expect([project.git('rev-parse', 'main^'), project.exists('a.txt')]).toEqual([before, true]);
}, 120_000);

test('dangerous actions need the token of their preview, and it works once', async () => {
  const project = createProject({ files, agent: ['echo 1 > a.txt', `echo 2 > a.txt; ${promise}`] });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);
  const action = { kind: 'rewind', change, to: '1' };
  const token = async (of: object) => (await web.post('/api/preview', { action: of })).json<ActionPreview>().token;
  const status = async (of: object, given?: unknown) =>
    (await web.post('/api/actions', { action: of, token: given })).status;

  for (const kind of ['stop-now', 'start', 'land', 'clear-context'])
    expect([kind, await status({ kind, change })]).toEqual([kind, 409]);
  expect(await status(action)).toBe(409);
  expect(await status(action, 'guessed')).toBe(409);
  expect(await status(action, 7)).toBe(400);
  expect(await status(action, await token({ ...action, to: '0' }))).toBe(409);
  expect(await status(action, await token({ kind: 'clear-context', change }))).toBe(409);
  const other = await startWeb(project);
  const foreign = (await other.post('/api/preview', { action })).json<ActionPreview>().token;
  expect(await status(action, foreign)).toBe(409);
  expect(project.read('a.txt')).toBe('2\n');

  const valid = await token(action);
  expect(await status(action, valid)).toBe(200);
  expect(await status(action, valid)).toBe(409);
  // The run has changed since.
  const old = await token(action);
  await project.spool('ralph', '--change', change, '--fresh', '--max-iterations', '1');
  expect(await status(action, old)).toBe(409);
}, 120_000);

test('actions are checked before anything is run', async () => {
  const project = createProject({ agent: [promise] });
  const web = await startWeb(project);
  const wrong: object[] = [
    {},
    { kind: 'shell', change },
    { kind: 'constructor', change },
    { kind: 'start' },
    { kind: 'start', change: 7 },
    { kind: 'start', change, harness: '--allow-all' },
    { kind: 'start', change, harness: 'a b' },
    { kind: 'start', change, model: '-x' },
    { kind: 'start', change, maxIterations: 0 },
    { kind: 'start', change, maxIterations: 1.5 },
    { kind: 'start', change, maxIterations: '5' },
    { kind: 'start', change, maxCostUsd: -1 },
    { kind: 'start', change, maxDuration: '1h; id' },
    { kind: 'start', change, allowAll: true },
    { kind: 'start', change, verify: 'touch owned' },
    { kind: 'rewind', change, to: '--help' },
    { kind: 'rewind', change, to: '1', run: '../..' },
    { kind: 'add-context', change, text: '' },
    { kind: 'add-context', change, text: 'a\u0000b' },
    { kind: 'land', change, keepBranch: 'yes' },
  ];
  for (const action of wrong)
    for (const path of ['/api/preview', '/api/actions'])
      expect([action, (await web.post(path, { action })).status]).toEqual([action, 400]);
  for (const id of ['../x', 'nothing', `${change}/..`, change.slice(0, 6)])
    expect([id, (await web.post('/api/preview', { action: { kind: 'start', change: id } })).status]).toEqual([id, 404]);
  expect((await web.post('/api/preview', { action: { kind: 'start', change: '--all' } })).status).toBe(400);
  expect(existsSync(join(project.home, 'agent', 'call-1'))).toBe(false);
});

test('a project that is not trusted runs nothing, and says why', async () => {
  const project = createProject({
    untrusted: true,
    files: { '.spool/config.json': JSON.stringify({ verify: ['touch owned'] }) },
    agent: [promise],
  });
  const web = await startWeb(project);

  const started = await web.confirm({ kind: 'start', change });

  expect(started.ok).toBe(false);
  expect(started.output).toContain('spool trust');
  expect(project.calls()).toEqual([]);
  expect(project.exists('owned')).toBe(false);
});

test('--open starts the opener of the platform with an address that works once, for this user', async () => {
  const project = createProject();
  const opener = join(project.home, 'bin', 'xdg-open');
  project.write(
    '../home/bin/xdg-open',
    `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > "$HOME/opened.part"; mv "$HOME/opened.part" "$HOME/opened"\n`,
  );
  chmodSync(opener, 0o755);
  const web = await startWeb(project, ['--open'], {
    env: { PATH: `${join(project.home, 'bin')}:${project.env.PATH}` },
  });
  const opened = join(project.home, 'opened');
  await eventually(() => existsSync(opened), 'the opener');

  const [count, address = ''] = readFileSync(opened, 'utf8').split('\n');
  expect([count, address.startsWith(`${web.url}/?token=`)]).toEqual(['1', true]);
  // Everybody on this machine can see the arguments of a program.
  expect(address).not.toContain(web.token);
  if (process.getuid?.() === 0) expect(await statusForOtherUser(address)).toBe('401');
  const path = address.slice(web.url.length);
  expect((await sendRaw(web.port, path)).status).toBe(303);
  expect((await sendRaw(web.port, path)).status).toBe(401);
});

/** Asks for an address as a user who may do nothing. */
const statusForOtherUser = (address: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const script = `fetch(process.argv[1], { redirect: 'manual' }).then(({ status }) => console.log(status))`;
    const options = { uid: 65_534, gid: 65_534, cwd: '/', env: { PATH: process.env.PATH } };
    execFile(process.execPath, ['-e', script, address], options, (error, stdout) =>
      error ? reject(error) : resolve(stdout.trim()),
    );
  });

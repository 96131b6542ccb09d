import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { expect, test } from 'vitest';
import { requestControl } from '../../src/store/control.ts';
import { maxAgentText } from '../../src/store/output-budget.ts';
import { type FollowedEvent, followRun } from '../../src/store/follow.ts';
import type { JournalLine } from '../../src/store/journal-lines.ts';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { endsSoon } from '../support/hanging-git.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root, startProcess, type TestProject } from '../support/project.ts';

/** A run that another process follows and controls. The tests are that process. */

const run = ['ralph', 'Build it.', '--change', change];

const of = (project: TestProject) => ({ root: project.folder });

/** Follows a run to its end. `seen` grows while it runs. */
const follow = (project: TestProject) => {
  const seen: FollowedEvent[] = [];
  const ended = (async () => {
    for await (const item of followRun(of(project), change, { env: project.env })) seen.push(item);
    return seen;
  })();
  return { seen, ended };
};

const typesIn = (seen: readonly FollowedEvent[]) =>
  seen.map(({ event }) => (event?.type === 'agent' ? event.event.type : (event?.type ?? null)));

const textIn = (seen: readonly FollowedEvent[]) =>
  seen.map(({ event }) => (event?.type === 'agent' && 'text' in event.event ? event.event.text : '')).join('');

const journalOf = (project: TestProject) => join(project.stateFile('runs'), project.state().run, 'events.jsonl');

const linesOf = (project: TestProject) =>
  readFileSync(journalOf(project), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JournalLine);

test('followRun yields events while the agent prints, and ends with the view in state.json', async () => {
  const agent = [`echo one; echo problem >&2; ${waitsFor('go-on')}; echo two > two.txt; echo two`, promise];
  const project = createProject({ agent });
  const loop = project.start([...run, '--verify', 'test -e two.txt']);
  await loop.printed('waiting for go-on');

  const follower = follow(project);
  await eventually(() => textIn(follower.seen).includes('waiting for go-on'), 'the output of the agent');
  expect(follower.seen.at(-1)!.view).toMatchObject({ status: 'running', iteration: 1 });
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 0 });
  const seen = await follower.ended;
  const withoutOutput = typesIn(seen).filter((type) => type !== 'text' && type !== 'stderr');
  expect(withoutOutput).toEqual([
    'run-started',
    'iteration-started',
    'iteration-finished',
    'iteration-started',
    'iteration-pending',
    'gate-started',
    'iteration-finished',
    'run-ended',
  ]);
  expect(textIn(seen)).toContain('problem');
  expect(textIn(seen)).toContain('two\n');
  expect(seen.at(-1)!.view).toEqual(project.state());
  expect(linesOf(project).map(({ seq }) => seq)).toEqual(linesOf(project).map((_, index) => index + 1));
  expect(statSync(journalOf(project)).mode & 0o777).toBe(0o600);
});

test('followRun starts at the first start of a resumed run', async () => {
  const project = createProject({ agent: [says('one'), waitsFor('never'), promise] });
  const loop = project.start(run);
  await loop.printed('waiting for never');
  loop.kill('SIGINT');
  await loop.result;
  await project.spool(...run);

  const seen = await follow(project).ended;

  expect(typesIn(seen).filter((type) => type === 'run-started' || type === 'run-ended')).toEqual([
    'run-started',
    'run-ended',
    'run-started',
    'run-ended',
  ]);
  expect(seen.at(-1)!.view).toEqual(project.state());
});

test('a killed run ends as interrupted, and only a truncated line of its journal is lost', async () => {
  const project = createProject({ agent: [waitsFor('never'), promise] });
  const loop = project.start(run);
  await loop.printed('waiting for never');
  const follower = follow(project);
  await eventually(() => textIn(follower.seen).includes('waiting'), 'the output of the agent');
  loop.kill('SIGKILL');

  const seen = await follower.ended;
  expect(seen.at(-1)).toMatchObject({ event: null, view: { status: 'interrupted', iteration: 1 } });

  appendFileSync(journalOf(project), '{"v":1,"seq":4,"ev');
  expect(await project.spool(...run)).toMatchObject({ code: 0 });
  const again = await follow(project).ended;
  expect(again.at(-1)!.view).toEqual(project.state());
});

test('the journal is created again after an agent deletes the state folder', async () => {
  const agent = [`echo before; git clean -fdxq; ${waitsFor('go-on')}`, promise];
  const project = createProject({ agent });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  project.write('go-on', '');
  expect(await loop.result).toMatchObject({ code: 0 });

  const seen = await follow(project).ended;

  expect(typesIn(seen)).toContain('iteration-started');
  expect(seen.at(-1)!.view).toEqual(project.state());
});

/** Bundles followRun for a program that runs with a small heap. */
const buildFollower = async (project: TestProject): Promise<string> => {
  const dir = join(project.home, 'follow');
  const output = { dir, entryFileNames: 'follow.mjs', chunkFileNames: '[name].mjs' };
  await build({ cwd: root, input: 'src/store/follow.ts', platform: 'node', output, logLevel: 'silent' });
  return join(dir, 'follow.mjs');
};

const followInLittleMemory = async (project: TestProject, { abortMs = 0 } = {}) => {
  const follower = await buildFollower(project);
  const options = abortMs === 0 ? '{}' : `{ signal: AbortSignal.timeout(${abortMs}) }`;
  const script = `
    const { followRun } = await import(${JSON.stringify(follower)});
    let [count, last, longestMs, turnMs] = [0, null, 0, performance.now()];
    setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - turnMs);
      turnMs = performance.now();
    }, 10).unref();
    for await (last of followRun({ root: process.cwd() }, '${change}', ${options})) if (count++ === 0) console.log('following');
    console.log(JSON.stringify({ count, status: last.view.status, isBusy: longestMs > 2000 }));`;
  const flags = ['--max-old-space-size=24', '--input-type=module', '--eval', script];
  const { env, folder: cwd } = project;
  return startProcess(process.execPath, flags, { cwd, env });
};

const resultIn = (stdout: string) => JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as unknown;

test('200 MB of output result in a small journal that reports the omission', async () => {
  const agent = [`${waitsFor('go-on')}; yes "$(printf '%099d' 7)" | head -c 200000000; ${promise}`];
  const project = createProject({ agent, git: false });
  const loop = project.start([...run, '--no-stream']);
  await eventually(() => project.exists(`.spool/.state/ralph/${change}/state.json`), 'the run to start');
  const follower = await followInLittleMemory(project);
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 0 });
  const { stdout } = await follower.result;
  expect(resultIn(stdout)).toMatchObject({ status: 'complete' });
  expect(statSync(journalOf(project)).size).toBeLessThan(2 * maxAgentText);
  const notices = linesOf(project).filter(({ event }) => event.type === 'notice');
  expect(notices).toMatchObject([
    { event: { text: expect.stringMatching(/left out from here on\. .*: spool logs \S+ 1 --raw$/) } },
  ]);
});

test('followRun reads a journal of 200 MB with a small heap', async () => {
  const project = createProject({ agent: [promise], git: false });
  await project.spool(...run);
  const lines = linesOf(project);
  const text = 'x'.repeat(10_000);
  const line = `${JSON.stringify({ ...lines[1]!, event: { type: 'agent', event: { type: 'text', text, plain: true } } })}\n`;
  const file = openSync(journalOf(project), 'w');
  writeSync(file, `${JSON.stringify(lines[0])}\n`);
  for (let block = 0; block < 200; block++) writeSync(file, line.repeat(100));
  writeSync(file, `${JSON.stringify(lines.at(-1))}\n`);
  closeSync(file);

  const { stdout } = await (await followInLittleMemory(project)).result;

  expect(resultIn(stdout)).toEqual({ count: 20_002, status: 'complete', isBusy: false });
});

const floods: Record<string, (path: string) => void> = {
  'a hole of 8 TB': (path) => truncateSync(path, 8 * 1024 ** 4),
  '100 MB of blank lines': (path) => {
    for (let block = 0; block < 10; block++) appendFileSync(path, '\n'.repeat(10_000_000));
  },
  '4 MB of lines that are cut off': (path) => appendFileSync(path, '{"v":1,\n'.repeat(500_000)),
};

test.each(Object.keys(floods))('a follower is neither held up nor misled by %s', async (name) => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  const follower = await followInLittleMemory(project);
  await follower.printed('following');

  floods[name]!(journalOf(project));
  const aborted = await followInLittleMemory(project, { abortMs: 500 });
  expect(resultIn((await endsSoon(aborted.result)).stdout)).toMatchObject({ status: 'running', isBusy: false });
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 0 });
  expect(resultIn((await endsSoon(follower.result)).stdout)).toMatchObject({ status: 'complete', isBusy: false });
});

test('a request to stop ends the agent and the run', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const loop = project.start(run);
  await loop.printed('waiting for never');

  expect(requestControl(of(project), change, 'stop')).toBe('sent');

  expect(await loop.result).toMatchObject({ code: 143, stderr: expect.stringContaining('Stop requested') });
  expect(project.state()).toMatchObject({ status: 'interrupted', cause: 'signal', detail: 'stopped by request' });
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  expect(requestControl(of(project), change, 'stop')).toBe('not-running');
  expect(project.exists(`.spool/.state/ralph/${change}/control.jsonl`)).toBe(false);
});

test('a second request kills an agent that does not stop', async () => {
  const project = createProject({ agent: [`trap '' TERM INT; ${waitsFor('never')}`] });
  const loop = project.start([...run, '--stop-grace', '1h']);
  await loop.printed('waiting for never');

  requestControl(of(project), change, 'stop');
  await loop.printed('Stop requested');
  requestControl(of(project), change, 'stop');

  expect(await loop.result).toMatchObject({ code: 143 });
});

test('a request to stop after the iteration lets the agent finish', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; echo done`, promise] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');

  requestControl(of(project), change, 'stop-after-iteration');
  await loop.printed('stops after this iteration');
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 143, stdout: expect.stringContaining('done') });
  expect(project.history()).toMatchObject([{ iteration: 1, end: 'exited', error: null }]);
  expect(project.state()).toMatchObject({ status: 'interrupted', detail: 'stopped by request' });
});

test('a repeated request is announced once', async () => {
  const project = createProject({ agent: [`${waitsFor('go-on')}; echo done`] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');

  for (const command of ['pause', 'stop-after-iteration', 'pause', 'stop-after-iteration', 'resume'] as const)
    requestControl(of(project), change, command, { env: project.env });
  await loop.printed('the run stops after this iteration');
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 143 });
  for (const text of ['Pause requested', 'the run stops after this iteration'])
    expect(loop.output().split(text)).toHaveLength(2);
});

test('a request to an earlier run does not reach the next one', async () => {
  const project = createProject({ agent: [waitsFor('never'), `${waitsFor('go-on')}; ${promise}`] });
  const killed = project.start(run);
  await killed.printed('waiting for never');
  requestControl(of(project), change, 'stop');
  const request = readFileSync(project.stateFile('control.jsonl'), 'utf8');
  killed.kill('SIGKILL');
  await killed.result;
  project.write('never', '');
  appendFileSync(project.stateFile('control.jsonl'), `${request}not a request`);

  const next = project.start(run);
  await next.printed('waiting for go-on');
  requestControl(of(project), change, 'pause');
  await next.printed('Pause requested');
  project.write('go-on', '');

  expect(await next.result).toMatchObject({ code: 0 });
});

test('the journal contains no secrets, not even in two halves', async () => {
  const token = 'Zx9-Lm3_Qw7pRt5vKb2N';
  const half = token.length / 2;
  const agent = [
    `echo "a ${token}"; echo "b ${token}" >&2; printf '%s\\n%s\\n' ${token.slice(0, half)} ${token.slice(half)}; ${promise}`,
  ];
  const project = createProject({ agent });

  await project.start([...run, '--verify', `true ${token}`], { env: { DEPLOY_TOKEN: token } }).result;

  const journal = readFileSync(journalOf(project), 'utf8');
  expect(journal).toContain('a [redacted]');
  expect(journal).toContain('b [redacted]');
  for (const part of [token, token.slice(0, half), token.slice(half)]) expect(journal).not.toContain(part);
});

test('the run and its followers reject a symbolic link in place of the journal', async () => {
  const project = createProject({ agent: [waitsFor('go-on'), promise] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  rmSync(journalOf(project));
  symlinkSync(project.path('README.md'), journalOf(project));
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 0, stderr: expect.stringContaining('This run cannot be followed') });
  await expect(follow(project).ended).rejects.toThrow('symbolic link');
  expect(project.read('README.md')).toBe('A project.\n');
});

test('a FIFO in place of the journal or the requests blocks neither the run nor its followers', async () => {
  const project = createProject({ agent: [waitsFor('go-on'), promise] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  const control = project.stateFile('control.jsonl');
  for (const path of [journalOf(project), control]) {
    // Moved into place: the run creates its journal again as soon as it is gone.
    execFileSync('mkfifo', [`${path}.fifo`]);
    renameSync(`${path}.fifo`, path);
  }
  expect(() => requestControl(of(project), change, 'stop')).toThrow('not a regular file');
  await expect(follow(project).ended).rejects.toThrow('not a regular file');
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 0 });
});

/** Appends a line as an agent would forge it. */
const forge = (project: TestProject, line: object) => {
  const { view: _, ...last } = linesOf(project).at(-1)!;
  appendFileSync(journalOf(project), `${JSON.stringify({ ...last, ...line })}\n`);
};

const ended = (reason: string) => ({
  type: 'run-ended',
  reason,
  cause: 'promise',
  detail: 'forged',
  tasks: null,
  at: '2026-01-01',
});

test.each<[string, (view: object) => object]>([
  ['is complete', () => ({ event: ended('complete') })],
  ['was interrupted', () => ({ event: ended('interrupted') })],
  ['is complete, in its view', (view) => ({ view: { ...view, status: 'complete' } })],
  ['is another run', (view) => ({ view: { ...view, run: '20260101-000000-aaaaaaaa' } })],
])('a line that an agent adds, which says that the run %s, is ignored', async (_, forged) => {
  const project = createProject({ agent: [`${waitsFor('go-on')}`] });
  const loop = project.start([...run, '--max-iterations', '1']);
  await loop.printed('waiting for go-on');
  const follower = follow(project);
  forge(project, forged(project.state()));
  forge(project, { event: { type: 'notice', text: 'the next line' } });
  await eventually(() => typesIn(follower.seen).includes('notice'), 'the line after the forged one');
  expect(follower.seen.at(-1)).toMatchObject({ view: { status: 'running', run: project.state().run } });
  project.write('go-on', '');

  expect(await loop.result).toMatchObject({ code: 3 });
  for (const seen of [await follower.ended, await follow(project).ended]) {
    expect(typesIn(seen).filter((type) => type === 'run-ended')).toEqual(['run-ended']);
    expect(seen.at(-1)!.view).toEqual(project.state());
  }
});

test('a run that only state.json calls complete ends as interrupted', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const loop = project.start(run);
  await loop.printed('waiting for never');
  loop.kill('SIGKILL');
  await loop.result;
  writeFileSync(
    project.stateFile('state.json'),
    JSON.stringify({ ...project.state(), status: 'complete', detail: 'forged' }),
  );

  const seen = await follow(project).ended;

  expect(seen.at(-1)).toMatchObject({ event: null, view: { status: 'interrupted', detail: null } });
});

test('a forged number hides no later lines, even in a journal that is replaced', async () => {
  const project = createProject({ agent: [waitsFor('go-on'), waitsFor('then'), promise] });
  const loop = project.start(run);
  await loop.printed('waiting for go-on');
  const follower = follow(project);
  forge(project, { seq: Number.MAX_SAFE_INTEGER, event: { type: 'notice', text: 'forged' } });
  await eventually(() => typesIn(follower.seen).includes('notice'), 'the forged line');
  copyFileSync(journalOf(project), `${journalOf(project)}.copy`);
  renameSync(`${journalOf(project)}.copy`, journalOf(project));
  project.write('go-on', '');
  await eventually(() => textIn(follower.seen).includes('waiting for then'), 'output after the forged line');
  project.write('then', '');

  expect(await loop.result).toMatchObject({ code: 0 });
  expect(typesIn(await follower.ended).at(-1)).toBe('run-ended');
  expect(typesIn(await follow(project).ended).at(-1)).toBe('run-ended');
});

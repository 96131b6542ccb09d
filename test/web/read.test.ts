import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type {
  ConversationPage,
  DiffSummary,
  FileDiffDetail,
  IterationDetail,
  IterationPage,
  Overview,
  RunDetail,
  TextPage,
} from '../../src/web/api.ts';
import { promise, says } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { startWeb } from '../support/web.ts';

const tasks = { [`.spool/changes/${change}/tasks.md`]: '- [ ] one\n- [ ] two\n' };
const tick = (title: string) => `sed -i 's/\\[ \\] ${title}/[x] ${title}/' .spool/changes/${change}/tasks.md`;
const run = `/api/changes/${change}/runs/latest`;

test('shows all changes, what they did and what needs a person', async () => {
  const project = createProject({
    files: { ...tasks, '.spool/changes/002-02_idle/proposal.md': '# Idle\n' },
    agent: [`${tick('one')}; echo a > a.txt`, `${tick('two')}; ${promise}`],
  });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);

  const overview = await web.read<Overview>('/api/overview');

  expect(overview).toMatchObject({ readOnly: false, queue: false, project: { branch: 'main' } });
  expect(overview.rows).toMatchObject([
    {
      change,
      status: 'complete',
      iteration: 2,
      tasks: { done: 2, total: 2 },
      spark: [1, 2],
      attention: null,
      source: 'spool',
    },
    { change: '002-02_idle', status: 'none', run: null },
  ]);
  const detail = await web.read<RunDetail>(run);
  expect(detail).toMatchObject({
    status: 'complete',
    isLatest: true,
    lastIteration: 2,
    checkpoints: ['0', '1', '2'],
    tasks: [
      { title: 'one', done: true },
      { title: 'two', done: true },
    ],
    view: { maxIterations: 50, completionPromise: 'COMPLETE' },
  });
  expect(detail.documents.map(({ name }) => name)).toContain('proposal.md');
  expect(detail.runs).toMatchObject([{ run: detail.run, iterations: 2, status: 'complete' }]);
});

test('shows iterations in short, in full, and what was said in them', async () => {
  const project = createProject({
    files: tasks,
    agent: [`${tick('one')}; ${says('working')}; printf 'a\\nb\\n' > a.txt`, `echo c >> a.txt; ${promise}`],
  });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);

  const { iterations, last } = await web.read<IterationPage>(`${run}/iterations`);
  expect(last).toBe(2);
  expect(iterations).toMatchObject([
    { iteration: 1, outcome: 'progress', ticked: ['one'], filesChanged: 2, tasks: { done: 1, total: 2 } },
    { iteration: 2, outcome: 'complete', filesChanged: 1 },
  ]);
  for (const { durationMs, agentMs, gateMs, spoolMs } of iterations)
    expect(agentMs! + gateMs! + spoolMs!).toBe(durationMs);
  expect((await web.read<IterationPage>(`${run}/iterations?from=2`)).iterations).toHaveLength(1);

  const detail = await web.read<IterationDetail>(`${run}/iterations/1`);
  expect(detail.record).toEqual(project.history()[0]);
  expect(detail).toMatchObject({ hasDiff: true, promptSize: expect.any(Number), logSize: expect.any(Number) });

  const conversation = await web.read<ConversationPage>(`${run}/iterations/1/conversation`);
  const types = conversation.entries.map(({ event }) => event.type);
  expect(types[0]).toBe('iteration-started');
  expect(types.at(-1)).toBe('iteration-finished');
  expect(JSON.stringify(conversation.entries)).toContain('working');
  expect(conversation).toMatchObject({ previous: null, next: null });

  expect((await web.read<TextPage>(`${run}/iterations/1/prompt`)).text).toContain('Ralph Wiggum Loop - Iteration 1');
  expect((await web.read<TextPage>(`${run}/iterations/1/log`)).text).toContain('working');
});

test('shows the diff of an iteration, file by file', async () => {
  const project = createProject({
    files: { 'old.txt': 'one\ntwo\nthree\n' },
    agent: [`printf 'one\\n2\\nthree\\n' > old.txt; printf 'x\\0y' > bin; printf 'no end' > '<b>.txt'`, promise],
  });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);

  const summary = await web.read<DiffSummary>(`${run}/diff?iteration=1`);
  expect(summary).toMatchObject({ filesChanged: 3, insertions: 2, deletions: 1 });
  expect(summary.files).toMatchObject([
    { path: '<b>.txt', status: 'added', insertions: 1, binary: false },
    { path: 'bin', status: 'added', binary: true },
    { path: 'old.txt', status: 'modified', insertions: 1, deletions: 1 },
  ]);
  expect(await web.read<DiffSummary>(`${run}/diff?from=0&to=1`)).toMatchObject({ filesChanged: 3 });
  const file = await web.read<FileDiffDetail>(`${run}/diff/file?iteration=1&path=old.txt`);
  expect(file.hunks).toEqual([
    {
      oldStart: 1,
      newStart: 1,
      heading: '',
      lines: [
        { kind: 'same', text: 'one' },
        { kind: 'removed', text: 'two' },
        { kind: 'added', text: '2' },
        { kind: 'same', text: 'three' },
      ],
    },
  ]);
  const odd = await web.read<FileDiffDetail>(`${run}/diff/file?iteration=1&path=${encodeURIComponent('<b>.txt')}`);
  expect(odd.hunks[0]!.lines).toEqual([{ kind: 'added', text: 'no end', noNewline: true }]);
  expect((await web.get(`${run}/diff/file?iteration=1&path=..%2f..%2fetc/passwd`)).status).toBe(404);
});

test('shows rejected promises with the output of the gate, and earlier runs', async () => {
  const project = createProject({ agent: [`echo 1 > one; ${promise}`] });
  await project.spool('ralph', '--change', change, '--verify', 'echo broken; false', '--max-iterations', '1');
  const first = project.state().run;
  await project.spool('ralph', '--change', change, '--fresh', '--max-iterations', '1');
  const web = await startWeb(project);

  const detail = await web.read<RunDetail>(run);
  expect(detail.runs.map((each) => each.run)).toEqual([detail.run, first]);
  const old = await web.read<RunDetail>(`/api/changes/${change}/runs/${first}`);
  expect(old).toMatchObject({ isLatest: false, status: 'limit', view: { maxIterations: 1 } });
  const { gate, summary } = await web.read<IterationDetail>(`/api/changes/${change}/runs/${first}/iterations/1`);
  expect(summary).toMatchObject({ outcome: 'rejected', gate: { passed: false, commands: 1 } });
  expect(gate!.runs[0]).toMatchObject({ outcome: 'failed', tail: expect.stringContaining('broken') });
});

test('what is shown has neither secrets nor control characters', async () => {
  const key = 'sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ';
  const project = createProject({
    files: { [`.spool/changes/${change}/proposal.md`]: `# Plan\n\nUse ${key}\n` },
    agent: [
      `printf '\\033]0;title\\007\\033[31mred\\033[0m <script>alert(1)</script> ${key}\\n'; printf 'a\\033[31mb\\n' > data.txt; ${promise}`,
    ],
  });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project);

  const all = await Promise.all(
    [
      '',
      '/iterations/1',
      '/iterations/1/conversation',
      '/iterations/1/log',
      '/iterations/1/prompt',
      '/diff/file?iteration=1&path=data.txt',
    ].map(async (path) => web.get(`${run}${path}`)),
  );
  for (const { status, text } of all) {
    expect(status).toBe(200);
    expect(text).not.toContain(key);
    expect(text).not.toMatch(/\\u001b|\\u0007/);
  }
  expect(all[2]!.text).toContain('<script>alert(1)</script>');
  expect(all[2]!.headers['content-type']).toBe('application/json; charset=utf-8');
});

test('secrets are found across windows, behind control characters, and over the lines of a diff', async () => {
  const key = 'sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ';
  const split = key.replace('BC', 'B\\001C');
  const token = 'correct-horse-battery-staple';
  const body = Array.from({ length: 6 }, (_, line) => `QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo${line}`).join('\n');
  const project = createProject({
    files: {
      'notes.txt': `nothing\n-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`,
      [`.spool/changes/${change}/proposal.md`]: `# Plan\n\nUse ${key.replace('BC', 'B\u0001C')}\n`,
    },
    agent: [`printf 'said ${split}\\n'; printf 'has ${split}\\n' > split.txt; echo nothing > notes.txt; ${promise}`],
  });
  await project.spool('ralph', '--change', change);
  const web = await startWeb(project, [], { env: { DEPLOY_TOKEN: token } });

  for (const path of ['', '/iterations/1', '/iterations/1/conversation', '/iterations/1/log', '/iterations/1/prompt']) {
    const { status, text } = await web.get(`${run}${path}`);
    expect([path, status, text.includes(key)]).toEqual([path, 200, false]);
  }
  expect((await web.get(`${run}/diff/file?iteration=1&path=split.txt`)).text).not.toContain(key);
  const { hunks } = await web.read<FileDiffDetail>(`${run}/diff/file?iteration=1&path=notes.txt`);
  expect(hunks[0]!.lines).toEqual([
    { kind: 'same', text: 'nothing' },
    ...Array.from({ length: 8 }, () => ({ kind: 'removed', text: '[redacted]' })),
  ]);

  const log = `.spool/.state/ralph/${change}/runs/${project.state().run}/0001.log`;
  project.write(log, `${'x'.repeat(1000)} ${token} ${'y'.repeat(1000)}\n`);
  for (const offset of [990, 1000, 1005, 1012, 1025])
    for (const length of [5, 12, 100]) {
      const page = await web.read<TextPage>(`${run}/iterations/1/log?offset=${offset}&length=${length}`);
      expect([offset, length, /horse|batt|stap|corr|tery/.test(page.text)]).toEqual([offset, length, false]);
    }
  const missing = await web.get(`${run}/iterations/1/log?offset=${token}`);
  expect([missing.status, missing.text.includes(token)]).toEqual([400, false]);
}, 60_000);

test('something else in the place of a file does not hide other changes', async () => {
  const project = createProject({
    files: { '.spool/changes/002-02_other/proposal.md': '# Other\n' },
    agent: [promise],
  });
  await project.spool('ralph', '--change', change);
  await project.spool('ralph', '--change', '002-02_other');
  const web = await startWeb(project);

  for (const name of ['history.jsonl', 'state.json', 'lock']) {
    const file = project.stateFile(name);
    const before = existsSync(file) ? readFileSync(file) : null;
    for (const replace of [
      () => execFileSync('mkfifo', [file]),
      () => mkdirSync(file),
      () => writeFileSync(file, '['.repeat(4_000_000)),
    ]) {
      rmSync(file, { recursive: true, force: true });
      replace();
      const { rows } = await web.read<Overview>('/api/overview');
      expect(rows.map((row) => [row.change, row.change === change ? '' : row.status]).toSorted()).toEqual([
        [change, ''],
        ['002-02_other', 'complete'],
      ]);
      expect((await web.get(run)).status).toBeLessThan(500);
    }
    rmSync(file, { recursive: true, force: true });
    if (before !== null) writeFileSync(file, before, { mode: 0o600 });
  }
  expect(await web.read<RunDetail>(run)).toMatchObject({ status: 'complete' });
}, 60_000);

import { connect } from 'node:net';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { ConversationPage, JournalEntry, Row, TextPage } from '../../src/web/api.ts';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { agentCalled, startWeb, type Stream } from '../support/web.ts';

const stream = `/api/stream/changes/${change}/runs/latest`;
const go = (project: TestProject, name: string) => writeFileSync(project.path(name), '');
/** The files that scripted agents wait for are not work. */
const files = { '.gitignore': 'go-*\n', [`.spool/changes/${change}/tasks.md`]: '- [ ] one\n' };

const entriesOf = (page: Stream): readonly JournalEntry[] =>
  page.messages().flatMap((message) => (message.type === 'entries' ? message.entries : []));
const hasText =
  (text: string) =>
  ({ entries }: { readonly entries: readonly JournalEntry[] }) =>
    JSON.stringify(entries).includes(text);
const rowIs = (isIt: (row: Row) => boolean) => (message: { readonly rows: readonly Row[] }) => message.rows.some(isIt);

test('a run is streamed from its first event to its end, to all pages alike', async () => {
  const project = createProject({
    files,
    agent: [
      `${says('first words')}; ${waitsFor('go-1')}; sed -i 's/\\[ \\]/[x]/' .spool/changes/${change}/tasks.md`,
      `${says('second words')}; ${waitsFor('go-2')}; ${promise}`,
    ],
  });
  const web = await startWeb(project);
  const overview = await web.stream('/api/stream/overview');
  const first = await overview.message('overview');
  expect(first.overview.rows).toMatchObject([{ change, status: 'none' }]);

  const loop = project.start(['ralph', '--change', change]);
  await overview.message(
    'rows',
    rowIs(({ status, iteration }) => status === 'running' && iteration === 1),
  );
  await agentCalled(project, 1);
  const pages: Stream[] = [];
  for (let number = 0; number < 50; number++) pages.push(await web.stream(stream));
  const [page] = pages as [Stream];
  const snapshot = await page.message('snapshot');
  expect(snapshot.detail).toMatchObject({ status: 'running', isLatest: true, lastIteration: 1 });
  go(project, 'go-1');
  await page.message('iteration');
  await page.message('entries', hasText('second words'));
  await page.message('tasks', ({ tasks }) => tasks?.[0]?.done ?? false);
  go(project, 'go-2');
  const ended = await page.message('ended');

  expect(ended).toMatchObject({ status: 'complete', view: { status: 'complete', finishedIterations: 2 } });
  expect((await loop.result).code).toBe(0);
  const entries = entriesOf(page);
  const numbers = entries.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.map((_, index) => snapshot.seq + 1 + index));
  expect(entries.at(-1)!.event.type).toBe('run-ended');
  for (const other of pages) {
    await other.message('ended');
    const seen = entriesOf(other);
    expect(seen.at(-1)).toEqual(entries.at(-1));
    expect(seen).toEqual(entries.slice(-seen.length));
  }
  await overview.message(
    'rows',
    rowIs(({ status }) => status === 'complete'),
  );
}, 120_000);

test('a page that connects again gets what it has missed, even from a server that was killed and started again', async () => {
  const project = createProject({
    files,
    agent: [`${says('one')}; ${waitsFor('go-1')}; ${says('two')}; ${waitsFor('go-2')}; ${says('three')}; ${promise}`],
  });
  const loop = project.start(['ralph', '--change', change]);
  const web = await startWeb(project);
  await eventually(() => project.exists(`.spool/.state/ralph/${change}/state.json`), 'the run');
  await eventually(async () => (await web.get(stream.replace('/stream', ''))).status === 200, 'the run to be shown');
  const page = await web.stream(stream);
  const snapshot = await page.message('snapshot');
  go(project, 'go-1');
  await page.message('entries', hasText('two'));
  const before = entriesOf(page);
  const lastId = page.lastId();
  expect(lastId).toMatch(/\.\d+$/);

  web.kill('SIGKILL');
  await page.ended;
  await web.result;
  const again = await startWeb(project, [], { port: web.port });
  const resumed = await again.stream(stream, lastId);
  go(project, 'go-2');
  await resumed.message('ended');

  expect(resumed.messages().some(({ type }) => type === 'snapshot')).toBe(false);
  const all = [...before, ...entriesOf(resumed)].map(({ seq }) => seq);
  expect(all).toEqual(all.map((_, index) => snapshot.seq + 1 + index));
  // What cannot be resumed begins with a snapshot.
  for (const id of [
    'nonsense',
    `${snapshot.detail.run}.999999`,
    `${snapshot.detail.run}.x`,
    '20200101-000000-aaaaaaaa.1',
  ]) {
    const other = await again.stream(stream, id);
    await other.message('snapshot');
  }
  await loop.result;
}, 120_000);

test('a stream follows a run that is resumed, and says when another one has started', async () => {
  const project = createProject({ files, agent: [`${waitsFor('go-1')}; exit 1`, promise] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('Iteration 1');
  const web = await startWeb(project);
  const page = await web.stream(stream);
  const { detail } = await page.message('snapshot');
  loop.kill('SIGKILL');
  const ended = await page.message('ended');
  expect(ended.status).toBe('interrupted');

  await project.spool('ralph', '--change', change, '--max-iterations', '3');
  await page.message('ended', ({ status }) => status === 'complete');
  await project.spool('ralph', '--change', change, '--fresh');
  const superseded = await page.message('superseded');
  expect(superseded.run).toBe(project.state().run);
  expect(superseded.run).not.toBe(detail.run);
}, 120_000);

test('a page that does not read is dropped, takes no memory and delays no other page; silence has heartbeats', async () => {
  const project = createProject({ files, agent: [`${waitsFor('go-1')}; ${promise}`] });
  const loop = project.start(['ralph', '--change', change]);
  const web = await startWeb(project);
  await agentCalled(project, 1);
  const page = await web.stream(stream);
  await page.message('snapshot');
  const sleepers = Array.from({ length: 30 }, () => {
    const socket = connect(web.port, '127.0.0.1').on('error', () => {});
    socket.pause();
    socket.write(`GET ${stream} HTTP/1.1\r\nHost: 127.0.0.1:${web.port}\r\nCookie: ${web.cookie}\r\n\r\n`);
    return socket;
  });
  // Dropped connections are closed by the server; a client that does not read notices when it writes.
  const open = () => connectionsTo(web.port);
  await eventually(() => open() >= 31, 'the pages');

  const journal = project.path(`.spool/.state/ralph/${change}/runs/${project.state().run}/events.jsonl`);
  let seq = readFileSync(journal, 'utf8').split('\n').filter(Boolean).length;
  const last = seq + 40_000;
  while (seq < last) {
    const lines = Array.from({ length: 1000 }, () => journalLine(++seq));
    appendFileSync(journal, lines.join(''));
    const [block] = [seq];
    await page.message('entries', ({ entries }) => entries.at(-1)!.seq >= block);
  }
  await eventually(() => open() <= 1, 'the pages that do not read to be dropped');
  expect(memoryOf(web.pid)).toBeLessThan(250);
  const numbers = entriesOf(page).map((entry) => entry.seq);
  expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
  for (const socket of sleepers) socket.destroy();

  go(project, 'go-1');
  await loop.result;
  const ended = await web.stream(stream);
  await ended.message('snapshot');
  await eventually(() => ended.pings() > 0, 'a heartbeat');
  // An ended run that somebody looks at for longer than a few seconds prints no warning.
  expect((await web.stop()).stderr).not.toContain('Warning');
}, 180_000);

/** How many connections the server has open. */
const connectionsTo = (port: number): number => {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return lines.filter((line) => new RegExp(`^ *\\d+: [\\dA-F]{8}:${wanted} \\S+ 01 `).test(line)).length;
};

const journalLine = (seq: number): string => {
  const event = { type: 'agent', event: { type: 'text', text: `line ${seq} ${'x'.repeat(900)}`, plain: true } };
  return `${JSON.stringify({ v: 1, seq, at: '2026-11-18T00:00:00.000Z', elapsedMs: 5, event })}\n`;
};

test('a journal and a log of 200 MB are read in windows, in flat memory', async () => {
  const project = createProject({ files, agent: [says('small'), `${says('last')}; ${promise}`] });
  await project.spool('ralph', '--change', change);
  const run = project.state().run;
  const journal = project.path(`.spool/.state/ralph/${change}/runs/${run}/events.jsonl`);
  const log = project.path(`.spool/.state/ralph/${change}/runs/${run}/0001.log`);
  const size = growJournal(journal, 200 * 1024 * 1024);
  growFile(log, 200 * 1024 * 1024);
  const web = await startWeb(project);
  const base = `/api/changes/${change}/runs/latest/iterations`;

  const first = await web.read<ConversationPage>(`${base}/1/conversation`);
  expect(first.entries[0]!.event.type).toBe('iteration-started');
  expect(first.position.size).toBeGreaterThan(size);
  const second = await web.read<ConversationPage>(`${base}/1/conversation?after=${first.next}`);
  expect(second.entries[0]!.seq).toBe(first.entries.at(-1)!.seq + 1);
  const end = await web.read<ConversationPage>(`${base}/1/conversation?before=end`);
  expect(end.entries.at(-1)!.event.type).toBe('iteration-finished');
  const beforeEnd = await web.read<ConversationPage>(`${base}/1/conversation?before=${end.previous}`);
  expect(beforeEnd.entries.at(-1)!.seq).toBe(end.entries[0]!.seq - 1);
  expect((await web.read<ConversationPage>(`${base}/2/conversation`)).entries[0]!.event).toMatchObject({
    iteration: 2,
  });
  const text = await web.read<TextPage>(`${base}/1/log?offset=150000000`);
  expect(text).toMatchObject({ offset: 150_000_000, size: expect.any(Number) });
  const tail = await web.read<TextPage>(`${base}/1/log?offset=end`);
  expect(tail.nextOffset).toBe(tail.size);
  await (await web.stream(stream)).message('snapshot');

  expect(memoryOf(web.pid)).toBeLessThan(180);
  // Nothing is kept open, and a page of the middle is found without reading all of it again.
  const middle = await web.read<ConversationPage>(`${base}/1/conversation?after=${Math.round(size / 2)}`);
  expect(middle.entries.length).toBeGreaterThan(100);
}, 180_000);

/** Adds lines of an agent to the first iteration, as Spool writes them. Returns how many bytes. */
const growJournal = (path: string, bytes: number): number => {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  const at = lines.findIndex((line) => line.includes('"type":"iteration-finished"'));
  let seq = at;
  const file = openSync(path, 'w');
  writeSync(file, `${lines.slice(0, at).join('\n')}\n`);
  let added = 0;
  while (added < bytes) {
    let block = '';
    while (block.length < 1024 * 1024) {
      block += journalLine(++seq);
    }
    added += block.length;
    writeSync(file, block);
  }
  for (const line of lines.slice(at)) writeSync(file, `${line.replace(/"seq":\d+/, `"seq":${++seq}`)}\n`);
  closeSync(file);
  return added;
};

const growFile = (path: string, bytes: number): void => {
  mkdirSync(dirname(path), { recursive: true });
  const block = `${'a log line with words '.repeat(50)}\n`.repeat(1000);
  for (let size = 0; size < bytes; size += block.length) appendFileSync(path, block);
};

/** Resident memory at its highest, in MB. */
const memoryOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

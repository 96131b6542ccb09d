// npm run bench:web: what `spool web` costs. Prints a table; nothing here fails a build.
//   --quick           a journal of 20 MB, five pages, shorter times
//   --json <file>     writes the figures as well
// Times are also ratios to a floor of the same run: the first byte of a bare Node server, or one reading of the journal.
import { spawn } from 'node:child_process';
import {
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { change, makeBase, makeHistory, makeProject, makeRepository, setAgent, spoolProgram } from './places.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
});
const size = (options.quick ? 20 : 200) * 1024 * 1024;
const pages = options.quick ? 5 : 50;
const restMs = options.quick ? 2000 : 10_000;

/** @typedef {import('./places.mjs').Place} Place */

/** @param {Place} place */
const startServer = async (place) => {
  const started = performance.now();
  const child = spawn(process.execPath, [spoolProgram, 'web', '--port', '0'], {
    cwd: place.folder,
    env: place.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const address = await new Promise((resolve) => {
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.trim());
    });
  });
  const startMs = performance.now() - started;
  const url = new URL(String(address));
  const { headers } = await fetchText(url);
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  return { child, startMs, base: url.origin, cookie };
};

/**
 * @param {URL | string} url @param {string} [cookie]
 * @returns {Promise<{ text: string, headers: import('node:http').IncomingHttpHeaders, firstMs: number, ms: number }>}
 */
const fetchText = (url, cookie = '') =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    get(url, { headers: { cookie } }, (response) => {
      const firstMs = performance.now() - started;
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ text, headers: response.headers, firstMs, ms: performance.now() - started }));
    }).on('error', reject);
  });

/** Opens a stream, and counts its messages. @param {string} url @param {string} cookie */
const openPage = (url, cookie) =>
  new Promise((resolve, reject) => {
    const page = { messages: 0, close: () => {} };
    const request = get(url, { headers: { cookie } }, (response) => {
      response.setEncoding('utf8').on('data', (chunk) => (page.messages += chunk.split('data: ').length - 1));
      response.on('error', () => {});
      resolve(page);
    });
    request.on('error', reject);
    page.close = () => request.destroy();
  });

/** The CPU time of a process so far, in ms. @param {number} pid */
const cpuOf = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Resident memory at its highest, in MB. @param {number} pid */
const memoryOf = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** CPU in percent of one core, while nothing else is asked of it. @param {number} pid */
const loadOf = async (pid) => {
  const [before, started] = [cpuOf(pid), performance.now()];
  await delay(restMs);
  return (100 * (cpuOf(pid) - before)) / (performance.now() - started);
};

/** A run that is running: an agent that prints a line now and then. @param {Place} place */
const startRun = async (place) => {
  const child = spawn(
    process.execPath,
    [spoolProgram, 'ralph', '--change', change, '--fresh', '--max-iterations', '1'],
    {
      cwd: place.folder,
      env: place.env,
      stdio: 'ignore',
    },
  );
  const journals = join(place.folder, '.spool/.state/ralph', change, 'runs');
  while (!existsSync(journals) || readdirSync(journals).length === 0) await delay(50);
  await delay(2000);
  return child;
};

/** Adds output of an agent to the last journal of a change, and returns its path. @param {Place} place */
const growJournal = (place) => {
  const runs = join(place.folder, '.spool/.state/ralph', change, 'runs');
  const run = readdirSync(runs).toSorted().at(-1) ?? '';
  const path = join(runs, run, 'events.jsonl');
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  const at = lines.findIndex((line) => line.includes('"type":"iteration-finished"'));
  const file = openSync(path, 'w');
  writeSync(file, `${lines.slice(0, at).join('\n')}\n`);
  let seq = at;
  for (let added = 0; added < size;) {
    let block = '';
    while (block.length < 1024 * 1024) {
      const event = { type: 'agent', event: { type: 'text', text: `line ${seq} ${'x'.repeat(900)}`, plain: true } };
      block += `${JSON.stringify({ v: 1, seq: ++seq, at: new Date().toISOString(), elapsedMs: 5, event })}\n`;
    }
    added += block.length;
    writeSync(file, block);
  }
  for (const line of lines.slice(at)) writeSync(file, `${line.replace(/"seq":\d+/, `"seq":${++seq}`)}\n`);
  closeSync(file);
  return path;
};

const base = makeBase();
/** @type {{ what: string, value: number, unit: string, ratio: number | null }[]} */
const rows = [];
/** @param {string} what @param {number} value @param {string} unit @param {number | null} [floor] */
const add = (what, value, unit, floor = null) =>
  rows.push({ what, value: Math.round(value * 10) / 10, unit, ratio: floor === null ? null : value / floor });

/** The median of several requests, in ms. @param {() => Promise<number>} measure */
const medianOf = async (measure) => {
  /** @type {number[]} */
  const times = [];
  for (let turn = 0; turn < 9; turn++) times.push(await measure());
  return times.toSorted((a, b) => a - b)[4] ?? 0;
};
const bare = createServer((_, response) => response.end('floor'));
await new Promise((resolve) => bare.listen(0, '127.0.0.1', () => resolve(null)));
const bareUrl = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (bare.address()).port}/`;
await fetchText(bareUrl);
const floor = await medianOf(async () => (await fetchText(bareUrl)).firstMs);
bare.close();
add('floor: first byte of a bare Node server', floor, 'ms');

const place = makeProject(base, 'web');
makeHistory(place, options.quick ? 100 : 1000);
const server = await startServer(place);
const pid = Number(server.child.pid);
add('start to the printed address', server.startMs, 'ms');
add('memory after the start', memoryOf(pid), 'MB');
/** @param {string} path */
const ask = (path) => fetchText(`${server.base}${path}`, server.cookie);
const run = `/api/changes/${change}/runs/latest`;
await ask('/api/overview');
add('first byte of the page', await medianOf(async () => (await ask('/')).firstMs), 'ms', floor);
add('first byte of the overview', await medianOf(async () => (await ask('/api/overview')).firstMs), 'ms', floor);
const iterations = await ask(`${run}/iterations`);
add(
  `${JSON.parse(iterations.text).iterations?.length ?? 0} iterations in short`,
  await medianOf(async () => (await ask(`${run}/iterations`)).ms),
  'ms',
  floor,
);
add('CPU without a page, of one core', await loadOf(pid), '%');
const overview = await openPage(`${server.base}/api/stream/overview`, server.cookie);
add('CPU with the overview open', await loadOf(pid), '%');
overview.close();
server.child.kill('SIGTERM');

const live = makeProject(base, 'live');
makeRepository(live, 10);
setAgent(live, 'for n in $(seq 900); do echo "line $n of the agent"; sleep 0.1; done');
const again = await startServer(live);
const livePid = Number(again.child.pid);
const loop = await startRun(live);
await delay(1000);
const runWithOut = await loadOf(Number(loop.pid));
add('CPU of a run with ten lines a second, no page open', runWithOut, '%');
const stream = `${again.base}/api/stream/changes/${change}/runs/latest`;
const opened = [await openPage(stream, again.cookie)];
await delay(1000);
const loopPid = Number(loop.pid);
add('CPU of the server, one page on a run with ten lines a second', await loadOf(livePid), '%');
add('CPU of the run at that time', await loadOf(loopPid), '%', runWithOut);
while (opened.length < pages) opened.push(await openPage(stream, again.cookie));
await delay(1000);
add(`CPU of the server, ${pages} pages`, await loadOf(livePid), '%');
add(`CPU of the run at that time, ${pages} pages`, await loadOf(loopPid), '%', runWithOut);
add(`memory of the server, ${pages} pages`, memoryOf(livePid), 'MB');
for (const page of opened) page.close();
loop.kill('SIGTERM');
await new Promise((resolve) => loop.once('exit', resolve));
again.child.kill('SIGTERM');

const journal = growJournal(live);
const readMs = await medianOf(async () => {
  const started = performance.now();
  for await (const _ of createReadStream(journal, { highWaterMark: 1024 * 1024 }));
  return performance.now() - started;
});
const large = await startServer(live);
const largePid = Number(large.child.pid);
const before = memoryOf(largePid);
/** @param {string} path */
const askLarge = (path) => fetchText(`${large.base}${path}`, large.cookie);
const conversation = `${run}/iterations/1/conversation`;
add(`floor: reading a journal of ${size / 1024 / 1024} MB once`, readMs, 'ms');
add('its first window, when it is opened', (await askLarge(conversation)).ms, 'ms', readMs);
const lastWindow = `${conversation}?before=end`;
add('its last window', await medianOf(async () => (await askLarge(lastWindow)).ms), 'ms', readMs);
add('memory that took', memoryOf(largePid) - before, 'MB');
large.child.kill('SIGTERM');

for (const { what, value, unit, ratio } of rows) {
  const times = ratio === null ? '' : ` ${ratio.toFixed(1)} ×`;
  process.stdout.write(`${what.padEnd(64)} ${String(value).padStart(9)} ${unit.padEnd(2)}${times}\n`);
}
if (options.json) writeFileSync(options.json, `${JSON.stringify({ rows }, null, 2)}\n`);

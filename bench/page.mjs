// npm run bench:page: what the page costs in a real browser. Prints a table; nothing here fails a build.
//   --json <file>     writes the figures as well
// Times are also ratios to a floor of the same run: a page with one word, from a bare Node server, in the same browser.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { launchOptions } from '../scripts/chromium.mjs';
import { change, makeBase, makeHistory, makeProject, spoolProgram } from './places.mjs';

const { values: options } = parseArgs({ options: { json: { type: 'string' } } });

/** @type {{ what: string, value: number, unit: string, ratio: number | null }[]} */
const rows = [];
/** @param {string} what @param {number} value @param {string} unit @param {number | null} [floor] */
const add = (what, value, unit, floor = null) => {
  const ratio = floor === null ? null : value / floor;
  rows.push({ what, value, unit, ratio });
  const shown = value.toFixed(value < 100 ? 1 : 0).padStart(9);
  process.stdout.write(
    `${what.padEnd(60)} ${shown} ${unit.padEnd(3)}${ratio === null ? '' : ` ${ratio.toFixed(1)} ×`}\n`,
  );
};

const built = fileURLToPath(new URL('../dist/web/', import.meta.url));
const sizeOf = (/** @type {string} */ ending) =>
  readdirSync(built)
    .filter((name) => name.endsWith(ending))
    .reduce((sum, name) => sum + statSync(join(built, name)).size, 0) / 1000;
add('the page, compressed with brotli', sizeOf('.br'), 'KB');

const base = makeBase();
const place = makeProject(base, 'page');
makeHistory(place, 1000);
const server = spawn(process.execPath, [spoolProgram, 'web', '--port', '0'], {
  cwd: place.folder,
  env: place.env,
  stdio: ['ignore', 'pipe', 'ignore'],
});
const url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
const bare = createServer((_, response) => response.end('<!doctype html><title>floor</title><p>floor</p>'));
await new Promise((resolve) => bare.listen(0, '127.0.0.1', () => resolve(null)));
const bareUrl = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (bare.address()).port}/`;
const browser = await chromium.launch(launchOptions());
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(url);

const turns = 7;
const median = (/** @type {number[]} */ values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The first paint, and when a text is there, in ms. @param {string} address @param {string} text */
const timesOf = async (address, text) => {
  /** @type {number[]} */
  const paints = [];
  /** @type {number[]} */
  const ready = [];
  for (let turn = 0; turn < turns; turn++) {
    await page.goto('about:blank');
    await page.goto(new URL(address, url).href);
    await page.getByText(text).first().waitFor();
    ready.push(await page.evaluate('performance.now()'));
    paints.push(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`));
  }
  return { paint: median(paints), ready: median(ready) };
};

const cdp = await page.context().newCDPSession(page);
/** What scripts hold in the page, in MB. */
const heap = async () => {
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize / 1e6;
};
/** Resident memory of the server at its highest, in MB; 0 where that is not known. */
const serverMemory = () => {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
};

/** Scrolls through an element and measures its frames. @param {string} selector */
const scroll = (selector) =>
  /** @type {Promise<{ median: number, worst: number }>} */ (
    page.evaluate(`(async () => {
      const element = document.querySelector('${selector}');
      const times = [];
      let last = performance.now();
      for (let frame = 0; frame < 200; frame++) {
        if (element) element.scrollTop = (element.scrollHeight * frame) / 200;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      times.sort((a, b) => a - b);
      return { median: times[100], worst: times.at(-1) };
    })()`)
  );

const floor = await timesOf(bareUrl, 'floor');
const floorFrames = await scroll('.nothing');
add('floor: first paint of a page with one word', floor.paint, 'ms');
const overview = await timesOf('/', change);
add('first paint of the overview', overview.paint, 'ms', floor.paint);
add('the overview with its rows', overview.ready, 'ms', floor.ready);
const run = await timesOf(`/#/change/${change}/latest`, '#1000');
add('a run of 1,000 iterations with its list', run.ready, 'ms', floor.ready);
add('memory of scripts, with 1,000 iterations', await heap(), 'MB');
const list = await scroll('.window-list');
add('a frame while 1,000 iterations are scrolled, median', list.median, 'ms', floorFrames.median);
add('the longest one', list.worst, 'ms', floorFrames.worst);
add('rows of the list in the page', await page.locator('.window-list li').count(), '');

const runs = join(place.folder, '.spool/.state/ralph', change, 'runs');
const [folder = ''] = readdirSync(runs);
const log = openSync(join(runs, folder, '0001.log'), 'w');
const block = `${'x'.repeat(99)}\n`.repeat(10_000);
for (let written = 0; written < 200; written++) writeSync(log, block);
closeSync(log);
const memoryBefore = serverMemory();
const opened = await timesOf(`/#/change/${change}/latest/1/log`, '200.0 MB');
add('a log of 200 MB, opened', opened.ready, 'ms', floor.ready);
const frames = await scroll('.text-file');
add('a frame while it is scrolled, median', frames.median, 'ms', floorFrames.median);
add('the longest one', frames.worst, 'ms', floorFrames.worst);
add('memory of scripts, with the log', await heap(), 'MB');
add('memory that the log took in the server', serverMemory() - memoryBefore, 'MB');

await browser.close();
bare.close();
server.kill('SIGTERM');
await new Promise((done) => server.once('exit', done));
rmSync(dirname(place.folder), { recursive: true, force: true });
if (options.json) writeFileSync(options.json, `${JSON.stringify({ rows }, null, 2)}\n`);

// npm run bench:page: what the page costs in a real browser. Prints a table; nothing here fails a build.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { launchOptions } from '../scripts/chromium.mjs';
import { change, makeBase, makeHistory, makeProject, spoolProgram } from './places.mjs';

/** @param {string} what @param {number} value @param {string} unit */
const print = (what, value, unit) =>
  process.stdout.write(`${what.padEnd(64)} ${value.toFixed(value < 100 ? 1 : 0).padStart(9)} ${unit}\n`);

const built = fileURLToPath(new URL('../dist/web/', import.meta.url));
const sizeOf = (/** @type {string} */ ending) =>
  readdirSync(built)
    .filter((name) => name.endsWith(ending))
    .reduce((sum, name) => sum + statSync(join(built, name)).size, 0) / 1000;
print('the page, compressed with brotli', sizeOf('.br'), 'KB');

const base = makeBase();
const place = makeProject(base, 'page');
makeHistory(place, 1000);
const server = spawn(process.execPath, [spoolProgram, 'web', '--port', '0'], {
  cwd: place.folder,
  env: place.env,
  stdio: ['ignore', 'pipe', 'ignore'],
});
const url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
const browser = await chromium.launch(launchOptions());
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(url);

/** @param {string} view @param {string} text */
const firstPaint = async (view, text) => {
  /** @type {number[]} */
  const paints = [];
  /** @type {number[]} */
  const ready = [];
  for (let turn = 0; turn < 5; turn++) {
    await page.goto('about:blank');
    await page.goto(new URL(view, url).href);
    await page.getByText(text).first().waitFor();
    ready.push(await page.evaluate('performance.now()'));
    paints.push(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`));
  }
  return [paints, ready].map((times) => times.toSorted((a, b) => a - b)[2] ?? 0);
};
const [paint = 0, ready = 0] = await firstPaint('/', change);
print('first paint of the overview', paint, 'ms');
print('the overview with its rows', ready, 'ms');
const [, run = 0] = await firstPaint(`/#/change/${change}/latest`, '#1000');
print('a run of 1,000 iterations with its list', run, 'ms');

/** Scrolls through an element and measures its frames. @param {string} selector */
const scroll = (selector) =>
  /** @type {Promise<{ frames: number, median: number, worst: number }>} */ (
    page.evaluate(`(async () => {
      const element = document.querySelector('${selector}');
      const times = [];
      let last = performance.now();
      for (let frame = 0; frame < 200; frame++) {
        element.scrollTop = (element.scrollHeight * frame) / 200;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      times.sort((a, b) => a - b);
      return { frames: times.length, median: times[100], worst: times.at(-1) };
    })()`)
  );
const list = await scroll('.window-list');
print('a frame while 1,000 iterations are scrolled, median', list.median, 'ms');
print('the longest one', list.worst, 'ms');
print('rows of the list in the page', await page.locator('.window-list li').count(), '');

const runs = join(place.folder, '.spool/.state/ralph', change, 'runs');
const [folder = ''] = readdirSync(runs);
const log = openSync(join(runs, folder, '0001.log'), 'w');
const block = `${'x'.repeat(99)}\n`.repeat(10_000);
for (let written = 0; written < 200; written++) writeSync(log, block);
closeSync(log);
const [, opened = 0] = await firstPaint(`/#/change/${change}/latest/1/log`, '200.0 MB');
print('a log of 200 MB, opened', opened, 'ms');
const frames = await scroll('.text-file');
print('a frame while it is scrolled, median', frames.median, 'ms');
print('the longest one', frames.worst, 'ms');
print('memory of scripts in the page', Number(await page.evaluate('performance.memory.usedJSHeapSize')) / 1e6, 'MB');

await browser.close();
server.kill('SIGTERM');
await new Promise((done) => server.once('exit', done));
rmSync(dirname(place.folder), { recursive: true, force: true });

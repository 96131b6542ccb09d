// Runs the examples in the docs and writes their output into the pages; with --check it only compares. An example is a
// console block after a comment that names its scene:
//
//   <!-- example: morning -->
//
//   ```console
//   $ spool status 001-01
//   ```
//
// The examples of a page with the same scene are run one after the other in the same project, unless they have another
// name, as in `morning/second`. --pictures draws the
// pictures of the docs instead.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pictures } from './docs/pictures.mjs';
import { scenes } from './docs/scenes.mjs';
import { openScreen } from './docs/screen.mjs';
import { toSvg } from './docs/svg.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);
const example = /(<!-- example: ((\w+)(?:\/\w+)?) -->\n+```console\n)([\s\S]*?)(?=```)/g;

/**
 * The words without what differs from run to run: times, durations, ids, and what depends on their widths: bars, where
 * lines break, and where the last cell of a row is cut off.
 * @param {string} text
 */
const wordsOf = (text) =>
  text
    .replace(/ {2}\S(?:(?! {2}).)*…$/gm, ' CUT')
    .replace(/\d{8}-\d{6}-[0-9a-f]{8}/g, 'RUN')
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b/g, 'COMMIT')
    .replace(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\b\d?\d:\d\d(?::\d\d)?\b/g, 'TIME')
    .replace(/\d+(?:\.\d+)?(?:ms|s|m|h)\b(?: ?\d+s\b)?/g, 'DURATION')
    .replace(/\bpid \d+|\bprocess \d+/gi, 'PROCESS')
    .split(/[\s─▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░]+/)
    .filter((word) => word !== '');

/** The first words that differ, with a few before them. @param {string[]} before @param {string[]} after */
const difference = (before, after) => {
  const index = before.findIndex((word, at) => word !== after[at]);
  const first = index === -1 ? before.length : index;
  /** @param {string[]} words */
  const around = (words) => words.slice(Math.max(0, first - 5), first + 10).join(' ');
  return `- ${around(before)}\n+ ${around(after)}\n`;
};

/** @param {string} block @param {Awaited<ReturnType<typeof scenes[string]>>} project */
const run = async (block, project) => {
  let text = '';
  for (const line of block.split('\n').filter((candidate) => candidate.startsWith('$ '))) {
    const { folder: cwd, env } = project;
    // The shell waits for a key, because output that is still unread when a terminal closes is lost.
    const script = `${line.slice(2)}\nprintf '\\033]0;end\\007'; read -r key`;
    const screen = openScreen({ command: '/bin/sh', args: ['-c', script], cwd, env, columns: 80, rows: 24 });
    await screen.hasTitle('end');
    screen.kill();
    await screen.exitCode;
    const output = screen.text().replaceAll(project.folder, '~/shop');
    text += `${line}\n${output}${output === '' ? '' : '\n'}`;
  }
  return text;
};

/** The page with the output of its examples. @param {string} page */
const refresh = async (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  /** @type {Map<string, Awaited<ReturnType<typeof scenes[string]>>>} */
  const projects = new Map();
  let result = '';
  let end = 0;
  try {
    for (const match of text.matchAll(example)) {
      const [all, head = '', name = '', scene = '', block = ''] = match;
      const create = scenes[scene];
      if (!create) throw new Error(`${page}: there is no scene "${scene}".`);
      const project = projects.get(name) ?? (await create());
      projects.set(name, project);
      const output = await run(block, project);
      const [before, after] = [wordsOf(block), wordsOf(output)];
      const isSame = before.join(' ') === after.join(' ');
      if (!isSame) process.stderr.write(`${page}, ${name}:\n${difference(before, after)}\n`);
      result += `${text.slice(end, match.index)}${head}${isSame ? block : output}`;
      end = match.index + all.length;
    }
  } finally {
    for (const project of projects.values()) await project.close();
  }
  return { before: text, after: result + text.slice(end) };
};

const drawPictures = async () => {
  mkdirSync(join(root, 'docs', 'pictures'), { recursive: true });
  for (const [name, { title, draw }] of Object.entries(pictures)) {
    writeFileSync(join(root, 'docs', 'pictures', `${name}.svg`), toSvg(await draw(), title));
    process.stdout.write(`docs/pictures/${name}.svg\n`);
  }
};

const refreshPages = async (/** @type {boolean} */ isCheck) => {
  /** @type {string[]} */
  const stale = [];
  for (const name of pages) {
    const { before, after } = await refresh(name);
    if (before === after) continue;
    stale.push(name);
    if (!isCheck) writeFileSync(join(root, name), after);
  }
  if (!isCheck) return process.stdout.write(`${stale.length} pages written\n`);
  if (stale.length === 0) return;
  process.stderr.write(`The output of commands differs from ${stale.join(', ')}. To update them: npm run docs\n`);
  process.exitCode = 1;
};

if (process.argv.includes('--pictures')) await drawPictures();
else await refreshPages(process.argv.includes('--check'));

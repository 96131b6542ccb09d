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

/** What differs from run to run: times, durations, ids, and the spaces and bars that depend on them. @param {string} text */
const withoutVariables = (text) =>
  text
    .replace(/\d{8}-\d{6}-[0-9a-f]{8}/g, 'RUN')
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b/g, 'COMMIT')
    .replace(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\b\d?\d:\d\d(?::\d\d)?\b/g, 'TIME')
    .replace(/\d+(?:\.\d+)?(?:ms|s|m|h)\b(?: ?\d+s\b)?/g, 'DURATION')
    .replace(/\bpid \d+|\bprocess \d+/gi, 'PROCESS')
    .replace(/[─▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░]+/g, 'BAR')
    .replace(/[ \t]+/g, ' ');

/** @param {string} block @param {Awaited<ReturnType<typeof scenes[string]>>} project */
const run = async (block, project) => {
  let text = '';
  for (const line of block.split('\n').filter((candidate) => candidate.startsWith('$ '))) {
    const { folder: cwd, env } = project;
    const screen = openScreen({ command: '/bin/sh', args: ['-c', line.slice(2)], cwd, env, columns: 80, rows: 24 });
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
      const isSame = withoutVariables(output) === withoutVariables(block);
      if (!isSame) process.stdout.write(`${page}:\n${output}\n`);
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
  process.stderr.write(`The output above differs from ${stale.join(', ')}. To update them: npm run docs\n`);
  process.exitCode = 1;
};

if (process.argv.includes('--pictures')) await drawPictures();
else await refreshPages(process.argv.includes('--check'));

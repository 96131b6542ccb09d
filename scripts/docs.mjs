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
// name, as in `morning/second`. A plain block after `<!-- screen: board -->` is a screen of scripts/docs/screens.mjs.
// Pages can be named: node scripts/docs.mjs docs/ci.md
// Times, commits and the like may differ from the page; --force writes them too.
// --pictures draws the pictures of the docs instead, or those that are named after it.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pictures } from './docs/pictures.mjs';
import { closeQueue, shownAs } from './docs/cluster.mjs';
import { isSameOutput } from './docs/compare.mjs';
import { scenes } from './docs/scenes.mjs';
import { screens } from './docs/screens.mjs';
import { openScreen } from './docs/screen.mjs';
import { toSvg } from './docs/svg.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const allPages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);
const isForced = process.argv.includes('--force');
const named = process.argv.filter((argument) => allPages.includes(argument));
const pages = named.length === 0 ? allPages : named;
const example = /(<!-- (example|screen): ((\w+)(?:\/\w+)?) -->\n+```(?:console)?\n)([\s\S]*?)(?=```)/g;

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
    const output = shownAs(screen.text().replaceAll(dirname(project.folder), '~'));
    text += `${line}\n${output}${output === '' ? '' : '\n'}`;
  }
  return text;
};

/**
 * @param {Map<string, Awaited<ReturnType<typeof scenes[string]>>>} projects
 * @param {{ name: string, scene: string, block: string }} example
 */
const runIn = async (projects, { name, scene, block }) => {
  const create = scenes[scene];
  if (!create) throw new Error(`There is no scene "${scene}".`);
  const project = projects.get(name) ?? (await create());
  projects.set(name, project);
  return run(block, project);
};

/** @param {string} name */
const takeScreen = async (name) => {
  const take = screens[name];
  if (!take) throw new Error(`There is no screen "${name}".`);
  return take();
};

/**
 * The page with the output of its examples. If one has changed, so do the others of its project: times and commits agree.
 * @param {string} page
 */
const refresh = async (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  /** @type {Map<string, Awaited<ReturnType<typeof scenes[string]>>>} */
  const projects = new Map();
  const found = [];
  try {
    for (const match of text.matchAll(example)) {
      const [, , kind = '', name = '', scene = '', block = ''] = match;
      const output = kind === 'screen' ? await takeScreen(scene) : await runIn(projects, { name, scene, block });
      const isSame = isSameOutput(output, block);
      if (!isSame) process.stderr.write(`${page}, ${name}:\n${output}\n`);
      found.push({ match, name, output, isSame });
    }
  } finally {
    for (const project of projects.values()) await project.close();
  }
  const changed = new Set(found.filter(({ isSame }) => !isSame || isForced).map(({ name }) => name));
  let [after, end] = ['', 0];
  for (const { match, name, output } of found) {
    const [all, head = '', , , , block = ''] = match;
    after += `${text.slice(end, match.index)}${head}${changed.has(name) ? output : block}`;
    end = match.index + all.length;
  }
  return { before: text, after: after + text.slice(end) };
};

const drawPictures = async () => {
  mkdirSync(join(root, 'docs', 'pictures'), { recursive: true });
  const names = process.argv.slice(process.argv.indexOf('--pictures') + 1);
  for (const [name, { title, draw }] of Object.entries(pictures)) {
    if (names.length > 0 && !names.includes(name)) continue;
    writeFileSync(join(root, 'docs', 'pictures', `${name}.svg`), toSvg(await draw(), title));
    process.stdout.write(`docs/pictures/${name}.svg\n`);
  }
};

const refreshPages = async (/** @type {boolean} */ isCheck) => {
  /** @type {string[]} */
  const stale = [];
  const remaining = [...pages];
  const work = async () => {
    for (let name = remaining.shift(); name !== undefined; name = remaining.shift()) {
      const { before, after } = await refresh(name);
      if (before === after) continue;
      stale.push(name);
      if (!isCheck) writeFileSync(join(root, name), after);
    }
  };
  // Most of the time is spent waiting for agents.
  try {
    await Promise.all([work(), work(), work()]);
  } finally {
    await closeQueue();
  }
  if (!isCheck) return process.stdout.write(`${stale.length} pages written\n`);
  if (stale.length === 0) return;
  process.stderr.write(`The output above differs from ${stale.join(', ')}. To update them: npm run docs\n`);
  process.exitCode = 1;
};

if (process.argv.includes('--pictures')) await drawPictures();
else await refreshPages(process.argv.includes('--check'));

// npm run graph: which room of src/ imports which, types included. Fails if an import goes in the wrong direction or
// in a circle, or if a file asks the process about its surroundings. With --check it prints nothing else; with --docs it
// writes the graph into docs/architecture.md.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The rooms, from the ground up: each may import those above it in this list, and no other. */
const rooms = [
  ['text', 'strings: names, formats, quoting, JSON'],
  ['errors', 'every error that a user can cause'],
  ['files', 'opens what is below .spool, safely'],
  ['ralph', 'decisions: loop, next step, promise, prompt, events, view'],
  ['charts', 'charts of a run as data, drawn as SVG'],
  ['secrets', 'finds keys and passwords in output'],
  ['process', 'running a process, shells, process trees'],
  ['git', 'all git operations'],
  ['store', 'what a run writes to disk: state, history, locks, user state'],
  ['changes', 'changes, modules, tasks, requirements'],
  ['proof', 'which scenario is proven by which test or command'],
  ['harness', 'agents, with an adapter for each'],
  ['config', 'flags, variables, config.json'],
  ['guard', 'what decides whether a change is done, and who changed it'],
  ['trust', 'what a project may run on the machine of the user'],
  ['sandbox', 'confines agents to the project'],
  ['run', 'one run, from its start to its result; several at a time'],
  ['land', 'rebases, verifies and merges a branch'],
  ['publish', 'pushes a branch and opens its pull request'],
  ['cluster', 'many machines: queue, worker, fence'],
  ['report', 'terminal, JSON, dashboard, status'],
  ['web', 'the page in the browser: its server, what it reads and how it steers'],
  ['page', 'the page itself, which runs in the browser: web/page/'],
  ['commands', 'one file or folder for each command'],
  ['cli', 'argv to exit code'],
  ['index', 'the library: startRun, followRun, readRun, openProject'],
  ['launch', 'loads the program, with the compiled code of earlier starts'],
];

/** Rooms that a room may not import although they are below it. */
const closed = {
  ralph: ['text', 'errors', 'files'],
  charts: ['errors', 'files'],
  run: ['report'],
  land: ['report'],
  publish: ['run', 'sandbox', 'trust', 'guard', 'harness', 'config'],
  cluster: ['report', 'land', 'publish'],
  report: ['run', 'land', 'publish', 'cluster', 'process', 'harness', 'config', 'sandbox', 'guard', 'files'],
  web: ['run', 'land', 'publish', 'sandbox', 'trust', 'guard', 'harness'],
  commands: ['page'],
  cli: ['page', 'web', 'run', 'land', 'publish', 'cluster', 'git', 'harness', 'store', 'changes'],
};

/** The folders in changes/ that are a source of changes. Only what creates its files may know one. */
const sourceFolder = /^changes\/(?:spool|openspec|ito|spec-kit|kiro|file)\//;
const creators = new Set(['commands/init/init.ts', 'commands/create-module.ts', 'commands/create-change.ts']);

/** The folders of commands/ that belong to no command. */
const sharedByCommands = new Set(['user', 'runs', 'with-queue']);

/** @param {string} file The command that it belongs to; null outside of commands/, and for the list of commands. */
const commandOf = (file) => {
  const name = /^commands\/([^/.]+)/.exec(file)?.[1] ?? null;
  return name === 'registry' ? null : name;
};

/** What the page may import besides its own files: pure modules, and the types of the API. */
const inBrowser = /^(?:text|ralph|charts)\/|^web\/(?:page\/|api\.ts$)/;

/** @param {string} file A path below src/. */
export const roomOf = (file) => {
  if (file.startsWith('web/page/')) return 'page';
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
};

/** Every file below src/ with those that it imports: `static` ones, types among them, and those that it loads when it needs them. */
export const readImports = (folder = join(root, 'src')) => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  const files = names.filter((name) => /\.tsx?$/.test(name)).toSorted();
  const pattern = /(?:^(import|export) (type )?[^;]*?from |import\()'(\.[^']+)'/gm;
  return new Map(
    files.map((file) => {
      const found = [...readFileSync(join(folder, file), 'utf8').matchAll(pattern)].map((match) => ({
        to: posix.normalize(posix.join(posix.dirname(file), match[3] ?? '')),
        kind: match[1] === undefined ? 'dynamic' : match[2] === undefined ? 'static' : 'type',
      }));
      return [file, found];
    }),
  );
};

/** @typedef {ReturnType<typeof readImports>} Imports */

/** The text of every file below src/, without comments. */
export const readSources = (folder = join(root, 'src')) => {
  const files = [...readImports(folder).keys()];
  return new Map(files.map((file) => [file, withoutComments(readFileSync(join(folder, file), 'utf8'))]));
};

/** @param {string} text */
const withoutComments = (text) => text.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '');

/** Where a program begins: what it finds there is passed on. */
const entrances = /^(?:cli|launch)\/|^index\.ts$/;

/** Files that may ask the process, and what for. */
const asking = {
  'files/environment.ts': ['process.env'],
  'files/home.ts': ['userInfo'],
  'process/scope.ts': ['process.cwd'],
};

/**
 * Files that use the environment, the home folder or the working directory of the process instead of those of the run:
 * several runs of a program can have different ones.
 * @param {ReadonlyMap<string, string>} sources
 */
export const surroundingsIn = (sources) =>
  [...sources]
    .filter(([file]) => !entrances.test(file) && roomOf(file) !== 'page')
    .flatMap(([file, text]) => {
      const found = new Set(text.match(/\bprocess\.(?:env|cwd)\b|\bhomedir\(|\buserInfo\b/g));
      const allowed = asking[/** @type {keyof typeof asking} */ (file)] ?? [];
      return [...found]
        .filter((name) => !allowed.includes(name))
        .map(
          (name) => `${file} uses ${name.replace('(', '')}: the environment and the folders of a run are in its scope`,
        );
    });

/** @param {Imports} imports */
export const problemsIn = (imports) => {
  const order = rooms.map(([name]) => name);
  const unknown = [...imports.keys()].filter((file) => !order.includes(roomOf(file)));
  const wrong = [...imports].flatMap(([from, targets]) =>
    targets
      .filter(({ to }) => {
        const [own, other] = [roomOf(from), roomOf(to)];
        const below = order.indexOf(other) < order.indexOf(own);
        return own !== other && (!below || closed[/** @type {keyof typeof closed} */ (own)]?.includes(other));
      })
      .map(({ to }) => `${from} imports ${to}: ${roomOf(from)} may not import ${roomOf(to)}`),
  );
  const inside = [...imports].flatMap(([from, targets]) =>
    targets
      .filter(({ to }) => sourceFolder.test(to) && roomOf(from) !== 'changes' && !creators.has(from))
      .map(({ to }) => `${from} imports ${to}: only changes/ may import a source of changes`),
  );
  const foreign = [...imports].flatMap(([from, targets]) =>
    targets
      .filter(({ to }) => roomOf(from) === 'page' && !inBrowser.test(to))
      .map(({ to }) => `${from} imports ${to}: the page may import text/, ralph/, charts/ and web/api.ts`),
  );
  const sideways = [...imports].flatMap(([from, targets]) =>
    targets
      .filter(({ to }) => {
        const [own, other] = [commandOf(from), commandOf(to)];
        return own !== null && other !== null && own !== other && !sharedByCommands.has(other);
      })
      .map(({ to }) => `${from} imports ${to}: commands share only user/, runs/ and with-queue/`),
  );
  return [
    ...foreign,
    ...sideways,
    ...unknown.map((file) => `${file} is in no room: add the room to scripts/graph.mjs`),
    ...wrong,
    ...inside,
    ...circlesIn(imports).map((circle) => `circular imports: ${circle.join(' → ')}`),
  ];
};

/**
 * Files that import each other, types included. What is loaded when it is needed makes no circle.
 * @param {Imports} imports
 */
const circlesIn = (imports) => {
  /** @type {string[][]} */
  const circles = [];
  const done = new Set();
  /** @param {string} file @param {readonly string[]} way */
  const walk = (file, way) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file]);
    if (way.includes(file) || done.has(file)) return;
    for (const { to, kind } of imports.get(file) ?? []) if (kind !== 'dynamic') walk(to, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  return circles;
};

/** @param {Imports} imports */
const render = (imports) => {
  const lines = rooms.toReversed().map(([name = '', what]) => {
    const targets = new Set(
      [...imports]
        .filter(([file]) => roomOf(file) === name)
        .flatMap(([, found]) => found.map(({ to }) => roomOf(to)))
        .filter((other) => other !== name),
    );
    const files = [...imports.keys()].filter((file) => roomOf(file) === name).length;
    const to = rooms
      .map(([other = '']) => other)
      .toReversed()
      .filter((other) => targets.has(other));
    return `| \`${name}\` | ${what} | ${files} | ${to.join(', ')} |`;
  });
  return ['| room | what it does | files | imports |', '| --- | --- | ---: | --- |', ...lines].join('\n');
};

/** @param {Imports} imports */
export const graphOf = (imports) => `<!-- graph -->\n\n${render(imports)}\n\n<!-- end of graph -->`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const imports = readImports();
  const problems = [...problemsIn(imports), ...surroundingsIn(readSources())];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  else if (!process.argv.includes('--check')) process.stdout.write(`${render(imports)}\n`);
  if (process.argv.includes('--docs')) {
    const page = join(root, 'docs', 'architecture.md');
    const { format, resolveConfig } = await import('prettier');
    const text = readFileSync(page, 'utf8').replace(
      /<!-- graph -->[\s\S]*<!-- end of graph -->/,
      graphOf(imports).replaceAll('$', '$$$$'),
    );
    writeFileSync(page, await format(text, { ...(await resolveConfig(page)), parser: 'markdown' }));
  }
}

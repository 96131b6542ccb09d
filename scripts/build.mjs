// Bundles src/ into dist/: one small entry, a few files for each part that is loaded when it is used, the web page,
// the schemas and the man page.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { buildPage } from './build-page.mjs';
import { readImports } from './graph.mjs';
import { warm } from './warm.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));

/**
 * Evaluates the library that measures wide characters when it is first called. Its patterns take half a millisecond to
 * parse, and most texts are ASCII, which `widthOf` measures without it.
 * @type {import('rolldown').Plugin}
 */
const measureLater = {
  name: 'measure-later',
  transform: {
    filter: { id: /fast-string-truncated-width\/dist\/index\.js$/ },
    handler: (code) => {
      const [, imports, body, name] = /^([^]*?import [^;]*;)([^]*)export default (\w+);\s*$/.exec(code) ?? [];
      if (body === undefined) throw new Error('fast-string-truncated-width is not what the build expects');
      return `${imports}
const create = () => {${body}return ${name};};
let measure;
export default (...given) => (measure ??= create())(...given);`;
    },
  },
};

/** @type {import('rolldown').InputOptions} */
const common = {
  cwd: root,
  platform: 'node',
  logLevel: 'warn',
  plugins: [measureLater],
  // YAML is only read. The entry of the package also contains what writes it.
  resolve: { alias: { 'js-yaml': join(root, 'node_modules/js-yaml/lib/loader.js') } },
  transform: {
    define: { SPOOL_VERSION: JSON.stringify(version) },
  },
};

const imports = readImports();

/**
 * All that a file needs to run, as far as it is not loaded later.
 * @param {string} file @param {Set<string>} found
 */
const neededBy = (file, found = new Set()) => {
  if (found.has(file)) return found;
  found.add(file);
  for (const { to, kind } of imports.get(file) ?? []) if (kind === 'static') neededBy(to, found);
  return found;
};

/**
 * The steps of starting. Each becomes one file with all it needs that was not loaded before: twenty small files take
 * longer to load than to run.
 */
const steps = {
  start: 'cli/main.ts',
  // The help, which is loaded next, wraps its text.
  words: ['cli/program.ts', 'text/wrap.ts'],
  status: 'commands/ralph/ralph.ts',
  'user-state': ['store/user-state/steps.ts', 'store/user-state/folder.ts'],
  // What `--status` shows of a run that is not complete.
  facts: 'report/run-facts.ts',
  list: 'commands/list.ts',
  agents: 'harness/registry.ts',
};

const together = Object.entries(steps).map(([name, entries], index, all) => {
  const files = new Set([entries].flat().flatMap((file) => [...neededBy(file)]));
  return {
    name,
    test: (/** @type {string} */ id) => files.has(relative(join(root, 'src'), id).replaceAll('\\', '/')),
    priority: all.length - index,
  };
});

/** @type {import('rolldown').OutputOptions} */
const files = {
  dir: 'dist',
  // Node starts a program of CommonJS in less time than one of modules.
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: 'chunks/[name]-[hash].cjs',
  // Names stay, so that a stack trace can be read.
  minify: {
    compress: true,
    mangle: { toplevel: false, keepNames: { function: true, class: true } },
    codegen: { removeWhitespace: true },
  },
};

const buildProgram = () =>
  build({
    ...common,
    // The program, the process that runs the sandbox, and the library.
    input: { main: 'src/cli/main.ts', sandbox: 'src/sandbox/runtime-host.ts', index: 'src/index.ts' },
    // The entries share code with the rest, in one file.
    preserveEntrySignatures: 'allow-extension',
    output: { ...files, codeSplitting: { groups: together } },
  });

/** What Node is started with. It loads the program, and shares no code with it. */
const buildLauncher = () =>
  build({
    ...common,
    input: { spool: 'src/launch/launch.ts' },
    output: { ...files, banner: '#!/usr/bin/env node' },
  });

/**
 * Nothing that is exported changes later, so a value does what a getter does, in a fraction of the space. A file with a
 * character outside of Latin-1 takes twice the memory, so those are escaped, except in raw texts, which would keep the
 * backslash.
 */
const shorten = () => {
  const getter = /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)/g;
  const escaped = (/** @type {string} */ unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  for (const name of readdirSync(`${root}/dist`, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.cjs')) continue;
    const file = `${root}/dist/${name}`;
    const text = loadLater(readFileSync(file, 'utf8').replaceAll(getter, 'exports.$1=$2'));
    const hasRaw = /String\.raw`[^`]*[^\0-\x7f]/.test(text);
    writeFileSync(file, hasRaw ? text : text.replaceAll(/[^\0-\x7f]/g, escaped));
  }
};

/**
 * Loads modules of Node when they are first used, except those that every command needs: each takes a tenth of a
 * millisecond.
 * @param {string} text
 */
const loadLater = (text) =>
  [...text.matchAll(/(?<=[ ,])(node_\w+)=require\("(node:[\w/]+)"\)/g)].reduce((all, [declared, name, id]) => {
    const isNeeded = ['node:fs', 'node:path', 'node:util', 'node:vm'].includes(String(id));
    const isUsedOnlyByProperty = !new RegExp(`\\b${name}\\b(?!\\.|=require\\("node:)`).test(all);
    if (isNeeded || !isUsedOnlyByProperty) return all;
    return all
      .replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `(${name}()).`)
      .replace(declared, `${name}=()=>process.getBuiltinModule("${id}")`);
  }, text);

/**
 * Imports a file of src/, without what it loads later.
 * @param {string} input
 */
const load = async (input) => {
  const { output } = await build({
    ...common,
    input,
    write: false,
    // Commands are listed with functions that import them.
    plugins: [{ name: 'later', resolveDynamicImport: (id) => ({ id: String(id), external: true }) }],
  });
  return import(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
};

/** What is derived from the tables and types of the program. */
const writeDerived = async () => {
  const [{ configSchema }, { eventsSchema }, { manPage }] = await Promise.all(
    ['src/config/schema.ts', 'src/store/events-schema.ts', 'src/cli/man.ts'].map(load),
  );
  writeFileSync(`${root}/dist/config.schema.json`, `${JSON.stringify(configSchema(), null, 2)}\n`);
  writeFileSync(`${root}/dist/events.schema.json`, `${JSON.stringify(eventsSchema())}\n`);
  writeFileSync(`${root}/dist/spool.1`, manPage(version));
};

/**
 * The licences of what is bundled go along with it.
 * @param {readonly string[]} moduleIds
 */
const writeLicences = (moduleIds) => {
  const packages = moduleIds.flatMap(
    (id) => /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0] ?? [],
  );
  const texts = [...new Set(packages)].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${root}/${folder}/package.json`, 'utf8'));
    const file = readdirSync(`${root}/${folder}`).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(`${root}/${folder}/${file}`, 'utf8').trim() : `Licence: ${license}`;
    return `${name} ${version}\n\n${text}\n`;
  });
  writeFileSync(`${root}/dist/third-party-licences.txt`, texts.join(`\n${'-'.repeat(80)}\n\n`));
};

/** The types of the library: those that its entry needs, of all that the compiler writes. */
const writeTypes = () => {
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json').replace('package.json', 'bin/tsc'));
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
  const from = join(root, 'dist', 'all-types');
  /** @param {string} file @param {Set<string>} found */
  const reachable = (file, found = new Set()) => {
    if (found.has(file)) return found;
    found.add(file);
    const text = readFileSync(join(from, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/from '(\.[^']+)\.ts'/g))
      reachable(join(dirname(file), `${path}.d.ts`), found);
    return found;
  };
  for (const file of reachable('index.d.ts')) {
    const target = join(root, 'dist', 'types', file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(join(from, file), 'utf8').replaceAll(/from '(\.[^']+)\.ts'/g, "from '$1.js'"));
  }
  rmSync(from, { recursive: true });
};

rmSync(`${root}/dist`, { recursive: true, force: true });
const { output } = await buildProgram();
await buildLauncher();
shorten();
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
writeLicences([...modules, ...(await buildPage())]);
await writeDerived();
writeTypes();
warm(`${root}/dist/spool.cjs`);

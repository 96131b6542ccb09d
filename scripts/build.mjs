// Bundles src/ into dist/: one small entry, a few files for each part that is loaded when it is used, and the config schema.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));

/** @type {import('rolldown').InputOptions} */
const common = {
  cwd: root,
  platform: 'node',
  logLevel: 'warn',
  transform: { define: { SPOOL_VERSION: JSON.stringify(version) } },
};

/** What nearly every command needs is one file: twenty small ones take longer to load than to run. */
const together = [
  { name: 'start', test: below('errors|outputs|version'), priority: 3 },
  {
    name: 'words',
    test: below('program|parse|flags|values|closest|commands/(?:index|command)|report/terminal|on-path|files/home'),
    priority: 2,
  },
  {
    name: 'core',
    test: below(
      'config|process-start|project/(?:files|find|ids|changes|modules|shape|saved|state|history|lock-owner)|ralph/(?:events|usage|view)|report/(?:format|summary|status)|commands/ralph/(?:ralph|target)',
    ),
    priority: 1,
  },
  { name: 'record', test: below('project/record|files/home'), priority: 1 },
  {
    name: 'writing',
    test: below(
      'processes|project/(?:tasks|task-file|lock|loop-lock|state-folder|save-state|context)|ralph/(?:tally|fold)',
    ),
  },
  { name: 'agents', test: below('harness/(?!run|agent|version|shell|decode|diagnosis|watchdog|environment)[a-z-]+') },
];

/** @param {string} names */
function below(names) {
  return new RegExp(`[/\\\\]src[/\\\\](?:${names.replaceAll('/', '[/\\\\]')})\\.ts$`);
}

const buildProgram = () =>
  build({
    ...common,
    // The second is a process of its own.
    input: { spool: 'src/cli.ts', sandbox: 'src/sandbox/keeper.ts' },
    output: {
      dir: 'dist',
      // Node starts a program of CommonJS in less time than one of modules.
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name]-[hash].cjs',
      codeSplitting: { groups: together },
      // Names stay, so that a stack trace can be read.
      minify: {
        compress: true,
        mangle: { toplevel: false, keepNames: { function: true, class: true } },
        codegen: { removeWhitespace: true },
      },
      banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node' : ''),
    },
  });

const writeSchema = async () => {
  const { output } = await build({ ...common, input: 'src/schema.ts', write: false });
  const source = Buffer.from(output[0].code).toString('base64');
  const { configSchema } = await import(`data:text/javascript;base64,${source}`);
  writeFileSync(`${root}/dist/config.schema.json`, `${JSON.stringify(configSchema(), null, 2)}\n`);
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

rmSync(`${root}/dist`, { recursive: true, force: true });
const { output } = await buildProgram();
writeLicences(output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : [])));
await writeSchema();

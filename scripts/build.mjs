// Bundles src/ into dist/: one small entry, a chunk for each part that is loaded when it is used, and the config schema.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  define: { SPOOL_VERSION: JSON.stringify(version) },
  legalComments: 'none',
  logLevel: 'warning',
};

const buildProgram = () =>
  build({
    ...common,
    entryPoints: { spool: 'src/cli.ts' },
    outdir: 'dist',
    splitting: true,
    metafile: true,
    chunkNames: 'chunks/[name]-[hash]',
    // commander is CommonJS: what it requires of Node must be found from an ES module.
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
  });

const writeSchema = async () => {
  const { outputFiles } = await build({ ...common, entryPoints: ['src/schema.ts'], write: false });
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  const { configSchema } = await import(`data:text/javascript;base64,${source}`);
  writeFileSync(`${root}/dist/config.schema.json`, `${JSON.stringify(configSchema(), null, 2)}\n`);
};

/**
 * The licences of what is bundled go along with it.
 * @param {import('esbuild').Metafile | undefined} metafile
 */
const writeLicences = (metafile) => {
  const packages = Object.keys(metafile?.inputs ?? {}).flatMap(
    (path) => /^node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
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
writeLicences((await buildProgram()).metafile);
await writeSchema();

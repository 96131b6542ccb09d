// Records what OpenSpec does with the changes in test/fixtures/openspec/cases.mjs: whether they are valid, whether they
// can be archived, and the main specs afterwards. Run it after a change of the cases or of the version of OpenSpec:
//   node scripts/record-openspec.mjs
// With --new, only cases without a recording are run.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cases, standardFiles, standardMain } from '../test/fixtures/openspec/cases.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const openspec = join(root, 'node_modules', '@fission-ai', 'openspec', 'bin', 'openspec.js');
const run = promisify(execFile);

/** @typedef {import('../test/fixtures/openspec/cases.mjs').SpecCase} SpecCase */

/** @param {string} file @param {string} text */
const write = (file, text) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

/** @param {string} folder @param {SpecCase} given */
const createTree = (folder, { main = standardMain, mains = {}, delta = null, files = {}, settings, settingsFile }) => {
  write(join(folder, 'openspec', 'config.yaml'), 'schema: spec-driven\n');
  mkdirSync(join(folder, 'openspec', 'specs'), { recursive: true });
  const specs = { ...(main === null ? {} : { auth: main }), ...mains };
  for (const [name, text] of Object.entries(specs)) write(join(folder, 'openspec', 'specs', name, 'spec.md'), text);
  const change = join(folder, 'openspec', 'changes', 'c1');
  const all = { ...standardFiles, ...(delta === null ? {} : { 'specs/auth/spec.md': delta }), ...files };
  for (const [name, text] of Object.entries(all)) write(join(change, name), text);
  const ownSettings = settings === undefined ? settingsFile : `schema: spec-driven\n${settings}\n`;
  if (ownSettings !== undefined) write(join(change, '.openspec.yaml'), ownSettings);
};

/** Returns the exit code. @param {string} folder @param {string[]} args */
const call = async (folder, ...args) => {
  const env = { PATH: process.env.PATH, HOME: folder, CI: 'true', OPENSPEC_TELEMETRY: '0', NO_COLOR: '1', TZ: 'UTC' };
  try {
    await run(process.execPath, [openspec, ...args], { cwd: folder, env });
    return 0;
  } catch (error) {
    return /** @type {{ code: number }} */ (error).code;
  }
};

/** @param {string} folder @returns {Record<string, string>} */
const mainSpecs = (folder) => {
  const specs = join(folder, 'openspec', 'specs');
  const names = readdirSync(specs, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('spec.md'));
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(specs, name), 'utf8')]));
};

/** @param {SpecCase} given */
const record = async (given) => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-openspec-'));
  try {
    createTree(folder, given);
    return {
      validate: await call(folder, 'validate', 'c1', '--type', 'change'),
      strict: await call(folder, 'validate', 'c1', '--type', 'change', '--strict'),
      archive: await call(folder, 'archive', 'c1', '--yes'),
      specs: mainSpecs(folder),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const { version } = JSON.parse(
  readFileSync(join(root, 'node_modules', '@fission-ai', 'openspec', 'package.json'), 'utf8'),
);
const file = join(root, 'test', 'fixtures', 'openspec', 'recorded.json');
const known = process.argv.includes('--new') ? JSON.parse(readFileSync(file, 'utf8')).cases : {};
/** @type {Map<string, Awaited<ReturnType<typeof record>>>} */
const recorded = new Map(Object.entries(known));
const waiting = cases.filter(({ name }) => !recorded.has(name));
const work = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const outcome = await record(next);
    recorded.set(next.name, outcome);
    process.stdout.write(
      `${next.name}: validate ${outcome.validate}, strict ${outcome.strict}, archive ${outcome.archive}\n`,
    );
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, work));
writeFileSync(
  file,
  `${JSON.stringify({ version, cases: Object.fromEntries(cases.map(({ name }) => [name, recorded.get(name)])) }, null, 2)}\n`,
);

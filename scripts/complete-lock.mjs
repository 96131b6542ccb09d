// Lists in package-lock.json the platform packages that npm left out, as the registry it asked did not have them all.
// npm installs what the lock file lists, so without them the build tools would have no binary on other platforms.
// Run it after a change of dependencies; a test fails when something is missing.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../package-lock.json', import.meta.url));

/** @typedef {{ version: string, cpu?: string[], os?: string[], libc?: string[], dev?: true, optional?: true, optionalDependencies?: Record<string, string> }} Entry */

/**
 * What a platform package is for, as its name says: `@rolldown/binding-linux-x64-gnu`.
 * @param {string} name
 */
const platformOf = (name) => {
  const parts = (name.split('/').at(-1) ?? '').split('-');
  const os = parts.map((part) => (part === 'windows' ? 'win32' : part)).find((part) => systems.has(part));
  const cpu = parts.find((part) => processors.has(part));
  const libc = parts.some((part) => part.startsWith('musl'))
    ? ['musl']
    : parts.some((part) => part.startsWith('gnu'))
      ? ['glibc']
      : undefined;
  return { ...(cpu ? { cpu: [cpu] } : {}), ...(os ? { os: [os] } : {}), ...(libc ? { libc } : {}) };
};

const systems = new Set(['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'win32']);
const processors = new Set(['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']);

/**
 * The entries that are named as optional dependencies and not listed, by their path.
 * @param {Record<string, Entry>} packages
 * @returns {[string, Entry][]}
 */
export const missingEntries = (packages) =>
  Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`])
      .map(([name, version]) => [`node_modules/${name}`, { version, ...platformOf(name), dev: true, optional: true }]),
  );

const complete = () => {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const missing = missingEntries(lock.packages);
  const sorted = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) }).toSorted(([a], [b]) =>
    a.localeCompare(b, 'en'),
  );
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
  process.stdout.write(`${missing.length} platform packages added\n`);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) complete();

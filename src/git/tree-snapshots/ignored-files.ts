import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { git, type GitArguments } from '../call/git.ts';
import { toUtf8 } from '../paths.ts';

/** The ignored files in a work tree before an agent started. Paths are relative to its root; folders end with `/`. */
export interface Baseline {
  /** Too many files to list: whatever created them can create them again. */
  readonly folders: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

/** A folder with more files than this that a setup has created is not listed. */
const maxSetupFiles = 5000;

/** `isKnown` returns true for files that the setup did not create. Folders with such files are always listed. */
export const takeBaseline = async (root: string, isKnown: (path: string) => boolean): Promise<Baseline> => {
  const folders: string[] = [];
  const files: Record<string, string> = {};
  for (const entry of (await listIgnored(root)).filter((path) => !isCache(path) && !isOutput(path))) {
    const inside = entry.endsWith('/') ? await filesBelow(root, entry) : [entry];
    if (inside.length > maxSetupFiles && !inside.some(isKnown)) folders.push(entry);
    else for (const path of inside) files[path] = signatureOf(root, path);
  }
  return { folders, files };
};

/**
 * Returns the ignored files that were created or changed since. A completely new folder is returned as the folder.
 * `isKept` returns true for files that exist unchanged elsewhere.
 */
export const ignoredSince = async (
  root: string,
  { folders, files }: Baseline,
  isKept: (path: string) => boolean,
): Promise<string[]> => {
  const found: string[] = [];
  const isWork = (path: string) => files[path] !== signatureOf(root, path) && !isKept(path);
  for (const entry of (await listIgnored(root)).filter((path) => !isCache(path) && !isOutput(path))) {
    if (!entry.endsWith('/')) {
      if (isWork(entry)) found.push(entry);
      continue;
    }
    if (folders.some((folder) => entry.startsWith(folder))) continue;
    const inside = (await filesBelow(root, entry)).filter((path) => !folders.some((folder) => path.startsWith(folder)));
    const work = inside.filter(isWork);
    for (const path of work.length > 0 && work.length === inside.length ? [entry] : work) found.push(path);
  }
  return found;
};

/** Returns the ignored folders with the output of builds and test runs. */
export const outputsIn = async (root: string): Promise<string[]> => (await listIgnored(root)).filter(isOutput);

const listed: GitArguments = ['ls-files', '--others', '--ignored', '--exclude-standard', '-z'];

const listIgnored = async (root: string): Promise<string[]> =>
  namesIn((await git([...listed, '--directory', '--no-empty-directory'], { cwd: root })).stdout);

/** At most this many files of a folder are examined. */
const maxFiles = 20_000;

const filesBelow = async (root: string, folder: string): Promise<string[]> => {
  const files = namesIn((await git([...listed, '--', `:(literal)${folder}`], { cwd: root })).stdout);
  return files.slice(0, maxFiles).filter((path) => !isCache(path));
};

const namesIn = (stdout: string): string[] => toUtf8(stdout).split('\0').filter(Boolean);

/** Not a `stampOf`: it is compared after a restart as well, when the same device can have another number. */
const signatureOf = (root: string, path: string): string => {
  const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
  return stats ? `${stats.size} ${stats.mtimeMs}` : '';
};

/** Created again by package managers, compilers, test runners and linters. */
const caches = new Set([
  'node_modules',
  '.venv',
  'venv',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.tox',
  '.gradle',
  '.next',
  '.nuxt',
  '.svelte-kit',
  '.turbo',
  '.parcel-cache',
  '.vite',
  '.cache',
  '.eslintcache',
  '.DS_Store',
  '.coverage',
  '.nyc_output',
]);

/** Written by a build or a test run. Reproducible, but the user may want to look at it. */
const outputs = new Set(['target', 'dist', 'build', 'coverage', 'htmlcov']);

const isCache = (path: string): boolean =>
  path.split('/').some((part) => caches.has(part)) || /\.(?:pyc|tsbuildinfo)$/.test(path);

/** Applies only if git ignores the folder as such: `data/build/` below an ignored `data/` is data. */
const isOutput = (entry: string): boolean => outputs.has(entry.split('/').at(-2) ?? '');

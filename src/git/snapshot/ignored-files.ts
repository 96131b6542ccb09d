import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { git, type GitArguments, toUtf8 } from '../call/git.ts';

/** What git ignored in a work tree before an agent worked there. Paths are relative to its root; folders end with `/`. */
export interface Baseline {
  /** Not looked into, as there are too many files in them: whoever creates so many can create them again. */
  readonly folders: readonly string[];
  /** Signatures by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** A folder that a setup has created with more files than this is not looked into. */
const mostOfSetup = 5000;

/** `isKnown` names files that are not the doing of the setup: folders with such files are always looked into. */
export const takeBaseline = async (root: string, isKnown: (path: string) => boolean): Promise<Baseline> => {
  const folders: string[] = [];
  const files: Record<string, string> = {};
  for (const entry of (await listIgnored(root)).filter((path) => !isCache(path) && !isOutput(path))) {
    const inside = entry.endsWith('/') ? await filesBelow(root, entry) : [entry];
    if (inside.length > mostOfSetup && !inside.some(isKnown)) folders.push(entry);
    else for (const path of inside) files[path] = signatureOf(root, path);
  }
  return { folders, files };
};

/**
 * Ignored files that were created or changed since; a folder that is new as a whole is named by its name alone.
 * `isKept` names files that are held somewhere else as they are.
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

/** Ignored folders with the output of builds and test runs. */
export const outputsIn = async (root: string): Promise<string[]> => (await listIgnored(root)).filter(isOutput);

const listed: GitArguments = ['ls-files', '--others', '--ignored', '--exclude-standard', '-z'];

const listIgnored = async (root: string): Promise<string[]> =>
  namesIn((await git([...listed, '--directory', '--no-empty-directory'], { cwd: root })).stdout);

/** A folder with more files than this is not looked into file by file. */
const mostFiles = 20_000;

const filesBelow = async (root: string, folder: string): Promise<string[]> => {
  const files = namesIn((await git([...listed, '--', `:(literal)${folder}`], { cwd: root })).stdout);
  return files.slice(0, mostFiles).filter((path) => !isCache(path));
};

const namesIn = (stdout: string): string[] => toUtf8(stdout).split('\0').filter(Boolean);

const signatureOf = (root: string, path: string): string => {
  const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
  return stats ? `${stats.size} ${stats.mtimeMs}` : '';
};

/** What package managers, compilers, test runners and linters create again by themselves. */
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

/** What a build or a test run writes. It can be created again, but somebody may want to look at it. */
const outputs = new Set(['target', 'dist', 'build', 'coverage', 'htmlcov']);

const isCache = (path: string): boolean =>
  path.split('/').some((part) => caches.has(part)) || /\.(?:pyc|tsbuildinfo)$/.test(path);

/** Only where git ignores the folder as such: `data/build/` below an ignored `data/` is data. */
const isOutput = (entry: string): boolean => outputs.has(entry.split('/').at(-2) ?? '');

import { join } from 'node:path';
import { entriesOf } from '../files/folders.ts';
import { readInside, statsIfInside } from '../files/inside.ts';
import { listedFiles } from '../git/listed-files.ts';
import { linksInSource, type SourceLink } from './source-links.ts';

export interface SourceLinks {
  readonly links: readonly SourceLink[];
  /** What was not searched, in one sentence; null if everything was. */
  readonly problem: string | null;
}

const maxFiles = 50_000;
const maxFile = 1024 * 1024;
const maxLinks = 20_000;

/** Searches the tracked and new source files of a work tree for `@scenario` tags. Links are not followed. */
export const readSourceLinks = async (root: string): Promise<SourceLinks> => {
  const all = ((await listedFiles(root)) ?? filesWithoutGit(root)).filter(isSource).toSorted();
  const links: SourceLink[] = [];
  for (const file of all.slice(0, maxFiles)) {
    const bytes = readIfSmall(root, file);
    if (bytes?.includes('@scenario') && !bytes.includes(0)) links.push(...linksInSource(file, bytes.toString('utf8')));
    if (links.length > maxLinks) break;
  }
  const isCut = all.length > maxFiles || links.length > maxLinks;
  return {
    links: links.slice(0, maxLinks),
    problem: isCut ? `Only ${maxFiles} source files and ${maxLinks} @scenario tags are read.` : null,
  };
};

const readIfSmall = (root: string, file: string): Buffer | null => {
  try {
    const stats = statsIfInside(root, file);
    return stats?.isFile() && stats.size <= maxFile ? readInside(root, file, maxFile) : null;
  } catch {
    return null;
  }
};

/** Files in which tests are written. A document that names a scenario is not a test. */
const isSource = (file: string): boolean => source.test(file) && !file.split('/').some((name) => excluded.has(name));

const source =
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|rb|go|rs|java|kts?|scala|groovy|cs|fs|vb|swift|mm?|c|h|cc|cpp|cxx|hpp|php|exs?|erl|dart|lua|p[lm]|t|r|jl|sh|bash|bats|ps1|hs|ml|clj[cs]?|elm|zig|nim|cr)$/i;

const excluded = new Set(
  `node_modules bower_components vendor third_party site-packages venv .venv .tox __pycache__ target dist coverage
  .git .hg .svn .spool .gradle .next`.split(/\s+/),
);

/** The files below a folder that is in no repository. */
const filesWithoutGit = (root: string): string[] => {
  const found: string[] = [];
  const folders = [''];
  while (folders.length > 0 && found.length <= maxFiles) {
    const folder = folders.pop()!;
    for (const entry of entriesOf(join(root, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !excluded.has(entry.name)) folders.push(path);
      else if (entry.isFile()) found.push(path);
    }
  }
  return found;
};

import { type Dirent, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, posix } from 'node:path';
import { entriesOf } from '../files/folders.ts';
import { decidersOf } from '../guard/deciders/deciders.ts';
import { keyName, splitKey } from '../guard/deciders/parts.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { filesAt, hashesIn, type Hashes } from '../guard/goal.ts';
import type { Project } from '../store/project.ts';
import { scriptsIn } from './scripts.ts';
import { namedInScript } from './words.ts';

/** What a command would run, as it is now. */
export interface Running {
  readonly hashes: Hashes;
  /** Why not all of it is known; empty when it is. */
  readonly unclear: readonly string[];
}

/**
 * What a command would run of a project. With `all`, every file that it leads to, also outside of the project, and those
 * that these files name: for a command that must not run what somebody else could write.
 */
export const runningOf = ({ root }: Project, command: string, { all }: { readonly all: boolean }): Running => {
  const files = filesAt(root);
  const scripts = scriptsIn(command, files, { project: root, home: homedir(), all });
  const named = all ? withNamed(scripts.files, files) : { paths: scripts.files, isWhole: true };
  return {
    hashes: hashesIn(root, new Set([...named.paths, ...decidersOf([command], files)])),
    unclear: [...scripts.unclear, ...(named.isWhole ? [] : ['scripts that name many files'])],
  };
};

const mostScripts = 200;
const mostNames = 20_000;

const withNamed = (scripts: readonly string[], files: Files): { paths: string[]; isWhole: boolean } => {
  const paths = new Set(scripts);
  let names = 0;
  for (const path of paths) {
    const named = namedInScript(path, files, mostNames - names);
    names += named.names;
    for (const each of named.files) paths.add(each);
    if (paths.size > mostScripts || names >= mostNames) return { paths: [...paths], isWhole: false };
  }
  return { paths: [...paths], isWhole: true };
};

/** What decides commands, as it is now. */
export const decidingIn = (root: string, commands: readonly string[]): Hashes =>
  hashesIn(root, decidersOf(commands, filesAt(root)));

/** The names of what is not as it was. */
export const changedIn = (root: string, before: Hashes): string[] =>
  changedRunning(before, hashesIn(root, Object.keys(before)));

/** The same, also of what was not there. */
export const changedRunning = (before: Hashes, now: Hashes): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((key) => (before[key] ?? null) !== (now[key] ?? null))
    .map((key) => (splitKey(key).part === null ? nameOf(key) : keyName(key)));

const nameOf = (path: string) => (/^(?:\/|\.\.\/)/.test(path) ? path : `./${path}`);

/** Spool creates these itself. What is in them counts. */
const ownFolders = new Set(['.spool', '.spool/worktrees']);

/** In a larger project this is not looked for. */
const mostEntries = 100_000;

/**
 * Whether a file or folder of a project was written since, by the time that no program can set; true when there are too
 * many to tell. git's own files and the state of Spool, which a sandbox protects, do not count.
 */
export const isWrittenSince = ({ root }: Project, sinceMs: number): boolean => {
  const folders = ['.'];
  let seen = 0;
  for (const folder of folders) {
    const entries = entriesIn(join(root, folder));
    if (entries === null) return true;
    for (const entry of entries) {
      const path = posix.join(folder, entry.name);
      if (entry.name === '.git' || path === '.spool/.state') continue;
      seen++;
      const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
      const isWritten = stats === undefined || stats.ctimeMs > sinceMs;
      if (seen > mostEntries || (isWritten && !ownFolders.has(path))) return true;
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return false;
};

/** null when they cannot be read. */
const entriesIn = (folder: string): Dirent[] | null => {
  try {
    return entriesOf(folder);
  } catch {
    return null;
  }
};

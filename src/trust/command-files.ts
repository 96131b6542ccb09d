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

/** The files that a command would run. */
export interface CommandFiles {
  readonly hashes: Hashes;
  /** The reasons why files may be missing; empty if all are known. */
  readonly unclear: readonly string[];
}

/**
 * Returns the files of a project that a command would run. With `all`, includes every file that it leads to, also
 * outside of the project, and the files that those name: for a command that must not run anything that others could
 * write.
 */
export const commandFilesOf = (
  { root }: Project,
  command: string,
  { all }: { readonly all: boolean },
): CommandFiles => {
  const files = filesAt(root);
  const scripts = scriptsIn(command, files, { project: root, home: homedir(), all });
  const named = all ? withNamed(scripts.files, files) : { paths: scripts.files, isComplete: true };
  return {
    hashes: hashesIn(root, new Set([...named.paths, ...decidersOf([command], files)])),
    unclear: [...scripts.unclear, ...(named.isComplete ? [] : ['scripts that name many files'])],
  };
};

const maxScripts = 200;
const maxNames = 20_000;

const withNamed = (scripts: readonly string[], files: Files): { paths: string[]; isComplete: boolean } => {
  const paths = new Set(scripts);
  let names = 0;
  for (const path of paths) {
    const named = namedInScript(path, files, maxNames - names);
    names += named.names;
    for (const each of named.files) paths.add(each);
    if (paths.size > maxScripts || names >= maxNames) return { paths: [...paths], isComplete: false };
  }
  return { paths: [...paths], isComplete: true };
};

/** Returns the hashes of the files that decide the results of commands. */
export const deciderHashes = (root: string, commands: readonly string[]): Hashes =>
  hashesIn(root, decidersOf(commands, filesAt(root)));

/** Returns the names of changed files. */
export const changedFiles = (root: string, before: Hashes): string[] =>
  changedBetween(before, hashesIn(root, Object.keys(before)));

/** Returns the names of changed files, including new ones. */
export const changedBetween = (before: Hashes, now: Hashes): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((key) => (before[key] ?? null) !== (now[key] ?? null))
    .map((key) => (splitKey(key).part === null ? nameOf(key) : keyName(key)));

const nameOf = (path: string) => (/^(?:\/|\.\.\/)/.test(path) ? path : `./${path}`);

/** Created by Spool itself. Their contents count. */
const ownFolders = new Set(['.spool', '.spool/worktrees']);

/** Larger projects are not searched. */
const maxEntries = 100_000;

/**
 * Returns true if a file or folder of a project was written since, by the ctime, which no program can set; also if
 * there are too many to check. git's own files and the state of Spool, which a sandbox protects, do not count.
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
      if (seen > maxEntries || (isWritten && !ownFolders.has(path))) return true;
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return false;
};

/** Returns null if the folder cannot be read. */
const entriesIn = (folder: string): Dirent[] | null => {
  try {
    return entriesOf(folder);
  } catch {
    return null;
  }
};

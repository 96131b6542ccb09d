import type { Dirent } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { anyPath } from '../files/bytes.ts';
import { copySafely, entriesOf } from '../files/folders.ts';
import { homeOf } from '../files/home.ts';
import { statsOf } from '../files/read.ts';
import { decidersOf } from '../guard/deciders/deciders.ts';
import { keyName, splitKey } from '../guard/deciders/parts.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { filesAt, hashesIn, type Hashes, isUnreadable } from '../guard/goal.ts';
import { currentScope } from '../process/scope.ts';
import { realPath } from '../process/which.ts';
import type { Project } from '../store/project.ts';
import { backReferences, type Outside } from './outside.ts';
import { longScripts, scriptsIn } from './scripts.ts';
import { namedInScript } from './words.ts';

/** The files that a command would run. */
export interface CommandFiles {
  readonly hashes: Hashes;
  /** The reasons why files may be missing; empty if all are known. */
  readonly unclear: readonly string[];
  /** Folders that agents can write to and in which such files may be. */
  readonly folders: readonly string[];
}

/**
 * Returns the files of a project that a command would run. With `outside`, includes every file that it leads to, also
 * outside of the project, and the files that those name: for a command that must not run anything that agents could
 * write.
 */
export const commandFilesOf = ({ root }: Project, command: string, outside: Outside | null): CommandFiles => {
  const unseen = new Set<string>();
  const files = filesAt(root, (path) => unseen.add(path));
  const scripts = scriptsIn(command, files, { project: root, home: homeOf(currentScope().env), all: outside !== null });
  const deciders = decidersOf([command], files);
  if (outside === null)
    return { hashes: hashesIn(root, new Set([...scripts.files, ...deciders])), unclear: scripts.unclear, folders: [] };
  const named = withNamed(scripts.files, files);
  // Whole files, because they are copied.
  const paths = new Set([...named.paths, ...deciders.map((key) => splitKey(key).path)]);
  const texts = [...paths].flatMap((path) => files.read(path) ?? []);
  const { reasons, folders } = backReferences(command, texts, outside);
  return {
    hashes: hashesIn(root, paths),
    unclear: [
      ...new Set([
        ...scripts.unclear,
        ...unseen,
        ...longScripts([...paths], files),
        ...[...paths].filter((path) => anyPath(path) !== path),
        ...reasons,
      ]),
      ...(named.isComplete ? [] : ['scripts that name many files']),
    ],
    folders,
  };
};

/** Copies the files of a project that a command would run to the same paths in another folder, without links. */
export const copyCommandFiles = ({ root }: Project, { hashes }: CommandFiles, target: string): void => {
  for (const [path, hash] of Object.entries(hashes))
    if (hash !== null && !isAbsolute(path) && !isUnreadable(hash))
      copySafely(realPath(join(root, path)), join(target, path));
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

/** Larger projects are not searched. */
const maxEntries = 100_000;

/**
 * Returns true if a file or folder below one of these folders was written since, by the ctime, which no program can
 * set; also if there are too many to check. The repository of the project and the state of Spool, which a sandbox
 * protects, do not count.
 */
export const isWrittenSince = ({ root }: Project, within: readonly string[], sinceMs: number): boolean => {
  const inProject = (path: string) => join(realPath(root), path);
  const ownFolders = new Set(['.spool', '.spool/worktrees'].map(inProject));
  const folders = new Set(within.map(realPath));
  const skipped = new Set([inProject('.spool/.state'), ...[...folders].map((folder) => join(folder, '.git'))]);
  const worktrees = inProject('.spool/worktrees');
  let seen = 0;
  for (const folder of folders) {
    const entries = entriesIn(folder);
    if (entries === null) return true;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (skipped.has(path) || (entry.name === '.git' && dirname(folder) === worktrees)) continue;
      seen++;
      const stats = statsOf(path);
      const isWritten = stats === undefined || stats.ctimeMs > sinceMs;
      // Spool itself creates these. Their contents count.
      if (seen > maxEntries || (isWritten && !ownFolders.has(path))) return true;
      if (entry.isDirectory()) folders.add(path);
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

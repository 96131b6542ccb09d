import { type Dirent, existsSync, lstatSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { entriesOf } from '../../files/folders.ts';
import { longestText } from '../../files/safe.ts';
import { readRegular } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { visible } from '../../text/visible.ts';

/*
 * git reads some files of a work tree whatever their type, and blocks forever if one of them is a named pipe. The work
 * tree is searched for such pipes only if a command takes long.
 */

/** How long a command may take before the search for a pipe starts. */
const searchAfterMs = 2000;
const searchAgainMs = 60_000;

/** Names that git reads in every folder of a work tree, or at the top. */
const readByGit = new Set(['.gitignore', '.gitattributes', '.gitmodules', '.mailmap']);

/**
 * The named pipe that blocked git, by the top folder of the work tree. Per process, because it is a fact about the
 * disk. Checked again at each use.
 */
const pipes = new Map<string, string>();

/** Returns the reason why git would block in this folder; null if none is known. */
export const whyBlocked = (cwd: string): string | null => {
  if (pipes.size === 0) return null;
  const top = topOf(cwd);
  return top === null ? null : reasonAt(top);
};

const reasonAt = (top: string): string | null => {
  const pipe = pipes.get(top);
  if (pipe === undefined) return null;
  if (isPipe(pipe)) return `${visible(pipe)} is a named pipe, which blocks git (delete it)`;
  pipes.delete(top);
  return null;
};

/** Replaces an error with the reason that git was blocked, if it was. */
export const blockedOr = (error: unknown): unknown => {
  const why = [...pipes.keys()].map(reasonAt).find((reason) => reason !== null);
  return why === undefined || why === null ? error : userError('git-blocked', why);
};

/** Calls `end` if a pipe blocks git. Call the returned function when git has exited. */
export const watchBlocked = (cwd: string, end: () => void): (() => void) => {
  const ended = new AbortController();
  let timer = setTimeout(() => void search(), searchAfterMs);
  const search = async () => {
    const top = topOf(cwd);
    const pipe = top === null ? null : await findPipe(top, ended.signal);
    if (ended.signal.aborted) return;
    if (top === null || pipe === null) {
      timer = setTimeout(() => void search(), searchAgainMs);
      return;
    }
    pipes.set(top, pipe);
    end();
  };
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
};

const topOf = (cwd: string): string | null => {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return null;
  }
};

const findPipe = async (top: string, signal: AbortSignal): Promise<string | null> => {
  const folders = gitFoldersOf(join(top, '.git'));
  const named = pipeNamedBySettings([join(top, '.git'), ...folders], top);
  if (named !== null) return named;
  for (const folder of [...folders, ...alternatesOf([join(top, '.git'), ...folders])]) {
    const pipe = await pipeBelow(folder, { signal, inGit: true });
    if (pipe !== null) return pipe;
  }
  return pipeBelow(top, { signal, inGit: false });
};

/**
 * Returns a pipe that is the value of any setting: git reads the files that several settings name (include.path,
 * core.excludesFile, …). The files are not parsed as git does, so a name in an unusual notation may be missed, but
 * nothing that blocks is read.
 */
const pipeNamedBySettings = (gitFolders: readonly string[], top: string): string | null => {
  const { HOME: home = homedir(), XDG_CONFIG_HOME: config = join(home, '.config') } = currentScope().env;
  const own = gitFolders.flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')]);
  const waiting = [...own, join(home, '.gitconfig'), join(config, 'git', 'config'), '/etc/gitconfig'];
  for (const file of waiting) {
    if (waiting.length > maxSettingsFiles) return null;
    for (const { key, value } of settingsIn(textOf(file))) {
      const paths = [dirname(file), top].map((folder) => resolve(folder, value.replace(/^~(?=\/)/, home)));
      const pipe = paths.find(isPipe);
      if (pipe !== undefined) return pipe;
      if (key === 'path') waiting.push(...paths.filter((path) => !waiting.includes(path)));
    }
  }
  return null;
};

const maxSettingsFiles = 200;

/** A section header may have its first setting on the same line. */
const settingsIn = (text: string): { readonly key: string; readonly value: string }[] =>
  text.split('\n').flatMap((line) => {
    const end = line.indexOf('=');
    if (end === -1) return [];
    const key = line.slice(line.lastIndexOf(']', end) + 1, end).trim();
    const value = line.slice(end + 1).trim();
    const plain = value.startsWith('"') ? value.slice(1, value.lastIndexOf('"')) : value.replace(/ [#;][^]*/, '');
    return [{ key: key.toLowerCase(), value: plain.replaceAll(/\\(["\\])/g, '$1').trim() }];
  });

/** Returns the folders elsewhere in which git looks for objects. */
const alternatesOf = (gitFolders: readonly string[]): string[] =>
  gitFolders
    .map((folder) => join(folder, 'objects'))
    .flatMap((objects) =>
      textOf(join(objects, 'info', 'alternates'))
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => resolve(objects, line)),
    )
    .slice(0, maxSettingsFiles);

/**
 * Returns the folder that the `.git` file of a linked work tree names, and the folder that it shares with other work
 * trees.
 */
const gitFoldersOf = (dotGit: string): string[] => {
  const own = /^gitdir: (.*)$/m.exec(textOf(dotGit))?.[1];
  if (own === undefined) return [];
  const folder = resolve(dirname(dotGit), own);
  const shared = textOf(join(folder, 'commondir')).trim();
  return shared === '' ? [folder] : [folder, resolve(folder, shared)];
};

const textOf = (file: string): string => {
  try {
    return readRegular(file, { limit: longestText })?.toString('utf8') ?? '';
  } catch {
    return '';
  }
};

interface Walk {
  readonly signal: AbortSignal;
  /** Inside a git folder, where git may read any file. */
  readonly inGit: boolean;
}

const pipeBelow = async (folder: string, { signal, inGit }: Walk): Promise<string | null> => {
  // Lets other work of the process run.
  await setImmediate();
  for (const entry of signal.aborted ? [] : entriesIn(folder)) {
    const path = join(folder, entry.name);
    if ((inGit || readByGit.has(entry.name)) && !entry.isFile() && isPipe(path)) return path;
    if (!entry.isDirectory()) continue;
    const pipe = await pipeBelow(path, { signal, inGit: inGit || entry.name === '.git' });
    if (pipe !== null) return pipe;
  }
  return null;
};

/** Returns an empty list if the folder is gone or unreadable. */
const entriesIn = (folder: string): readonly Dirent[] => {
  try {
    return entriesOf(folder);
  } catch {
    return [];
  }
};

/** Follows symbolic links. */
const isPipe = (path: string): boolean => {
  try {
    return lstatSync(path).isFIFO() || statSync(path).isFIFO();
  } catch {
    return false;
  }
};

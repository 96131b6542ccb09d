import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isWithin, onPath, realPath } from '../process/which.ts';

/** The git that is run: never one where an agent can have put it in front of PATH. */
export const gitProgram = (cwd: string): string => {
  const path = process.env.PATH ?? '';
  const key = `${cwd}\0${path}`;
  const found = programs.get(key) ?? find(cwd, path);
  programs.set(key, found);
  return found;
};

const programs = new Map<string, string>();

// A name that is none: then there is no git.
const find = (cwd: string, path: string): string =>
  onPath('git', trustedPath(path, [...untrustedAround(cwd), ...distrusted])) ?? 'git outside of the project';

const distrusted = new Set<string>();

/** From now on, no git is run that lies in one of these folders, which agents can write to. */
export const distrust = (folders: readonly string[]): void => {
  for (const folder of folders) distrusted.add(folder);
  programs.clear();
};

/** Of the folders of PATH, those that no agent can write to. */
export const trustedPath = (path: string, untrusted: readonly string[]): string =>
  path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isUntrusted(folder, untrusted))
    .join(delimiter);

export const isUntrusted = (path: string, untrusted: readonly string[]): boolean =>
  untrusted.some((folder) => isWithin(realPath(path), realPath(folder)));

/**
 * The folders around this one that agents can write to: the outermost with a `.spool`, as worktrees lie below the
 * project, and every work tree around it, as an agent can have put a repository in between. One that holds the whole
 * home folder counts only when it is the work tree itself, and not just settings that somebody keeps in git.
 */
export const untrustedAround = (folder: string): string[] => {
  const around = foldersUp(realPath(folder));
  const holds = (name: string) => (each: string) => existsSync(join(each, name));
  const project = around.findLast(holds('.spool'));
  const [nearest, ...more] = around.slice(project === undefined ? 0 : around.indexOf(project)).filter(holds('.git'));
  const home = realPath(homedir());
  return [project, nearest, ...more.filter((each) => !isWithin(home, each))].filter((each) => each !== undefined);
};

/** A folder and those that it lies in, innermost first. */
export const foldersUp = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersUp(dirname(folder))];

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { currentScope } from '../process/scope.ts';
import { isWithin, onPath, realPath, linksOnPath } from '../process/which.ts';

/** Returns the path of git, never one that an agent could have put on PATH. */
export const gitProgram = (cwd: string): string => {
  const path = currentScope().env.PATH ?? '';
  const key = `${cwd}\0${path}`;
  // Not a valid command: running it fails as if git were not installed.
  const found = programs.get(key) ?? trustedProgram('git', path, writableFrom(cwd)) ?? 'git outside of the project';
  programs.set(key, found);
  return found;
};

/** Per process: the result depends only on the key and `distrusted`. */
const programs = new Map<string, string>();

/**
 * Returns the environment for a command outside of a sandbox: folders that agents can write to are removed from PATH.
 */
export const outsideEnvironment = (env: NodeJS.ProcessEnv, cwd: string): NodeJS.ProcessEnv => {
  if (env.PATH === undefined) return env;
  // Computed once for all git commands: agents cannot change what is trusted.
  const key = `${cwd}\0${env.PATH}`;
  const PATH = paths.get(key) ?? withTrustedPath(env, writableFrom(cwd)).PATH!;
  paths.set(key, PATH);
  return { ...env, PATH };
};

/** Per process, like `programs`. */
const paths = new Map<string, string>();

const writableFrom = (cwd: string): string[] => [...untrustedAround(cwd), ...distrusted];

/** Per process: no run may use a git from where the agent of another run can write. */
const distrusted = new Set<string>();

/** From now on, git and its programs are not looked up in these folders, which agents can write to. */
export const distrust = (folders: readonly string[]): void => {
  for (const folder of folders) distrusted.add(folder);
  programs.clear();
  paths.clear();
};

/** Returns the file on PATH that runs under a name; null if it is only in untrusted folders. */
export const trustedProgram = (name: string, path: string, untrusted: readonly string[]): string | null => {
  for (const folder of trustedPath(path, untrusted).split(delimiter)) {
    const file = onPath(name, folder);
    if (file !== null && !isUntrusted(file, untrusted)) return file;
  }
  return null;
};

export const withTrustedPath = (env: NodeJS.ProcessEnv, untrusted: readonly string[]): NodeJS.ProcessEnv =>
  env.PATH === undefined ? env : { ...env, PATH: trustedPath(env.PATH, untrusted) || nowhere };

/** An empty PATH means the current folder. */
const nowhere = '/dev/null';

/** Returns PATH without the folders that agents can write to. */
export const trustedPath = (path: string, untrusted: readonly string[]): string =>
  path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isUntrusted(folder, untrusted))
    .join(delimiter);

/**
 * Returns true if a path is in one of these folders, or is reached through a link in one, which could be redirected.
 */
export const isUntrusted = (path: string, untrusted: readonly string[]): boolean => {
  const stations = linksOnPath(path);
  return untrusted.some((folder) => stations.some((station) => isWithin(station, realPath(folder))));
};

/**
 * Returns the parent folders that agents can write to: the outermost one with a `.spool`, because worktrees are below
 * the project, and every work tree around it, because an agent can create a repository in between. One that contains
 * the whole home folder counts only if there is no other: the user may have dotfiles in git, or a second project there.
 */
export const untrustedAround = (folder: string): string[] => {
  const around = foldersUp(realPath(folder));
  const home = realPath(homedir());
  const holds = (name: string) => (each: string) => existsSync(join(each, name));
  const projects = around.filter(holds('.spool'));
  const project = projects.findLast((each) => !isWithin(home, each)) ?? projects[0];
  const [nearest, ...more] = around.slice(project === undefined ? 0 : around.indexOf(project)).filter(holds('.git'));
  return [project, nearest, ...more.filter((each) => !isWithin(home, each))].filter((each) => each !== undefined);
};

/** Returns a folder and its parents, innermost first. */
export const foldersUp = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersUp(dirname(folder))];

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { currentScope } from '../../process/scope.ts';
import { isWithin, onPath, realPath, linksOnPath } from '../../process/which.ts';

/** The git that is run: never one where an agent can have put it in front of PATH. */
export const gitProgram = (cwd: string): string => {
  const path = currentScope().env.PATH ?? '';
  const key = `${cwd}\0${path}`;
  // A name that is none: then there is no git.
  const found = programs.get(key) ?? trustedProgram('git', path, writableFrom(cwd)) ?? 'git outside of the project';
  programs.set(key, found);
  return found;
};

/** Per process: what is found depends on nothing but the key and `distrusted`. */
const programs = new Map<string, string>();

/** The environment of what is run in a folder outside of a sandbox: nothing that agents can write to is on its PATH. */
export const outsideEnvironment = (env: NodeJS.ProcessEnv, cwd: string): NodeJS.ProcessEnv => {
  if (env.PATH === undefined) return env;
  // Found once for all git commands: agents cannot turn what is trusted into something else.
  const key = `${cwd}\0${env.PATH}`;
  const PATH = paths.get(key) ?? withTrustedPath(env, writableFrom(cwd)).PATH!;
  paths.set(key, PATH);
  return { ...env, PATH };
};

/** Per process, like `programs`. */
const paths = new Map<string, string>();

const writableFrom = (cwd: string): string[] => [...untrustedAround(cwd), ...distrusted];

/** Per process: where the agent of one run can write, no other run may take its git from. */
const distrusted = new Set<string>();

/** From now on, nothing is looked up for git in these folders, which agents can write to. */
export const distrust = (folders: readonly string[]): void => {
  for (const folder of folders) distrusted.add(folder);
  programs.clear();
  paths.clear();
};

/** The file on PATH that is run under a name; null for none but in untrusted folders. */
export const trustedProgram = (name: string, path: string, untrusted: readonly string[]): string | null => {
  const isTrusted = createTrustCheck(untrusted);
  for (const folder of path.split(delimiter)) {
    const file = isAbsolute(folder) ? onPath(name, folder) : null;
    if (file !== null && isTrusted(folder) && isTrusted(file)) return file;
  }
  return null;
};

export const withTrustedPath = (env: NodeJS.ProcessEnv, untrusted: readonly string[]): NodeJS.ProcessEnv =>
  env.PATH === undefined ? env : { ...env, PATH: trustedPath(env.PATH, untrusted) || nowhere };

/** An empty PATH means the current folder. */
const nowhere = '/dev/null';

/** Of the folders of PATH, those that no agent can write to. */
export const trustedPath = (path: string, untrusted: readonly string[]): string => {
  const isTrusted = createTrustCheck(untrusted);
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && isTrusted(folder))
    .join(delimiter);
};

/**
 * Returns a function that tells whether a path is outside of these folders, and every link on the way to it too: a link
 * inside can be changed to lead elsewhere.
 */
export const createTrustCheck = (untrusted: readonly string[]): ((path: string) => boolean) => {
  const folders = [...new Set(untrusted.map(realPath))];
  return (path) => {
    const stations = linksOnPath(path);
    return !folders.some((folder) => stations.some((station) => isWithin(station, folder)));
  };
};

/**
 * The folders around this one that agents can write to: the outermost with a `.spool`, as worktrees lie below the
 * project, and every work tree around it, as an agent can have put a repository in between. One that holds the whole
 * home folder counts only when there is no other: somebody may keep settings in git, or have a second project there.
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

/** A folder and those that it lies in, innermost first. */
export const foldersUp = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersUp(dirname(folder))];

import { existsSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { homeOf } from '../files/home.ts';
import { projectMarker } from '../files/project-markers.ts';
import { currentScope } from './scope.ts';
import { isWithin, linksOnPath, onPath, realPath } from './which.ts';

/** Returns the file on PATH that runs under a name; null if it is only in untrusted folders. */
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

/** Returns PATH without the folders that agents can write to. */
export const trustedPath = (path: string, untrusted: readonly string[]): string => {
  const isTrusted = createTrustCheck(untrusted);
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && isTrusted(folder))
    .join(delimiter);
};

/**
 * Returns a function that checks whether a path is outside of these folders, and so is every link on the way to it: a
 * link inside could be redirected.
 */
export const createTrustCheck = (untrusted: readonly string[]): ((path: string) => boolean) => {
  const folders = [...new Set(untrusted.map(realPath))];
  return (path) => {
    const stations = linksOnPath(path);
    return !folders.some((folder) => stations.some((station) => isWithin(station, folder)));
  };
};

/**
 * Returns the parent folders that agents can write to: the outermost one with a `.spool`, because worktrees are below
 * the project, and every work tree around it, because an agent can create a repository in between. One that contains
 * the whole home folder counts only if there is no other: the user may have dotfiles in git, or a second project there.
 */
export const untrustedAround = (folder: string): string[] => {
  const around = foldersUp(realPath(folder));
  const home = realPath(homeOf(currentScope().env));
  const holds = (name: string) => (each: string) => existsSync(join(each, name));
  const projects = around.filter((each) => projectMarker(each) !== null);
  const project = projects.findLast((each) => !isWithin(home, each)) ?? projects[0];
  const [nearest, ...more] = around.slice(project === undefined ? 0 : around.indexOf(project)).filter(holds('.git'));
  return [project, nearest, ...more.filter((each) => !isWithin(home, each))].filter((each) => each !== undefined);
};

/** Returns a folder and its parents, innermost first. */
export const foldersUp = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersUp(dirname(folder))];

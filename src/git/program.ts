import { existsSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isWithin, onPath, realPath } from '../process/which.ts';

/** The git that is run: never one below the project, where an agent can have put it in front of PATH. */
export const gitProgram = (cwd: string): string => {
  const path = process.env.PATH ?? '';
  const key = `${cwd}\0${path}`;
  const found = programs.get(key) ?? find(cwd, path);
  programs.set(key, found);
  return found;
};

const programs = new Map<string, string>();

const find = (cwd: string, path: string): string => {
  const project = projectAround(realPath(cwd));
  const folders = path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && (project === null || !isWithin(realPath(folder), project)));
  // A name that is none: then there is no git.
  return onPath('git', folders.join(delimiter)) ?? 'git outside of the project';
};

/** The outermost folder with a `.spool` in it, as worktrees lie below the project; else the nearest repository. */
const projectAround = (cwd: string): string | null => {
  const around = [cwd];
  for (let folder = cwd; folder !== dirname(folder); folder = dirname(folder)) around.push(dirname(folder));
  const holds = (name: string) => (folder: string) => existsSync(join(folder, name));
  return around.findLast(holds('.spool')) ?? around.find(holds('.git')) ?? null;
};

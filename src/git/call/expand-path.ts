import { dirname, join, resolve } from 'node:path';
import { currentUser, homeOf } from '../../files/home.ts';
import { textIfReadable } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { realPath } from '../../process/which.ts';
import { gitProgram } from './program.ts';

/**
 * Resolves a path in a setting like git: `~` is a home folder, `%(prefix)` is where git is installed, relative paths
 * start in `folder`.
 */
export const expandPath = (path: string, folder: string): string => {
  const start = placeholderIn(path, folder);
  return start === null ? resolve(folder, path) : join(start.folder, start.rest);
};

/** Returns the folder that a path in a setting begins with, as a path of Node; null without a known placeholder. */
export const placeholderIn = (path: string, cwd: string): { folder: string; rest: string } | null => {
  const [, name, rest = ''] = /^(~[^/]*|%\(prefix\)(?=\/))(?:\/(.*))?$/s.exec(path) ?? [];
  if (name === undefined) return null;
  if (name.startsWith('%')) return { folder: dirname(dirname(realPath(gitProgram(cwd)))), rest };
  const folder = name === '~' ? homeOf(currentScope().env) : homeOfUser(name.slice(1));
  return folder === null ? null : { folder, rest };
};

/** Returns null for a user that is neither the current one nor in the list of the system. */
const homeOfUser = (user: string): string | null => {
  const users = textIfReadable('/etc/passwd').split('\n');
  const listed = users.map((line) => line.split(':')).find(([name]) => name === user)?.[5];
  if (listed) return listed;
  const current = currentUser();
  return current?.username === user ? current.homedir : null;
};

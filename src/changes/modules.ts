import { join } from 'node:path';
import { userError } from '../errors.ts';
import { foldersInside } from '../files/inside.ts';
import type { Project } from '../store/project.ts';
import { matchId } from './ids.ts';
import { modulesIn, modulesPath } from './spool/paths.ts';

/** The names of the module folders (`NNN_slug`), sorted. */
export const listModules = ({ root }: Project, base = '.spool'): string[] =>
  foldersInside(root, modulesIn(base)).filter((name) => moduleIdOf(name) !== null);

/** `002_harness` → `002`. */
export const moduleIdOf = (name: string): string | null => /^(\d{3})(_|$)/.exec(name)?.[1] ?? null;

/** Returns the folder name of the module that `002`, `002_harness` or a unique prefix matches. */
export const resolveModule = (project: Project, query: string): string => {
  const names = listModules(project);
  const match = matchId(query, names);
  switch (match.kind) {
    case 'one':
      return match.id;
    case 'several':
      throw userError('ambiguous-module', query, match.ids);
    case 'none':
      throw userError('unknown-module', { query, folder: modulesPath, near: match.near, ids: names });
  }
};

/** The folder name of a module; null if a change names a module that has no folder. */
export const moduleName = (project: Project, moduleId: string, base?: string): string | null =>
  listModules(project, base).find((name) => moduleIdOf(name) === moduleId) ?? null;

/** Relative to the root; null if the module has no folder there. */
export const moduleFolder = (root: string, moduleId: string, base = '.spool'): string | null => {
  const name = moduleName({ root }, moduleId, base);
  return name === null ? null : join(modulesIn(base), name);
};

/** Where the text of a module is, relative to the root; null if the module has no folder there. */
export const moduleFile = (root: string, moduleId: string, base?: string): string | null => {
  const folder = moduleFolder(root, moduleId, base);
  return folder === null ? null : join(folder, 'module.md');
};

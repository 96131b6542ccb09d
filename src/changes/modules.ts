import { join } from 'node:path';
import { userError } from '../errors.ts';
import { folderNames, readIfThere } from '../files/read.ts';
import { modulesFolder, type Project } from '../store/project.ts';
import { matchId } from './ids.ts';

/** The names of the module folders (`NNN_slug`), sorted. */
export const listModules = async (project: Project): Promise<string[]> =>
  (await folderNames(modulesFolder(project))).filter((name) => moduleIdOf(name) !== null);

/** `002_harness` → `002`. */
export const moduleIdOf = (name: string): string | null => /^(\d{3})(_|$)/.exec(name)?.[1] ?? null;

/** The folder of the module that is meant by `002`, `002_harness` or a unique prefix. */
export const resolveModule = async (project: Project, query: string): Promise<string> => {
  const names = await listModules(project);
  const match = matchId(query, names);
  switch (match.kind) {
    case 'one':
      return match.id;
    case 'several':
      throw userError('ambiguous-module', query, match.ids);
    case 'none':
      throw userError('unknown-module', query, match.near, names);
  }
};

/** The folder of the module with this id, null when a change names a module that nobody wrote down. */
export const moduleFolderName = async (project: Project, moduleId: string): Promise<string | null> =>
  (await listModules(project)).find((name) => moduleIdOf(name) === moduleId) ?? null;

/** The text of module.md, null when there is none. */
export const readModule = async (project: Project, moduleId: string): Promise<string | null> => {
  const name = await moduleFolderName(project, moduleId);
  return name === null ? null : readIfThere(join(modulesFolder(project), name, 'module.md'));
};

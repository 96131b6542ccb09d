import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Project } from '../store/project.ts';
import { changeOf, planningFolders } from './sources.ts';
import { configPath } from '../store/paths.ts';

/** Existing paths of the change, its module and the config file, relative to the project. They may not be committed yet. */
export const planningPaths = (project: Project, change: string): string[] =>
  [...changeOf(project, change).planningPaths(project.root), configPath].filter((path) =>
    existsSync(join(project.root, path)),
  );

/** Whether a path is one of these, or below one. */
export const isAmong = (paths: readonly string[], path: string): boolean =>
  paths.some((each) => path === each || path.startsWith(`${each}/`));

/** Whether a file, relative to a root, plans work and is not work itself. */
export const isPlanning = (path: string): boolean => isAmong(planningFolders, path.replaceAll('\\', '/'));

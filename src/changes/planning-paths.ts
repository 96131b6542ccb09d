import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { configPath } from '../store/paths.ts';
import type { Project } from '../store/project.ts';
import type { Change } from './source.ts';

/** Existing paths of the change, what belongs to it, and the config file, relative to the project. They may not be committed yet. */
export const planningPaths = ({ root }: Project, change: Change): string[] =>
  [...change.planningPaths(root), configPath].filter((path) => existsSync(join(root, path)));

/** Whether a path is one of these, or below one. */
export const isAmong = (paths: readonly string[], path: string): boolean =>
  paths.some((each) => path === each || path.startsWith(`${each}/`));

/** Whether a file, relative to a root, plans work and is not work itself. */
export const isPlanning = ({ planningFolders }: Pick<Change, 'planningFolders'>, path: string): boolean =>
  isAmong(planningFolders, path.replaceAll('\\', '/'));

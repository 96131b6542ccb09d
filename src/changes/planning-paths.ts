import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '../store/project.ts';
import { moduleOf } from './ids.ts';
import { moduleFolderName } from './modules.ts';

/** The change, its module and the config file, which may not be committed yet; those that are there. */
export const planningPaths = async (project: Project, change: string): Promise<string[]> => {
  const moduleId = moduleOf(change);
  const module = moduleId === null ? null : await moduleFolderName(project, moduleId);
  const paths = [
    join('.spool', 'changes', change),
    ...(module === null ? [] : [join('.spool', 'modules', module)]),
    join('.spool', 'config.json'),
  ];
  return paths.filter((path) => existsSync(join(project.root, path)));
};

/** Whether a path is one of these, or below one. */
export const isAmong = (plans: readonly string[], path: string): boolean =>
  plans.some((plan) => path === plan || path.startsWith(`${plan}/`));

import { lstatSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { systemProblem, userError } from '../../errors.ts';
import { realPath } from '../../process/which.ts';
import type { Project } from '../../store/project.ts';
import { isTaskPath } from './recorded.ts';

/** Returns the path of a task file relative to its project, with `/`. Throws unless it is a regular file in the project. */
export const taskFilePath = (project: Project, given: string, cwd: string): string => {
  const wrong = (problem: string) => userError('bad-task-file', given, problem);
  const typed = resolve(cwd, given);
  const file = join(realPath(dirname(typed)), basename(typed));
  const path = relative(realPath(project.root), file).split(sep).join('/');
  if (path === '' || path.startsWith('../') || resolve(path) === path) throw wrong(`it is not in ${project.root}`);
  if (!isTaskPath(path)) throw wrong('it is not a file that an agent can work on');
  const problem = problemAt(file);
  if (problem !== null) throw wrong(problem);
  return path;
};

const problemAt = (file: string): string | null => {
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return 'it does not exist';
    if (stats.isSymbolicLink()) return 'it is a symbolic link';
    return stats.isFile() ? null : 'it is not a regular file';
  } catch (error) {
    return systemProblem(error);
  }
};

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';

/** Whether a path is a folder or lies below it. */
export const isWithin = (path: string, folder: string): boolean => {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
};

/** Where links lead to; the path itself when it is not there. */
export const realPath = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, relative, resolve, sep } from 'node:path';

/** The file on PATH that would be run; null when there is none. */
export const onPath = (binary: string, path: string): string | null => {
  if (isAbsolute(binary)) return isExecutable(binary) ? binary : null;
  const extensions = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue;
    for (const extension of extensions) {
      const file = resolve(folder, binary + extension);
      if (isExecutable(file)) return file;
    }
  }
  return null;
};

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
};

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

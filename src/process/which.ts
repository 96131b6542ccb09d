import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';

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

/** Every link on the way to a path, and where it ends: who can write to one of them decides what is there. */
export const stationsOf = (path: string): string[] => {
  const links: string[] = [];
  let at = parse(path).root;
  const rest = path.slice(at.length).split(sep);
  while (rest.length > 0 && links.length < mostLinks) {
    const name = rest.shift()!;
    const next = name === '..' ? dirname(at) : join(at, name);
    const target = linkAt(next);
    if (target === null) {
      at = next;
      continue;
    }
    links.push(next);
    const { root } = parse(target);
    if (root !== '') at = root;
    rest.unshift(...target.slice(root.length).split(sep));
  }
  return [...links, at];
};

/** As many as Linux follows. */
const mostLinks = 40;

const linkAt = (path: string): string | null => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
};

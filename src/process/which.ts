import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';

/** Returns the file on PATH that would be run; null if there is none. */
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

/** Returns whether a path is a folder or inside it. */
export const isWithin = (path: string, folder: string): boolean => {
  const relativePath = relative(folder, path);
  return (
    relativePath === '' || (relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath))
  );
};

/** Returns the path with all links resolved; the path itself if it does not exist. */
export const realPath = (path: string): string => {
  try {
    return resolveLinks(path);
  } catch {
    return path;
  }
};

/** The native one needs no call per folder. Outside of Linux it also changes the case of names. */
const resolveLinks = process.platform === 'linux' ? realpathSync.native : realpathSync;

/**
 * Returns every link on the way to a path, and its final target. Write access to one of them is enough to replace the
 * target.
 */
export const linksOnPath = (path: string): string[] => {
  const links: string[] = [];
  let at = parse(path).root;
  const rest = path.slice(at.length).split(sep);
  while (rest.length > 0 && links.length < maxLinks) {
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

/** The limit of Linux. */
const maxLinks = 40;

const linkAt = (path: string): string | null => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
};

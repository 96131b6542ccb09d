import { lstatSync, type Stats } from 'node:fs';

/*
 * Names of files as git prints them: in latin1, one character for each byte, so that names of any encoding survive.
 */

/** Decodes a name printed by git. Only for display, because bytes that are not UTF-8 are lost. */
export const toUtf8 = (name: string): string => Buffer.from(name, 'latin1').toString('utf8');

/** Returns the path of a file below a folder, byte for byte. */
export const pathOf = (root: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);

/**
 * Returns the name if it is a file or link, or the parent path at which there is one instead of a folder; null if there
 * is none. Like git, it follows no link.
 */
export const fileAt = (root: string, name: string): string | null => {
  const parts = name.split('/');
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = parts.slice(0, depth).join('/');
    const there = lstatSync(pathOf(root, path), { throwIfNoEntry: false });
    if (there === undefined) return null;
    if (!there.isDirectory()) return path;
  }
  return null;
};

/** Returns undefined if nothing is there, or only behind a link. */
export const statsOfName = (root: string, name: string): Stats | undefined => {
  const file = fileAt(root, name);
  return file === null || file === name ? lstatSync(pathOf(root, name), { throwIfNoEntry: false }) : undefined;
};

/** Like lstat, and works behind links in parent folders. Returns undefined if the file is gone or unreachable. */
export const statsAt = (root: string, name: string): Stats | undefined => {
  try {
    return lstatSync(pathOf(root, name), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

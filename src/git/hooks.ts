import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { isWithin, realPath } from '../process/which.ts';
import { git } from './call/git.ts';
import { fileAt, pathOf, toUtf8 } from './paths.ts';

/**
 * Returns the folders of a work tree that hooks come from, as named and with links resolved; empty if hooks come from
 * elsewhere. Husky keeps the scripts it runs next to the folder that git is configured with.
 */
export const hooksInTree = async (root: string): Promise<string[]> => {
  const asked = ['--git-path', 'hooks', '--git-common-dir'];
  const { code, stdout } = await git(['rev-parse', ...asked], { cwd: root, hooks: true });
  const [hooks, common] = toUtf8(stdout).split('\n');
  if (code !== 0 || !hooks || !common) return [];
  const gitDir = resolve(root, common);
  return hookFolders(resolve(root, hooks)).filter((folder) => isWithin(folder, root) && !isWithin(folder, gitDir));
};

/**
 * Returns the folders that a value of `core.hooksPath` stands for: as named and with links resolved, for Husky the
 * parent folder.
 */
export const hookFolders = (named: string): string[] =>
  [...new Set([named, realPath(named)])].map((folder) =>
    folder.endsWith(join('.husky', '_')) ? dirname(folder) : folder,
  );

/**
 * Returns the folder whose hooks a checkout of the commit would change; null if they equal the current files. Compares
 * with the files, not with a commit or the index: agents that cannot write hooks can write both.
 */
export const changedHooks = async (root: string, commit: string): Promise<string | null> => {
  for (const folder of await hooksInTree(root)) {
    const path = relative(root, folder).split(sep).join('/');
    const paths = path === '' ? [] : ['--', path];
    const { code, stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', commit, ...paths], { cwd: root });
    if (code !== 0 || !(await areHere(root, stdout.split('\0').filter(Boolean)))) return path || '.';
  }
  return null;
};

/** Returns true if the files equal `entries`, which are lines of ls-tree. */
const areHere = async (root: string, entries: readonly string[]): Promise<boolean> => {
  const wanted = entries.map((entry) => {
    const [, mode = '', hash = '', name = ''] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(entry) ?? [];
    return { mode, hash, name };
  });
  if (wanted.some(({ mode, name }) => modeAt(root, name) !== mode)) return false;
  const files = wanted.filter(({ mode }) => mode !== linkMode);
  const links = wanted.filter(({ mode }) => mode === linkMode);
  const input = files.map(({ name }) => `${JSON.stringify(name)}\n`).join('');
  const { stdout } = await git(['hash-object', '--stdin-paths'], { cwd: root, input });
  if (stdout !== files.map(({ hash }) => `${hash}\n`).join('')) return false;
  for (const { hash, name } of links) {
    const to = readlinkSync(pathOf(root, name), 'latin1');
    if ((await git(['hash-object', '--stdin'], { cwd: root, input: to })).stdout.trim() !== hash) return false;
  }
  return true;
};

const linkMode = '120000';

/** Returns the mode as git prints it; null if it is not a file, does not exist, or is behind a link. */
const modeAt = (root: string, name: string): string | null => {
  if (fileAt(root, name) !== name) return null;
  const stats = lstatSync(pathOf(root, name));
  if (stats.isSymbolicLink()) return linkMode;
  if (!stats.isFile()) return null;
  return stats.mode & 0o100 ? '100755' : '100644';
};

import { lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { byteEntries, displayPath, latin1Path } from '../files/bytes.ts';
import { isMissing } from '../files/checks.ts';
import { repositoryFolders } from '../git/repository.ts';
import { listWorktrees } from '../git/linked-worktrees.ts';
import { hookFolders, hooksInTree } from '../git/hooks.ts';
import { expandPath } from '../git/call/expand-path.ts';
import { possibleSettings } from '../git/call/includes.ts';
import { foldersUp } from '../process/trusted-path.ts';
import { isWithin, realPath } from '../process/which.ts';

/** The paths of a work tree and its repository. */
export interface WorkTreePaths {
  readonly root: string;
  /** Folders that git writes to: first its own, then those that it shares with other work trees. */
  readonly gitDirs: readonly string[];
  /** Paths that make git run programs or use another repository. */
  readonly guarded: readonly string[];
}

/**
 * Finds the work tree around a folder; without git, it is the folder itself. Rejects if there is a repository that git
 * cannot read, because Spool could not protect it.
 */
export const findWorkTreePaths = async (cwd: string, project: string): Promise<WorkTreePaths> => {
  const found = await repositoryFolders(cwd);
  const starts = [cwd, project].map(realPath);
  if ('why' in found) return withoutGit(starts, found.why);
  const { root, own, common } = found;
  // Missing folders could only be protected by placeholder files, which break git.
  const created = ['hooks', 'logs', join('refs', 'spool'), ...(own === common ? ['worktrees'] : [])];
  for (const folder of created) mkdirSync(join(common, folder), { recursive: true });
  // Shared folders are writable only as far as commits need it.
  const shared = ['objects', 'refs', 'logs'].map((name) => join(common, name));
  const gitDirs = own === common ? [common] : [own, ...shared];
  const guarded = [
    ...[common, own].flatMap(decidingFiles),
    ...modulePaths(join(common, 'modules')),
    join(common, 'refs', 'spool'),
    join(own, 'spool.lock'),
    ...(own === common ? [join(common, 'worktrees')] : []),
    ...(await linkedWorktrees(root)),
    ...(isFolder(join(root, '.git')) ? [] : [join(root, '.git')]),
    ...repositoriesBelow(root, starts),
    ...(await settingPaths(root)),
    ...(await hooksInTree(root)),
  ];
  return { root, gitDirs, guarded: [...new Set(guarded)].filter((path) => path !== root) };
};

const withoutGit = ([root = '', ...more]: readonly string[], stderr: string): WorkTreePaths => {
  const repository = foldersUp(root).find((folder) => isThere(join(folder, '.git')));
  // A repository above that git refuses to use is out of reach: nothing above is writable.
  if (repository !== undefined && (repository === root || !stderr.includes('not a git repository')))
    throw new Error(`git cannot read ${join(repository, '.git')} (${stderr.split('\n')[0]})`);
  return {
    root,
    gitDirs: [],
    guarded: [join(root, '.git'), ...repositoriesBelow(root, [root, ...more])],
  };
};

/** Returns the paths at which a new repository would hide the one of the work tree. */
const repositoriesBelow = (root: string, starts: readonly string[]): string[] =>
  starts
    .filter((start) => isWithin(start, root))
    .flatMap((start) => foldersUp(start).filter((folder) => folder !== root && isWithin(folder, root)))
    .map((folder) => join(folder, '.git'));

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Returns the `.git` files of other work trees that are inside this one. */
const linkedWorktrees = async (root: string): Promise<string[]> => {
  const files = (await listWorktrees(root)).map(({ folder }) => join(folder, '.git'));
  return files.filter((file) => dirname(file) !== root && isWithin(file, root) && isThere(file) && !isFolder(file));
};

/** `commondir` makes git read config and hooks from elsewhere. */
const decidingFiles = (folder: string): string[] =>
  ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir'].map((name) => join(folder, name));

/**
 * Returns what decides the settings of submodules, whose names may contain slashes. A folder that cannot be searched is
 * guarded as a whole, and so is a deep one, and one with a name that is not UTF-8, which the sandbox runtime cannot be
 * given.
 */
const modulePaths = (folder: string, depth = 0): string[] => {
  if (depth > maxDepth) return isThere(folder) ? [folder] : [];
  try {
    const modules = byteEntries(latin1Path(folder)).filter(({ kind }) => kind === 'folder');
    if (modules.some(({ name }) => latin1Path(displayPath(name)) !== name)) return [folder];
    return modules.flatMap(({ path }) => {
      const module = displayPath(path);
      return isThere(join(module, 'HEAD'))
        ? [...decidingFiles(module), ...modulePaths(join(module, 'modules'), depth + 1)]
        : modulePaths(module, depth + 1);
    });
  } catch (error) {
    return isMissing(error) ? [] : [folder];
  }
};

const maxDepth = 5;

/** Returns every file from which git reads settings or may do so later, and the hook folders that these configure. */
const settingPaths = async (root: string): Promise<string[]> => {
  const { files, settings } = await possibleSettings(root);
  const hooks = settings.filter(({ key, value }) => key === 'core.hookspath' && value !== '');
  return [
    ...files.flatMap((file) => [file, realPath(file)]),
    ...hooks.flatMap(({ value }) => hookFolders(expandPath(value, root))),
  ];
};

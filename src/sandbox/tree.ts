import { existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { git, toUtf8 } from '../git/call/git.ts';
import { hookFolders, hooksInTree } from '../git/hooks.ts';
import { expandPath, possibleSettings } from '../git/call/includes.ts';
import { foldersUp } from '../git/call/program.ts';
import { isWithin, realPath } from '../process/which.ts';

/** A work tree, and what of git belongs to it. */
export interface TreeFacts {
  readonly root: string;
  /** Folders in which git writes for it: first its own, then those that it shares with other work trees. */
  readonly gitFolders: readonly string[];
  /** What makes git run something, or look elsewhere. */
  readonly guarded: readonly string[];
}

/**
 * Of the work tree around a folder; without git it is the folder itself. Rejects where there is a repository of which
 * git does not tell what belongs to it: nothing of it could be protected.
 */
export const factsOf = async (cwd: string, project: string): Promise<TreeFacts> => {
  const asked = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir'];
  const { code, stdout, stderr } = await git(['rev-parse', ...asked], { cwd });
  const [root, own, commonName] = toUtf8(stdout).split('\n');
  const starts = [cwd, project].map(realPath);
  if (code !== 0 || !root || !own || !commonName) return withoutGit(starts, stderr);
  const common = resolve(cwd, commonName);
  // Folders that are not there could only be kept from being created by files that git stumbles over.
  const created = ['hooks', 'logs', join('refs', 'spool'), ...(own === common ? ['worktrees'] : [])];
  for (const folder of created) mkdirSync(join(common, folder), { recursive: true });
  // What several work trees share is writable only as far as a commit needs it.
  const shared = ['objects', 'refs', 'logs'].map((name) => join(common, name));
  const gitFolders = own === common ? [common] : [own, ...shared];
  const guarded = [
    ...[common, own].flatMap(decidingFiles),
    ...modulesOf(join(common, 'modules')).flatMap(decidingFiles),
    join(common, 'refs', 'spool'),
    join(own, 'spool.lock'),
    ...(own === common ? [join(common, 'worktrees')] : []),
    ...(await linkedWorktrees(root)),
    ...(isFolder(join(root, '.git')) ? [] : [join(root, '.git')]),
    ...repositoriesBelow(root, starts),
    ...(await settingPaths(root)),
    ...(await hooksInTree(root)),
  ];
  return { root, gitFolders, guarded: [...new Set(guarded)].filter((path) => path !== root) };
};

const withoutGit = ([root = '', ...more]: readonly string[], said: string): TreeFacts => {
  const repository = foldersUp(root).find((folder) => isThere(join(folder, '.git')));
  // One above of which git does not want to know is out of reach: nothing above is writable.
  if (repository !== undefined && (repository === root || !said.includes('not a git repository')))
    throw new Error(`git does not tell what belongs to ${join(repository, '.git')} (${said.split('\n')[0]})`);
  return {
    root,
    gitFolders: [],
    guarded: [join(root, '.git'), ...repositoriesBelow(root, [root, ...more])],
  };
};

/** Where a new repository would hide the one of the work tree from git. */
const repositoriesBelow = (root: string, starts: readonly string[]): string[] =>
  starts
    .filter((start) => isWithin(start, root))
    .flatMap((start) => foldersUp(start).filter((folder) => folder !== root && isWithin(folder, root)))
    .map((folder) => join(folder, '.git'));

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** The file that leads git from another work tree to the repository, for those that lie in this one. */
const linkedWorktrees = async (root: string): Promise<string[]> => {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { cwd: root });
  return toUtf8(stdout)
    .split('\0')
    .flatMap((line) => (line.startsWith('worktree ') ? [join(line.slice('worktree '.length), '.git')] : []))
    .filter((file) => dirname(file) !== root && isWithin(file, root) && isThere(file) && !isFolder(file));
};

/** With `commondir`, git takes the configuration and the hooks from elsewhere. */
const decidingFiles = (folder: string): string[] =>
  ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir'].map((name) => join(folder, name));

/** The folders of submodules. Their names may have slashes. */
const modulesOf = (folder: string, depth = 0): string[] => {
  if (depth > deepestModule || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name))
    .flatMap((path) =>
      existsSync(join(path, 'HEAD'))
        ? [path, ...modulesOf(join(path, 'modules'), depth + 1)]
        : modulesOf(path, depth + 1),
    );
};

const deepestModule = 5;

/** Every file that git reads settings from or may come to read, and the hooks that these name. */
const settingPaths = async (root: string): Promise<string[]> => {
  const { files, settings } = await possibleSettings(root);
  const hooks = settings.filter(({ key, value }) => key === 'core.hookspath' && value !== '');
  return [
    ...files.flatMap((file) => [file, realPath(file)]),
    ...hooks.flatMap(({ value }) => hookFolders(expandPath(value, root))),
  ];
};

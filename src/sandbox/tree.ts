import { existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { git, readable } from '../git/git.ts';
import { isWithin } from '../on-path.ts';

/** A work tree, and what of git belongs to it. */
export interface TreeFacts {
  readonly root: string;
  /** Folders in which git writes for it. */
  readonly gitFolders: readonly string[];
  /** What makes git run something, or look elsewhere. */
  readonly guarded: readonly string[];
}

/** Of the work tree around a folder; without git it is the folder itself. */
export const factsOf = async (cwd: string): Promise<TreeFacts> => {
  const asked = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir'];
  const { code, stdout } = await git(['rev-parse', ...asked], { cwd });
  const [root, own, commonName] = readable(stdout).split('\n');
  if (code !== 0 || !root || !own || !commonName) return { root: cwd, gitFolders: [], guarded: [] };
  const common = resolve(cwd, commonName);
  // Folders that are not there could only be kept from being created by files that git stumbles over.
  for (const folder of ['hooks', 'logs', join('refs', 'spool')]) mkdirSync(join(common, folder), { recursive: true });
  // What several work trees share is writable only as far as a commit needs it.
  const shared = ['objects', 'refs', 'logs'].map((name) => join(common, name));
  const gitFolders = own === common ? [common] : [own, ...shared];
  const guarded = [
    ...[common, own].flatMap(decidingFiles),
    ...modulesOf(join(common, 'modules')).flatMap(decidingFiles),
    join(common, 'refs', 'spool'),
    ...(lstatSync(join(root, '.git'), { throwIfNoEntry: false })?.isFile() ? [join(root, '.git')] : []),
    ...(await configFiles(root)),
    ...(await hooksFolders(root)),
  ];
  return { root, gitFolders, guarded: [...new Set(guarded)].filter((path) => path !== root) };
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

/** Every file that git reads settings from, those that others include among them. */
const configFiles = async (root: string): Promise<string[]> => {
  const { stdout } = await git(['config', '--list', '--show-origin', '--name-only', '-z'], { cwd: root });
  const origins = readable(stdout)
    .split('\0')
    .flatMap((field) => (field.startsWith('file:') ? [resolve(root, field.slice('file:'.length))] : []));
  return [...new Set(origins)].filter((file) => isWithin(file, root));
};

/** Where core.hooksPath points to inside of the work tree. Husky has what is run next to what it points to. */
const hooksFolders = async (root: string): Promise<string[]> => {
  const { code, stdout } = await git(['config', '--type=path', '--get', 'core.hooksPath'], { cwd: root, hooks: true });
  const folder = resolve(root, readable(stdout).trim());
  if (code !== 0 || !isWithin(folder, root)) return [];
  return folder.endsWith(join('.husky', '_')) ? [dirname(folder)] : [folder];
};

import { join, resolve } from 'node:path';
import { git } from './call/git.ts';
import { reasonFor } from './outcome.ts';
import { toUtf8 } from './paths.ts';

/** Returns the root of the work tree around a folder; empty without one. */
export const topOf = async (cwd: string): Promise<string> =>
  toUtf8((await git(['rev-parse', '--show-toplevel'], { cwd })).stdout).trimEnd();

/** Returns the path of a folder in its work tree: empty, or `sub/`. */
export const prefixOf = async (cwd: string): Promise<string> =>
  toUtf8((await git(['rev-parse', '--show-prefix'], { cwd })).stdout).trimEnd();

export interface RepositoryFolders {
  /** The root of the work tree. */
  readonly root: string;
  /** The git folder of the work tree. */
  readonly own: string;
  /** The git folder that all work trees of the repository share; the same as `own` without linked ones. */
  readonly common: string;
}

/** Returns the folders of the repository around a folder, or what git says without one as `why`. */
export const repositoryFolders = async (cwd: string): Promise<RepositoryFolders | { readonly why: string }> => {
  const asked = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir'];
  const { code, stdout, stderr } = await git(['rev-parse', ...asked], { cwd });
  const [root, own, common] = toUtf8(stdout).split('\n');
  return code !== 0 || !root || !own || !common ? { why: stderr } : { root, own, common: resolve(cwd, common) };
};

/** Returns why git cannot use the repository whose work tree is at `top`; null if it can. */
export const whyNoRepository = async (top: string): Promise<string | null> => {
  const result = await git(['rev-parse', '--resolve-git-dir', join(top, '.git')], { cwd: top });
  return result.code === 0 ? null : reasonFor(result);
};

/** Returns whether a folder is in a work tree. git refuses one that belongs to another user. */
export const workTreeAt = async (cwd: string): Promise<'usable' | 'of-another-user' | 'none'> => {
  const { stdout, stderr } = await git(['rev-parse', '--is-inside-work-tree'], { cwd });
  if (/dubious ownership/.test(stderr)) return 'of-another-user';
  return stdout.trim() === 'true' ? 'usable' : 'none';
};

/** Returns whether git knows who the author of a commit is. */
export const hasIdentity = async (cwd: string): Promise<boolean> =>
  (await git(['var', 'GIT_AUTHOR_IDENT'], { cwd })).code === 0;

/** Returns the name and version of the installed git; null without one. */
export const gitVersion = async (cwd: string): Promise<string | null> => {
  const { code, stdout } = await git(['--version'], { cwd });
  return code === 0 ? stdout.trim() : null;
};

import { existsSync, lstatSync, statSync } from 'node:fs';
import { copyFile, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { maxText } from '../files/safe.ts';
import { isSameFile, stampOf } from '../files/stamp.ts';
import { readRegular } from '../files/regular.ts';
import { foldersUp } from '../process/trusted-path.ts';
import { realPath } from '../process/which.ts';
import { whyBlocked } from './call/blocked.ts';
import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';

/** A git work tree. `tempIndex` is a separate index outside of the project: the user's index is read, never written. */
export interface WorkTree {
  readonly root: string;
  readonly index: string;
  /** The git folder of this work tree. */
  readonly gitDir: string;
  /** The file with the ignore rules of this repository that are in no tree. */
  readonly exclude: string;
  /** The signature of `.git` (`dotGitSignature`); null if there is none. */
  readonly dotGit: string | null;
  readonly tempIndex: string;
}

/** Returns the path of a file as git names it. */
export const pathInTree = ({ root }: Pick<WorkTree, 'root'>, file: string): string =>
  relative(root, file).replaceAll('\\', '/');

/** Returns the git folder that linked work trees share. */
export const sharedFolderOf = ({ exclude }: Pick<WorkTree, 'exclude'>): string => dirname(dirname(exclude));

export type Found =
  | { readonly kind: 'found'; readonly tree: WorkTree }
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Returns `none` if there is no repository or no git, `refused` if git refuses to use the repository or its work tree is
 * another folder.
 */
export const findWorkTree = async (cwd: string, tempIndex: string): Promise<Found> => {
  if (!mayHaveRepository(cwd)) return { kind: 'none' };
  const paths = ['--show-toplevel', '--git-path', 'index', '--git-dir', '--git-path', 'info/exclude'];
  const { code, stdout, stderr } = await git(['rev-parse', ...paths], { cwd });
  const [root, index, gitDir, exclude] = toUtf8(stdout).split('\n');
  if (code === 0 && root && !isInWorkTree(cwd, root))
    return { kind: 'refused', why: `the work tree is ${root}, which does not contain ${cwd} (core.worktree)` };
  if (code === 0 && root && index && gitDir && exclude)
    return {
      kind: 'found',
      tree: {
        root,
        index: resolve(cwd, index),
        gitDir: resolve(cwd, gitDir),
        exclude: resolve(cwd, exclude),
        dotGit: dotGitSignature(root),
        tempIndex,
      },
    };
  const blocked = whyBlocked(cwd);
  if (blocked !== null) return { kind: 'refused', why: blocked };
  const none = code === -1 || /not a git repository|must be run in a work tree/.test(stderr);
  return none ? { kind: 'none' } : { kind: 'refused', why: stderr.split('\n')[0] ?? '' };
};

/** Where neither the folder nor one around it looks like a repository or has one, git need not be asked. */
const mayHaveRepository = (cwd: string): boolean =>
  foldersUp(realPath(cwd)).some((folder) => ['.git', 'HEAD'].some((name) => mayExist(join(folder, name))));

const mayExist = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
};

/** Returns the git folder of the work tree at `cwd`; null if there is none. */
export const gitDirOf = async (cwd: string): Promise<string | null> => {
  if (!mayHaveRepository(cwd)) return null;
  const { code, stdout } = await git(['rev-parse', '--git-dir'], { cwd });
  return code === 0 ? resolve(cwd, toUtf8(stdout).trim()) : null;
};

/** The repository that git uses in a folder, as real paths. */
export interface Repository {
  readonly gitDir: string;
  /** Equals `gitDir`, except in a linked work tree. */
  readonly sharedFolder: string;
  readonly root: string;
}

export interface FoundRepository {
  /** null if the folder is in no work tree. */
  readonly repository: Repository | null;
  /** The git folder, by the path that git gives it; null if there is none. */
  readonly gitDir: string | null;
}

export const repositoryAt = async (cwd: string): Promise<FoundRepository> => {
  if (!mayHaveRepository(cwd)) return { repository: null, gitDir: null };
  const { code, stdout } = await git(['rev-parse', '--git-dir', '--git-common-dir', '--show-toplevel'], { cwd });
  const [dir, sharedFolder, root] = toUtf8(stdout).split('\n');
  const gitDir = dir ? resolve(cwd, dir) : null;
  if (code !== 0 || gitDir === null || !sharedFolder || !root) return { repository: null, gitDir };
  const [own, shared] = [gitDir, resolve(cwd, sharedFolder)].map(realPath);
  return { repository: { gitDir: own!, sharedFolder: shared!, root: realPath(root) }, gitDir };
};

/** Returns false if `core.worktree` leads git to a folder that does not contain `cwd`. */
export const isInWorkTree = (cwd: string, root: string): boolean =>
  foldersUp(realPath(cwd)).some((folder) => folder === realPath(root) || isSameFolder(folder, root));

/** On a file system that ignores case, one folder has several real paths. */
const isSameFolder = (one: string, other: string): boolean => {
  const [first, second] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return isSameFile(first, second);
};

/**
 * Returns true if the repository belongs to its work tree: the `.git` there leads to it, and no other work tree has it.
 * A linked work tree must be registered in its main repository. Returns false for a work tree that was chosen by
 * `core.worktree`, except in a submodule, and for a `commondir` or a `.git` file that names the repository of another
 * folder.
 */
export const isOwnRepository = ({ gitDir, sharedFolder, root }: Repository): boolean => {
  const dotGit = join(root, '.git');
  if (gitDirAt(dotGit) !== gitDir) return false;
  if (gitDir === sharedFolder) return basename(gitDir) !== '.git' || dirname(gitDir) === root;
  const registered = firstLine(join(gitDir, 'gitdir'));
  return (
    dirname(gitDir) === join(sharedFolder, 'worktrees') &&
    registered !== null &&
    realPath(resolve(gitDir, registered)) === dotGit
  );
};

/** Returns the git folder that a `.git` is or leads to; null if it leads nowhere. */
const gitDirAt = (dotGit: string): string | null => {
  const stats = statSync(dotGit, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return realPath(dotGit);
  const named = /^gitdir: (.+)$/.exec(firstLine(dotGit) ?? '')?.[1];
  return named === undefined ? null : realPath(resolve(dirname(dotGit), named));
};

const firstLine = (path: string): string | null =>
  readRegular(path, { limit: maxText })?.toString('utf8').split('\n')[0] ?? null;

/** Changes if the file is replaced or written to. */
export const fingerprint = (file: string | Buffer): string => stampOf(statSync(file, { throwIfNoEntry: false }));

/** Returns false if `.git` is gone or was replaced: git would use another repository. */
export const isIntact = ({ root, dotGit }: WorkTree): boolean => dotGit === null || dotGitSignature(root) === dotGit;

/** Changes if `.git` leads elsewhere; null if there is none. All folders have the same signature. */
export const dotGitSignature = (root: string): string | null => {
  const path = join(root, '.git');
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return stats === undefined ? null : 'folder';
  return stats.isSymbolicLink() ? `link ${realPath(path)}` : `file ${readRegular(path)?.toString('latin1') ?? ''}`;
};

/**
 * Copies the user's index, so that git does not read every file again. The time is copied too: git reads a file that is
 * newer than the index again instead of trusting its size and time.
 */
export const copyIndex = async (index: string, copy: string): Promise<void> => {
  const stats = await stat(index).catch(() => null);
  if (!stats?.isFile() || stats.size > maxIndexBytes) return rm(copy, { force: true });
  await copyFile(index, copy);
  const time = Math.floor(stats.mtimeMs) / 1000;
  await utimes(copy, time, time);
};

/** The index of millions of files is smaller. Without a copy, git reads every file. */
const maxIndexBytes = 512 * 1024 * 1024;

/** Returns the commit that is checked out; null in a repository without commits. */
const headOf = async (tree: WorkTree): Promise<string | null> => {
  const known = headInFiles(tree);
  if (known !== null) return known;
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', 'HEAD'], { cwd: tree.root });
  return code === 0 ? stdout.trim() : null;
};

/** Returns HEAD if it and its branch are plain files; null if git has to be asked. */
const headInFiles = (tree: WorkTree): string | null => {
  const head = headText(tree)?.trim() ?? '';
  const branch = /^ref: (refs\/heads(?:\/[\w-]+)+)$/.exec(head)?.[1];
  const id = branch === undefined ? head : textOf(join(sharedFolderOf(tree), branch))?.trim();
  return id !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id) ? id : null;
};

/** Returns a function that returns HEAD. It looks again only if the reflog of HEAD has grown, or there is none. */
export const createHeadWatch = (tree: WorkTree): (() => Promise<string | null>) => {
  let [stamp, head]: [string, string | null] = ['', null];
  return async () => {
    const now = fingerprint(headLog(tree));
    if (now === '' || now !== stamp) [stamp, head] = [now, await headOf(tree)];
    return head;
  };
};

const headLog = ({ gitDir }: WorkTree) => join(gitDir, 'logs', 'HEAD');

export const headLogSize = (tree: WorkTree): number => statSync(headLog(tree), { throwIfNoEntry: false })?.size ?? 0;

/** Returns the moves of HEAD since its reflog had that size; empty if there is no reflog. */
export const headLogSince = (tree: WorkTree, size: number): { readonly from: string; readonly to: string }[] => {
  const news = readRegular(headLog(tree), { from: size, limit: maxText })?.toString('latin1') ?? '';
  const steps = news.split('\n').filter(Boolean);
  return steps.map((step) => {
    const [from = '', to = ''] = step.split(' ');
    return { from, to };
  });
};

const maxCommits = 100;

/** Returns the commits between two HEADs, oldest first. Only those created then, not those merely fetched or merged. */
export const commitsBetween = async (
  { root }: WorkTree,
  [before, after]: readonly [string | null, string | null],
): Promise<string[]> => {
  if (after === null || after === before) return [];
  const not = before === null ? [] : [`^${before}`];
  const all = await git(['rev-list', '--reverse', `--max-count=${maxCommits}`, after, ...not], { cwd: root });
  const log = await git(['log', '--walk-reflogs', '--format=%H %gs', `--max-count=${maxSteps}`, 'HEAD', '--'], {
    cwd: root,
  });
  const steps = log.stdout.split('\n').filter(Boolean);
  // Without a reflog, the origin of the commits is unknown.
  if (steps.length === 0) return all.stdout.split('\n').filter(Boolean);
  const start = steps.findIndex((step) => before !== null && step.startsWith(before));
  const created = new Set(
    (start === -1 ? steps : steps.slice(0, start)).filter(isCreation).map((step) => step.split(' ')[0]),
  );
  return all.stdout.split('\n').filter((commit) => created.has(commit));
};

const maxSteps = 1000;

/** Matches `<hash> commit: …`, but not a checkout, a reset or a fast-forward. */
const isCreation = (step: string): boolean =>
  /^\w+ (?:commit|cherry-pick|revert|am\b|rebase[^:]*\((?:pick|squash|fixup|reword|edit|continue)\)|.*: Merge made by)/.test(
    step,
  );

/** Returns true if HEAD is a commit and not a branch. Does not run git. */
export const isDetached = (tree: WorkTree): boolean => {
  const head = headText(tree);
  return head !== null && !head.startsWith('ref:');
};

/** Returns the branch of HEAD; null if it is detached. */
export const headBranch = (tree: WorkTree): string | null =>
  /^ref: refs\/heads\/(\S+)/.exec(headText(tree) ?? '')?.[1] ?? null;

const headText = ({ gitDir }: WorkTree): string | null => textOf(join(gitDir, 'HEAD'));

const textOf = (path: string): string | null => {
  try {
    return readRegular(path, { limit: maxText })?.toString('utf8') ?? null;
  } catch {
    return null;
  }
};

/** Returns the unfinished operation of git, which must not be disturbed; null if there is none. */
export const operationInProgress = ({ gitDir }: WorkTree): string | null =>
  Object.entries(operationFiles).find(([file]) => existsSync(join(gitDir, file)))?.[1] ?? null;

const operationFiles = {
  MERGE_HEAD: 'a merge',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
};

/** Returns true if git tracks anything at or below a path. */
export const isTracked = async (cwd: string, path: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '-z', '--', path], { cwd });
  return stdout !== '';
};

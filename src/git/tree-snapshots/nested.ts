import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readRegular } from '../../files/regular.ts';
import { stampOf } from '../../files/stamp.ts';
import { dirname, resolve } from 'node:path';
import type { FileDiff } from '../diff.ts';
import { latin1Path } from '../../files/bytes.ts';
import { git, type GitArguments, type GitResult } from '../call/git.ts';
import { pathOf, toUtf8, statsAt, statsOfName } from '../paths.ts';
import { noFetch } from '../call/inert.ts';
import { isWithin, realPath } from '../../process/which.ts';
import { sharedFolderOf, type WorkTree } from '../work-tree.ts';

type OuterTree = Pick<WorkTree, 'root' | 'exclude'>;

/** Signatures of files, by repository and then by file. Names are relative to the outer work tree. */
export type NestedFiles = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface NestedWatch {
  /** Returns the files in these repositories, and in those nested in them, that are not ignored. */
  read(repositories: Iterable<string>): Promise<NestedFiles>;
  /** A new or deleted repository is one difference. */
  diff(before: NestedFiles, after: NestedFiles): FileDiff[];
}

/** Larger files count as changed if they were written to. */
const maxHashedBytes = 10 * 1024 * 1024;

/**
 * Watches the work in nested repositories, of which a tree has only the commit. git never compares their files, because
 * it would run the filters that they configure.
 */
export const createNestedWatch = (tree: OuterTree): NestedWatch => {
  const { root } = tree;
  /** Contents of files that were written to: writing the same content again is not a change. */
  const contents = new Map<string, { readonly stamp: string; readonly hash: string }>();
  const isRewritten = (name: string, before: string, after: string): boolean => {
    const old = contents.get(name);
    const hash = hashOf(root, name);
    contents.set(name, { stamp: after, hash });
    return hash === '' || old?.stamp !== before || old.hash !== hash;
  };
  const inOne = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): FileDiff[] => {
    const added = [...after.keys()].filter((name) => !before.has(name));
    const deleted = [...before.keys()].filter((name) => !after.has(name));
    const modified = [...after]
      .filter(([name, stamp]) => before.has(name) && before.get(name) !== stamp)
      .filter(([name, stamp]) => isRewritten(name, before.get(name)!, stamp))
      .map(([name]) => name);
    return [
      ...added.map((name) => inside('added', name)),
      ...deleted.map((name) => inside('deleted', name)),
      ...modified.map((name) => inside('modified', name)),
    ];
  };
  return {
    async read(repositories) {
      const found = new Map<string, ReadonlyMap<string, string>>();
      const open = [...repositories];
      for (let name = open.pop(); name !== undefined; name = open.pop()) {
        if (found.has(name) || !isRepository(root, name)) continue;
        const { files, repositories: deeper } = await filesOf(tree, name);
        found.set(name, files);
        for (const one of deeper) open.push(one);
      }
      return found;
    },
    diff: (before, after) =>
      [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((name) => {
        const [old, now] = [before.get(name), after.get(name)];
        if (old === undefined) return [inside('added', name)];
        if (now === undefined) return [inside('deleted', name)];
        return inOne(old, now);
      }),
  };
};

const inside = (status: FileDiff['status'], name: string): FileDiff => ({
  status,
  name,
  from: null,
  insertions: 0,
  deletions: 0,
  binary: false,
  nested: true,
  before: '',
  after: '',
});

const filesOf = async (tree: OuterTree, repository: string) => {
  const { root } = tree;
  const files = new Map<string, string>();
  const repositories: string[] = [];
  if ((await inspect(tree, repository)) === null) return { files, repositories };
  const listed: GitArguments = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await gitInside(root, repository, listed);
  for (const below of new Set(stdout.split('\0').filter(Boolean))) {
    const name = `${repository}/${below.replace(/\/$/, '')}`;
    const stats = statsAt(root, name);
    if (stats?.isDirectory()) repositories.push(name);
    else if (stats) files.set(name, stampOf(stats));
  }
  return { files, repositories };
};

/**
 * Returns true if a repository is checked out there. A submodule that was never fetched is an empty folder. A link is
 * none: git would work in a repository elsewhere.
 */
export const isRepository = (root: string, name: string): boolean =>
  (statsOfName(root, name)?.isDirectory() ?? false) && existsSync(pathOf(root, `${name}/.git`));

/**
 * Returns the commit that is checked out in a nested repository; null if it has none, or if the repository is outside of
 * the project.
 */
export const nestedHead = async (tree: OuterTree, repository: string): Promise<string | null> =>
  (await inspect(tree, repository))?.head ?? null;

/**
 * Returns null if the repository belongs to another place: its `.git`, a `commondir` or a `core.worktree` can lead
 * anywhere. That of a submodule is in the git folder of the outer repository.
 */
const inspect = async (tree: OuterTree, repository: string): Promise<{ readonly head: string | null } | null> => {
  const asked: GitArguments = ['rev-parse', '--git-dir', '--git-common-dir', '--show-toplevel', 'HEAD^{commit}'];
  const { code, stdout } = await gitInside(tree.root, repository, asked);
  const [own, shared, top, head = '', ...more] = toUtf8(stdout).trimEnd().split('\n');
  if (!own || !shared || !top || more.length > 0) return null;
  const folder = `${tree.root}/${toUtf8(repository)}`;
  const around = [tree.root, sharedFolderOf(tree)].map(realPath);
  const isInside = [own, shared].every((path) => {
    const real = realPath(resolve(folder, path));
    return around.some((each) => isWithin(real, each));
  });
  return isInside && realPath(top) === realPath(folder) ? { head: code === 0 ? head : null } : null;
};

/**
 * A folder with an invalid `.git` must not be taken for a folder of the outer repository. Node can start no process in a
 * folder whose name is not UTF-8, only in another one with a similar name.
 */
const gitInside = async (root: string, repository: string, args: GitArguments): Promise<GitResult> => {
  const name = toUtf8(repository);
  if (latin1Path(name) !== repository) return { code: -1, stdout: '', stderr: 'its name is not UTF-8' };
  const cwd = `${root}/${name}`;
  return git(args, { cwd, env: { ...noFetch, GIT_CEILING_DIRECTORIES: dirname(cwd) } });
};

/** Returns an empty string if the file is too large or unreadable. */
const hashOf = (root: string, name: string): string => {
  const stats = statsAt(root, name);
  if (!stats?.isFile() || stats.size > maxHashedBytes) return '';
  try {
    return createHash('sha1')
      .update(`${stats.mode} `)
      .update(readRegular(pathOf(root, name)) ?? '')
      .digest('hex');
  } catch {
    return '';
  }
};

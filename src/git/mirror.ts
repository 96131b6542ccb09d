import { join } from 'node:path';
import { entriesOf, filesBelow } from '../files/folders.ts';
import { removeSafely, writeSafely } from '../files/safe.ts';
import { git, type GitArguments, type GitCall } from './call/git.ts';
import { reasonFor } from './outcome.ts';

/*
 * Everything that talks to a remote runs in a mirror: a bare repository that only Spool uses. A clone in which agents
 * work has settings that they can write, and some of them name programs.
 */

export interface Mirror {
  /** The folder of the bare repository. */
  readonly mirror: string;
}

/** Creates the mirror unless it is there. Returns the reason if it cannot be used. */
export const openMirror = async ({ mirror }: Mirror, parent: string): Promise<string | null> => {
  const made = await git(['init', '--quiet', '--bare', '--', mirror], { cwd: parent });
  if (made.code !== 0) return reasonFor(made);
  // Clones share its objects, which nothing in the mirror may refer to any more.
  for (const setting of [['gc.auto', '0'] as const, ['maintenance.auto', 'false'] as const]) {
    const set = await git(['config', ...setting], inMirror(mirror));
    if (set.code !== 0) return reasonFor(set);
  }
  return null;
};

/** Deletes what a git that was killed has left in a mirror: locks, and parts of what it was fetching. */
export const cleanMirror = ({ mirror }: Mirror): void => {
  const packs = join('objects', 'pack');
  const left = [
    ...namesOf(mirror).filter(isLock),
    ...filesBelow(join(mirror, 'refs'))
      .filter(isLock)
      .map((name) => join('refs', name)),
    ...namesOf(join(mirror, packs))
      .filter((name) => /^\.?tmp_/.test(name))
      .map((name) => join(packs, name)),
  ];
  for (const name of left) removeSafely(join(mirror, name));
};

const namesOf = (folder: string): string[] => entriesOf(folder).map(({ name }) => name);

const isLock = (name: string): boolean => name.endsWith('.lock');

/** A git call in a bare repository. */
export const inMirror = (mirror: string): Pick<GitCall, 'cwd' | 'env'> => ({ cwd: mirror, env: { GIT_DIR: mirror } });

/** Copies refs of a clone on this machine into the mirror. Returns the reason if it fails. */
export const fetchFromClone = async (
  mirror: string,
  clone: string,
  refspecs: readonly string[],
): Promise<string | null> => {
  const result = await git(['fetch', '--quiet', '--prune', clone, ...refspecs], {
    ...inMirror(mirror),
    from: clone,
    config: ['protocol.file.allow=always'],
  });
  return result.code === 0 ? null : reasonFor(result);
};

/** Makes a mirror use the objects of a repository on this machine, so that only what it lacks is fetched. */
export const borrowObjects = async ({ mirror }: Mirror, cwd: string): Promise<void> => {
  const { code, stdout } = await git(['rev-parse', '--path-format=absolute', '--git-path', 'objects'], { cwd });
  if (code === 0) writeSafely(join(mirror, 'objects', 'info', 'alternates'), Buffer.from(stdout, 'latin1'));
};

/** Copies refs of a mirror into a repository on this machine. Returns the reason if it fails. */
export const fetchFromMirror = async (
  { mirror }: Mirror,
  cwd: string,
  refspecs: readonly string[],
): Promise<string | null> => {
  const result = await git(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', mirror, ...refspecs], {
    cwd,
    config: ['protocol.file.allow=always'],
  });
  return result.code === 0 ? null : reasonFor(result);
};

/** Returns the commit of a ref; null if the mirror does not have it. */
export const commitInMirror = async ({ mirror }: Mirror, ref: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', ref], inMirror(mirror));
  return code === 0 ? stdout.trim() : null;
};

export const mirrorHasCommit = async ({ mirror }: Mirror, commit: string): Promise<boolean> =>
  (await git(['cat-file', '-e', `${commit}^{commit}`], inMirror(mirror))).code === 0;

/** Returns whether a commit is part of the history of another one, or is the same. */
export const isAncestorInMirror = async ({ mirror }: Mirror, commit: string, of: string): Promise<boolean> =>
  (await git(['merge-base', '--is-ancestor', commit, of], inMirror(mirror))).code === 0;

/** The commits of a branch that are not in its base; empty if git fails. */
export const commitsInMirror = async ({ mirror }: Mirror, base: string, tip: string): Promise<readonly string[]> => {
  const { code, stdout } = await git(['rev-list', tip, '--not', base, '--'], inMirror(mirror));
  return code === 0 ? stdout.split('\n').filter(Boolean) : [];
};

export interface MirroredRef {
  readonly name: string;
  readonly commit: string;
}

/** Returns the refs below a prefix such as `refs/spool/`, the oldest commit first, or the reason as `why`. */
export const refsInMirror = async (
  { mirror }: Mirror,
  prefix: string,
): Promise<readonly MirroredRef[] | { readonly why: string }> => {
  const format = '--format=%(objectname) %(refname)';
  const result = await git(['for-each-ref', '--sort=creatordate', format, prefix], inMirror(mirror));
  if (result.code !== 0) return { why: result.stderr };
  return result.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ commit: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }));
};

export interface NewClone {
  readonly folder: string;
  /** The branch that is checked out, and its commit. */
  readonly branch: string;
  readonly commit: string;
  /** Another branch that the clone gets; null for none. */
  readonly other: { readonly branch: string; readonly commit: string } | null;
}

/** Clones a mirror. The clone shares its objects, and has no remote. Returns the reason if it fails. */
export const cloneMirror = async (
  { mirror }: Mirror,
  { folder, branch, commit, other }: NewClone,
): Promise<string | null> => {
  const steps: readonly (readonly [GitArguments, string])[] = [
    [['clone', '--quiet', '--shared', '--no-checkout', '--no-tags', '--', mirror, folder], mirror],
    [['config', '--remove-section', 'remote.origin'], folder],
    [['switch', '--quiet', '--force-create', branch, commit], folder],
    ...(other === null ? [] : [[['update-ref', `refs/heads/${other.branch}`, other.commit], folder] as const]),
  ];
  for (const [args, cwd] of steps) {
    const result = await git(args, { cwd, config: ['protocol.file.allow=always', 'core.hooksPath=/dev/null'] });
    if (result.code !== 0) return reasonFor(result);
  }
  return null;
};

import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { git, type GitArguments } from './call/git.ts';
import { fileAt, pathOf, statsOfName } from './paths.ts';

/** Untracked files at paths where a fast-forward writes. Names are as git printed them. */
export interface BlockingFiles {
  /** Below the given paths, and not ignored: a checkpoint can contain them. */
  readonly own: readonly string[];
  readonly others: readonly string[];
}

/** `root` is the root of a work tree; the paths in `own` are relative to it. */
export const untrackedInTheWay = async (
  root: string,
  [from, to]: readonly [string, string],
  own: readonly string[],
): Promise<BlockingFiles> => {
  const names = (...args: GitArguments) => namesFrom(root, args);
  const plain = ['-r', '-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
  const added = await names('diff-tree', ...plain, '--diff-filter=A', from, to);
  const tracked = await names('ls-files', '-z');
  const isTracked = (name: string) => tracked.some((path) => path === name || path.startsWith(`${name}/`));
  const blocking = new Set(added.map((name) => blockerOf(root, name)).filter((name) => name !== null));
  const untracked = [...blocking].filter((name) => !isTracked(name));
  const ours = new Set(await untrackedBelow(root, own));
  return {
    own: untracked.filter((name) => ours.has(name)),
    others: untracked.filter((name) => !ours.has(name)),
  };
};

const namesFrom = async (root: string, args: GitArguments): Promise<string[]> =>
  (await git(args, { cwd: root })).stdout.split('\0').filter(Boolean);

const untrackedBelow = (root: string, paths: readonly string[]): Promise<string[]> =>
  namesFrom(root, [
    'ls-files',
    '--others',
    '--exclude-standard',
    '-z',
    '--',
    ...paths.map((path) => `:(literal)${path}`),
  ]);

/** Returns the existing file, or a file at the path of a parent folder; null if there is none. */
const blockerOf = (root: string, name: string): string | null => {
  const isFolder = statsOfName(root, name)?.isDirectory() ?? false;
  if (!isFolder) return fileAt(root, name);
  return readdirSync(pathOf(root, name)).length > 0 ? name : null;
};

const displacedMark = '.before-landing-';

export interface DisplacedFiles {
  /** Restores the files byte for byte. */
  putBack(): void;
  drop(): void;
}

/** Renames files in place, so that nothing is lost if the process is killed. */
export const displace = (root: string, names: readonly string[]): DisplacedFiles => {
  const mark = `${displacedMark}${randomUUID()}`;
  const moved: string[] = [];
  const putBack = () => {
    for (const name of moved.splice(0)) renameSync(pathOf(root, name + mark), pathOf(root, name));
  };
  try {
    for (const name of names) {
      renameSync(pathOf(root, name), pathOf(root, name + mark));
      moved.push(name);
    }
  } catch (error) {
    putBack();
    throw error;
  }
  return { putBack, drop: () => moved.forEach((name) => rmSync(pathOf(root, name + mark), { force: true })) };
};

/** A file that a killed process had displaced. Names are as git printed them. */
export interface LeftoverFile {
  readonly name: string;
  readonly original: string;
}

export const findLeftovers = async (root: string, paths: readonly string[]): Promise<LeftoverFile[]> =>
  (await untrackedBelow(root, paths))
    .map((name) => ({ name, original: name.slice(0, Math.max(0, name.lastIndexOf(displacedMark))) }))
    .filter(({ original }) => original !== '');

/** Returns false if another file exists at the original path by now. */
export const restoreDisplaced = (root: string, { name, original }: LeftoverFile): boolean => {
  if (existsSync(pathOf(root, original))) return false;
  renameSync(pathOf(root, name), pathOf(root, original));
  return true;
};

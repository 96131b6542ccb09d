import type { Stats } from 'node:fs';
import { git } from '../call/git.ts';
import { statsAt } from '../paths.ts';
import { type IgnoreRules, ignoredBy, namesIn } from './ignored.ts';
import { inFolders, type SkippedPath } from './skipped.ts';
import type { WorkTree } from '../work-tree.ts';

/** Larger untracked files are not copied into the repository. */
const maxUntrackedBytes = 50 * 1024 * 1024;

/** The last snapshot of the work tree. */
export interface PreviousSnapshot extends IgnoreRules {
  readonly atMs: number;
  /** Returns true if the file existed and was ignored when the run started. */
  readonly wasIgnored: (name: string) => boolean;
}

export interface NewPaths {
  /** New and changed files. Nested repositories end with a slash. */
  readonly names: readonly string[];
  /** The number of deleted files. */
  readonly removed: number;
  /** None of `names` is tracked. */
  readonly untracked: boolean;
  /** The last snapshot with other ignore rules; null if they have not changed. */
  readonly oldRules: PreviousSnapshot | null;
}

export interface FoundSkipped {
  readonly skipped: readonly SkippedPath[];
  /** Nested repositories. */
  readonly nested: readonly string[];
}

/** Identifies a file, whatever its name. */
export const fileKey = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

/** Finds new paths that must not be in a tree, before git reads them. */
export const findSkipped = async (
  tree: WorkTree,
  newPaths: NewPaths,
  ownOutput: () => ReadonlySet<string>,
): Promise<FoundSkipped> => {
  const seen = newPaths.names.map((name) => ({ name, stats: statsAt(tree.root, name) })).filter(isThere);
  const nested = seen.filter(({ stats }) => stats.isDirectory()).map(({ name }) => name.replace(/\/$/, ''));
  const files = seen.filter(({ stats }) => stats.isFile());
  const own = files.length === 0 ? new Set() : ownOutput();
  const output = files
    .filter(({ stats }) => own.has(fileKey(stats)))
    .map(({ name }): SkippedPath => ({ name, kind: 'output', why: "Spool's own output" }));
  const large = files
    .filter(({ stats }) => stats.size > maxUntrackedBytes)
    .map(({ name, stats }): SkippedPath => ({ name, kind: 'large', why: `${megabytes(stats.size)}, over 50 MB` }));
  const tracked = large.length === 0 || newPaths.untracked ? new Set() : new Set(await trackedIn(tree));
  const ignored = newPaths.oldRules === null ? [] : await ignoredBefore(tree, newPaths.oldRules, seen);
  return { skipped: [...ignored, ...output, ...large.filter(({ name }) => !tracked.has(name))], nested };
};

/** Returns true if the file is too large for a tree. */
export const isLarge = ({ root }: WorkTree, name: string): boolean =>
  (statsAt(root, name)?.size ?? 0) > maxUntrackedBytes;

const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;

interface Seen {
  readonly name: string;
  readonly stats: Stats;
}

const isThere = (seen: { name: string; stats: Stats | undefined }): seen is Seen => seen.stats !== undefined;

/** Returns all names in the user's index. */
export const trackedIn = async ({ root }: WorkTree): Promise<string[]> =>
  (await git(['ls-files', '-z'], { cwd: root })).stdout.split('\0');

/**
 * Returns the paths that existed and were ignored, and are visible only because the rules have changed. A file created
 * after the last snapshot is new work, unless it replaced a file that was ignored when the run started.
 */
const ignoredBefore = async (
  tree: WorkTree,
  previous: PreviousSnapshot,
  seen: readonly Seen[],
): Promise<SkippedPath[]> => {
  const older = seen.filter(({ name, stats }) => createdAt(stats) < previous.atMs || previous.wasIgnored(name));
  if (older.length === 0) return [];
  const known = await namesIn(tree, previous.treeId);
  const knownNames = new Set(known);
  const paths = older.map(fileOf).filter((name) => !knownNames.has(name));
  const ignored = await ignoredBy(tree, previous, paths);
  const others = [...known, ...seen.map(fileOf)];
  return inFolders([...ignored], others).map((name) => ({
    name: name.replace(/\/\.git$/, '/'),
    kind: 'ignored',
    why: 'was ignored before the ignore rules changed',
  }));
};

/** Represents a nested repository by a file in it, because ignore rules distinguish files from folders. */
const fileOf = ({ name }: Seen): string => (name.endsWith('/') ? `${name}.git` : name);

/** Uses the time of the last change if the file system does not store the time of creation. */
const createdAt = ({ birthtimeMs, ctimeMs }: Stats): number => (birthtimeMs > 0 ? birthtimeMs : ctimeMs);

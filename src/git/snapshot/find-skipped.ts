import type { Stats } from 'node:fs';
import { git, statsAt } from '../call/git.ts';
import { type IgnoreRules, ignoredBy, namesIn } from './ignored.ts';
import { inFolders, type SkippedPath } from './skipped.ts';
import type { WorkTree } from '../work-tree.ts';

/** A larger file that git does not track is not copied into the repository. */
const mostBytes = 50 * 1024 * 1024;

/** The work tree as it was taken last. */
export interface PreviousSnapshot extends IgnoreRules {
  readonly atMs: number;
  /** The file was there, and ignored, when the run began. */
  readonly had: (name: string) => boolean;
}

export interface NewPaths {
  /** Files that are new or have changed; repositories inside end with a slash. */
  readonly names: readonly string[];
  /** How many files are gone. */
  readonly removed: number;
  /** None of them is tracked. */
  readonly untracked: boolean;
  /** The moment before the ignore rules have changed; null when they have not. */
  readonly oldRules: PreviousSnapshot | null;
}

export interface FoundSkipped {
  readonly leftOut: readonly SkippedPath[];
  /** Repositories inside the repository. */
  readonly nested: readonly string[];
}

/** Equal only for names of the same file. */
export const fileKey = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

/** Finds, among what is new, what must not be in a tree, before git reads any of it. */
export const findSkipped = async (
  tree: WorkTree,
  news: NewPaths,
  ownOutput: () => ReadonlySet<string>,
): Promise<FoundSkipped> => {
  const seen = news.names.map((name) => ({ name, stats: statsAt(tree.root, name) })).filter(isThere);
  const nested = seen.filter(({ stats }) => stats.isDirectory()).map(({ name }) => name.replace(/\/$/, ''));
  const files = seen.filter(({ stats }) => stats.isFile());
  const own = files.length === 0 ? new Set() : ownOutput();
  const output = files
    .filter(({ stats }) => own.has(fileKey(stats)))
    .map(({ name }): SkippedPath => ({ name, kind: 'output', why: "Spool's own output" }));
  const large = files
    .filter(({ stats }) => stats.size > mostBytes)
    .map(({ name, stats }): SkippedPath => ({ name, kind: 'large', why: `${megabytes(stats.size)}, over 50 MB` }));
  const tracked = large.length === 0 || news.untracked ? new Set() : new Set(await trackedIn(tree));
  const ignored = news.oldRules === null ? [] : await ignoredUntil(tree, news.oldRules, seen);
  return { leftOut: [...ignored, ...output, ...large.filter(({ name }) => !tracked.has(name))], nested };
};

/** Whether it is still so large that it is left out. */
export const isLarge = ({ root }: WorkTree, name: string): boolean => (statsAt(root, name)?.size ?? 0) > mostBytes;

const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;

interface Seen {
  readonly name: string;
  readonly stats: Stats;
}

const isThere = (seen: { name: string; stats: Stats | undefined }): seen is Seen => seen.stats !== undefined;

/** All that is in the user's index. */
export const trackedIn = async ({ root }: WorkTree): Promise<string[]> =>
  (await git(['ls-files', '-z'], { cwd: root })).stdout.split('\0');

/** What was there and ignored, and is only seen because the rules have changed. What is younger than the old rules is somebody's work, but for a file that was only replaced. */
const ignoredUntil = async (
  tree: WorkTree,
  moment: PreviousSnapshot,
  seen: readonly Seen[],
): Promise<SkippedPath[]> => {
  const older = seen.filter(({ name, stats }) => bornAt(stats) < moment.atMs || moment.had(name));
  if (older.length === 0) return [];
  const known = await namesIn(tree, moment.treeId);
  const knew = new Set(known);
  const paths = older.map(fileOf).filter((name) => !knew.has(name));
  const ignored = await ignoredBy(tree, moment, paths);
  const others = [...known, ...seen.map(fileOf)];
  return inFolders([...ignored], others).map((name) => ({
    name: name.replace(/\/\.git$/, '/'),
    kind: 'ignored',
    why: 'was ignored before the ignore rules changed',
  }));
};

/** A file in it stands for a repository inside: the rules tell a folder from a file. */
const fileOf = ({ name }: Seen): string => (name.endsWith('/') ? `${name}.git` : name);

/** Where the file system does not know when a file was made, it is when it was changed last. */
const bornAt = ({ birthtimeMs, ctimeMs }: Stats): number => (birthtimeMs > 0 ? birthtimeMs : ctimeMs);

import { userError } from '../errors.ts';
import { writeInside } from '../files/write-inside.ts';
import { join } from 'node:path';
import { blobAt, dirtyPaths, obstacleAt, stagedAmong } from '../git/branches.ts';
import { topOf } from '../git/repository.ts';
import { toUtf8 } from '../git/paths.ts';
import { baseOf, bytesOf, filesAmong, isTaskList, type Merged, mergeCopies, savedCopy } from '../changes/copies.ts';
import { planningPaths } from '../changes/planning-paths.ts';
import type { Landing } from './landing.ts';
import { worktreePath } from '../store/paths.ts';

/** The project's own copy of the change, when the branch lands in the project's folder. */
export interface Edits {
  /** Files with uncommitted changes that the branch changes as well. Relative to the root of the repository. */
  readonly modified: readonly string[];
  /** The merged contents of files that differ from the commit. Keys are relative to the project. */
  readonly merged: ReadonlyMap<string, Buffer>;
}

/** Merges the branch with uncommitted edits of the user, and with tasks that a run has ticked without a commit. */
export const planEdits = async (landing: Landing, baseWorktree: string, commit: string): Promise<Edits> => {
  const { project, target, prefix } = landing;
  if (baseWorktree !== (await topOf(project.root))) return { modified: [], merged: new Map() };
  const plans = planningPaths(project, target);
  const work = runCopyRoot(landing);
  const dirty = new Set(((await dirtyPaths(baseWorktree)) ?? []).map(toUtf8));
  const paths = new Set([...filesAmong(project.root, plans), ...(work === null ? [] : filesAmong(work, plans))]);
  const modified: string[] = [];
  const merged = new Map<string, Buffer>();
  for (const path of paths) {
    const file = await readVersions(landing, path, { baseWorktree, commit, dirty });
    const best = await mergeVersions(landing, file, work);
    if (best === null) continue;
    const { name, mine, before, after, isEdited } = file;
    if (isEdited && before !== null && !isSame(before, after)) modified.push(name);
    if (best.bytes !== null && !best.bytes.equals(after ?? mine ?? Buffer.alloc(0))) merged.set(path, best.bytes);
  }
  const written = [...merged.keys()].map((path) => `${prefix}${path}`);
  const obstacle = merged.size === 0 ? null : await obstacleAt(baseWorktree, commit, written);
  if (obstacle !== null) throw userError('land-obstacle', obstacle, landing.branch);
  const staged = modified.length > 0 ? await stagedAmong(baseWorktree, modified) : new Set<string>();
  return { modified: modified.filter((name) => !staged.has(name)), merged };
};

/** A file of the change, in the versions that a landing merges. null where it does not exist. */
interface Versions {
  /** Relative to the project. */
  readonly path: string;
  /** Relative to the root of the repository. */
  readonly name: string;
  /** In the folder of the project. */
  readonly mine: Buffer | null;
  /** On the base, before and after the landing. */
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  /** The last version that the project and the run had in common; undefined if it is not known. */
  readonly shared: Buffer | null | undefined;
  /** The user has edits that are not committed, and the branch has the file as well. */
  readonly isEdited: boolean;
}

const readVersions = async (
  { project, change, prefix, baseTip }: Landing,
  path: string,
  { baseWorktree, commit, dirty }: { baseWorktree: string; commit: string; dirty: ReadonlySet<string> },
): Promise<Versions> => {
  const name = `${prefix}${path}`;
  const mine = bytesOf(project.root, path);
  const before = await blobAt(baseWorktree, baseTip, name);
  const after = await blobAt(baseWorktree, commit, name);
  const isEdited = mine !== null && after !== null && (before === null || dirty.has(name));
  return { path, name, mine, before, after, shared: baseOf(project, change, path), isEdited };
};

/** Returns null if they cannot be merged. */
const mergeVersions = async (landing: Landing, file: Versions, work: string | null) => {
  const { path, mine, before, after, shared, isEdited } = file;
  const isTasks = isTaskList(landing.target, path);
  const unedited: Merged = { kind: 'merged', bytes: after ?? mine };
  const landed = async (base: Buffer | null | undefined): Promise<Merged> =>
    isEdited ? await mergeCopies({ base, mine, theirs: after, isTasks }) : unedited;
  const withoutShared = await landed(before ?? shared);
  // Edits that the run has synced already are in its copy, even if they are not on its branch.
  const isTaken = work !== null && isEdited && shared !== undefined && !isSame(before, after);
  const withShared = isTaken ? await landed(shared) : withoutShared;
  return firstMerged([
    () => withUncommittedWork(landing, path, { landed: withShared, work }),
    () => withUncommittedWork(landing, path, { landed: withoutShared, work }),
    async () => withoutShared,
  ]);
};

const isSame = (one: Buffer | null, other: Buffer | null): boolean =>
  one !== null && other !== null && one.equals(other);

const firstMerged = async (attempts: readonly (() => Promise<Merged>)[]) => {
  for (const attempt of attempts) {
    const merged = await attempt();
    if (merged.kind === 'merged') return merged;
  }
  return null;
};

/** Merges what is in the copy of the run but not on its branch, such as ticks in a file that git ignores. */
const withUncommittedWork = async (
  { project, change, target, prefix, tip }: Landing,
  path: string,
  { landed, work }: { landed: Merged; work: string | null },
): Promise<Merged> => {
  const theirs = work === null ? null : bytesOf(work, path);
  if (landed.kind === 'conflict' || theirs === null) return landed;
  const onBranch = await blobAt(project.root, tip, `${prefix}${path}`);
  if (onBranch?.equals(theirs)) return landed;
  const base = onBranch ?? baseOf(project, change, path);
  return mergeCopies({ base, mine: landed.bytes, theirs, isTasks: isTaskList(target, path) });
};

/** Returns the folder with the copy of the run: its worktree, or the copy that was saved when that was removed. */
const runCopyRoot = ({ project, change, tip, prefix, hasWorktree }: Landing): string | null =>
  hasWorktree ? join(worktreePath(project, change), prefix) : savedCopy(project, change, tip);

export const writeEdits = ({ project }: Landing, { merged }: Edits): void => {
  for (const [path, bytes] of merged) writeInside(project.root, path, bytes);
};

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem, UserError, userError } from '../errors.ts';
import { createFolder, entriesOf, filesBelow } from '../files/folders.ts';
import { stampOf } from '../files/stamp.ts';
import { readInside, statsIfInside } from '../files/inside.ts';
import { readText, statsOf } from '../files/read.ts';
import { removeSafely, writeSafely } from '../files/safe.ts';
import { copyInside, removeInside, writeInside } from '../files/write-inside.ts';
import { fileAt, toUtf8 } from '../git/paths.ts';
import { mergeFiles } from '../git/merge.ts';
import type { Project } from '../store/project.ts';
import { planningPaths } from './planning-paths.ts';
import type { Change } from './source.ts';
import { makeRalphFolder } from '../store/folders.ts';
import { mergeTasks } from './tasks/merge.ts';
import { copiesFolder } from '../store/paths.ts';

/**
 * A run in a worktree has a copy of the change, its module and the config file. The user edits the project's version:
 * those edits are merged into the copy, never the other way round. The last version that both had in common, the base
 * of the merge, is saved in the state folder of the change.
 */
export interface Copied {
  readonly project: Project;
  readonly change: Change;
  /** The folder of the project in the worktree. */
  readonly root: string;
}

export interface Synced {
  /** Files that were copied or merged into the worktree, relative to the project. */
  readonly taken: readonly string[];
  /** Files in which both versions have changed the same lines. */
  readonly conflicts: readonly string[];
  /** Files that cannot be written to the worktree. */
  readonly blocked: readonly Blocked[];
}

interface Blocked {
  readonly path: string;
  /** What is in the way in the worktree: a folder with the path of the file, or a link or file with that of a folder. */
  readonly obstacle: string;
}

export interface Copies {
  /** Merges edits in the project into the worktree. Compares only times and sizes while nothing has changed. */
  sync(): Promise<Synced>;
  /** Files of the worktree that have received the user's edits since the last call. */
  takeReceived(): string[];
}

interface SyncedOnce extends Synced {
  readonly received: readonly string[];
}

const unchanged: SyncedOnce = { taken: [], conflicts: [], blocked: [], received: [] };

/** For a run in the project folder, which has nothing to synchronise. */
export const noCopies: Copies = { sync: async () => unchanged, takeReceived: () => [] };

export const openCopies = (copied: Copied): Copies => {
  let seen: string | null = null;
  const received = new Set<string>();
  return {
    takeReceived: () => {
      const paths = [...received];
      received.clear();
      return paths;
    },
    async sync() {
      const present = signatureOf(copied.project.root, planningPaths(copied.project, copied.change));
      if (present === seen) return unchanged;
      const synced = await syncOnce(copied);
      seen = synced.conflicts.length + synced.blocked.length === 0 ? present : null;
      for (const path of synced.received) received.add(path);
      return synced;
    },
  };
};

/** Gives a new branch the project's version, regardless of what is committed. */
export const createCopy = (copied: Copied): void => {
  const { project, change, root } = copied;
  deleteCopies(project, change.id);
  const plans = planningPaths(project, change);
  const known = new Set(filesAmong(project.root, plans));
  for (const path of filesAmong(root, plans)) if (!known.has(path)) removeInside(root, path);
  for (const plan of plans) copyInside(project.root, root, plan);
  saveBase(copied);
};

const saveBase = ({ project, change }: Copied): void => {
  makeRalphFolder(project, change.id);
  const base = baseFolder(project, change.id);
  createFolder(base);
  for (const plan of planningPaths(project, change)) copyInside(project.root, base, plan);
};

/** Saves the copy of a worktree that is about to be removed, with the commit at the tip of its branch. */
export const saveCopy = ({ project, change, root }: Copied, tip: string): void => {
  const folder = workFolder(project, change.id);
  removeSafely(folder);
  createFolder(folder);
  for (const plan of planningPaths(project, change)) copyInside(root, folder, plan);
  writeSafely(tipFile(project, change.id), tip);
};

/** Restores the saved copy in a worktree that is created again, unless its branch has moved since. */
export const restoreCopy = ({ project, change, root }: Copied, tip: string | null): void => {
  const plans = planningPaths(project, change);
  const saved = savedCopy(project, change.id, tip);
  if (saved !== null) for (const plan of plans) copyInside(saved, root, plan);
  for (const path of filesAmong(project.root, plans))
    if (!existsSync(join(root, path))) copyInside(project.root, root, path);
};

/** The folder of the saved copy of a removed worktree; null if none was saved at this tip of its branch. */
export const savedCopy = (project: Project, change: string, tip: string | null): string | null => {
  const savedAt = readText(tipFile(project, change));
  return savedAt !== null && savedAt === tip && existsSync(workFolder(project, change))
    ? workFolder(project, change)
    : null;
};

export const deleteCopies = (project: Project, change: string): void => removeSafely(copiesFolder(project, change));

/** Merges the project's task file with that of a copy. Returns null if the user deleted it. */
export const mergedTasks = async (project: Project, change: Change, theirs: Buffer): Promise<string | null> => {
  const { id, tasksFile: file } = change;
  const mine = bytesOf(project.root, file);
  const merged = await mergeCopies({
    base: baseOf(project, id, file),
    mine,
    theirs,
    isTasks: isTaskList(change, file),
  });
  const best = merged.kind === 'conflict' ? theirs : merged.bytes;
  return best?.toString() ?? null;
};

const syncOnce = async (copied: Copied): Promise<SyncedOnce> => {
  const { project, change, root } = copied;
  const plans = planningPaths(project, change);
  // It was archived, or another branch is checked out: that is not an edit of the user.
  if (!existsSync(join(project.root, change.folder))) return unchanged;
  const baseCopy = baseFolder(project, change.id);
  const isKnown = existsSync(baseCopy);
  const paths = new Set([...filesAmong(project.root, plans), ...filesBelow(baseCopy)]);
  const [taken, conflicts, received]: [string[], string[], string[]] = [[], [], []];
  const blocked: Blocked[] = [];
  for (const path of paths) {
    const [mine, theirs] = [bytesOf(project.root, path), bytesOf(root, path)];
    const base = baseOf(project, change.id, path);
    const merged = await mergeCopies({ base, mine, theirs, isTasks: isTaskList(change, path) });
    const obstacle = obstacleTo(root, path);
    if (obstacle !== null) {
      blocked.push({ path, obstacle });
      continue;
    }
    if (merged.kind === 'conflict') {
      conflicts.push(path);
      continue;
    }
    if (!isSame(merged.bytes, theirs)) {
      put(root, path, merged.bytes);
      taken.push(path);
    }
    if (base !== undefined && !isSame(mine, base)) received.push(path);
    if (isKnown) put(baseCopy, path, mine);
  }
  if (!isKnown) saveBase(copied);
  return { taken, conflicts, blocked, received };
};

type Bytes = Buffer | null;

/** Without a known `base` the agent's version wins, and the user's new tasks are added to it. */
interface Versions {
  readonly base: Bytes | undefined;
  /** The user's. */
  readonly mine: Bytes;
  /** The agent's. */
  readonly theirs: Bytes;
  /** In a task file, ticks and new tasks of both are merged. */
  readonly isTasks: boolean;
}

/** Whether a file, relative to a root, is merged task by task. */
export const isTaskList = ({ tasksFile, format }: Change, path: string): boolean =>
  path === tasksFile && format.hasBoxes;

export type Merged = { readonly kind: 'merged'; readonly bytes: Bytes } | { readonly kind: 'conflict' };

/** Three-way merge of a file. */
export const mergeCopies = async ({ base, mine, theirs, isTasks }: Versions): Promise<Merged> => {
  if (isSame(mine, theirs) || (base !== undefined && isSame(mine, base))) return { kind: 'merged', bytes: theirs };
  if (base !== undefined && isSame(theirs, base)) return { kind: 'merged', bytes: mine };
  if (theirs === null) return { kind: 'merged', bytes: mine };
  if (mine === null) return isTasks ? { kind: 'merged', bytes: null } : { kind: 'conflict' };
  if (!isTasks && base === undefined) return { kind: 'merged', bytes: theirs };
  const bytes = isTasks
    ? await mergeTaskFiles({ base: base ?? null, mine, theirs })
    : await mergeFiles({ base: base ?? Buffer.alloc(0), mine, theirs });
  return bytes === null ? { kind: 'conflict' } : { kind: 'merged', bytes };
};

const mergeTaskFiles = async ({
  base,
  mine,
  theirs,
}: {
  base: Bytes;
  mine: Buffer;
  theirs: Buffer;
}): Promise<Bytes> => {
  const versions = { base: base?.toString() ?? null, mine: mine.toString(), theirs: theirs.toString() };
  const merged = await mergeTasks(versions, async (texts) => {
    const [before, own, other] = [texts.base, texts.mine, texts.theirs].map((text) => Buffer.from(text));
    const lines = await mergeFiles({ base: before!, mine: own!, theirs: other! }, { additions: true });
    return lines?.toString() ?? null;
  });
  return merged === null ? null : Buffer.from(merged);
};

const isSame = (a: Bytes, b: Bytes): boolean => (a === null || b === null ? a === b : a.equals(b));

const baseFolder = (project: Project, change: string) => join(copiesFolder(project, change), 'base');
const workFolder = (project: Project, change: string) => join(copiesFolder(project, change), 'work');
const tipFile = (project: Project, change: string) => join(copiesFolder(project, change), 'tip');

/** Returns undefined if no base was saved, and null if the file did not exist in it. */
export const baseOf = (project: Project, change: string, path: string): Bytes | undefined =>
  existsSync(baseFolder(project, change)) ? bytesOf(baseFolder(project, change), path) : undefined;

/** Returns null unless the path is a regular file. What is behind a link is not read. */
export const bytesOf = (root: string, path: string): Bytes =>
  statsIfInside(root, path)?.isFile() ? readInside(root, path) : null;

/** Returns what keeps a file from being written, relative to the root; null if nothing does. */
const obstacleTo = (root: string, path: string): string | null => {
  const name = Buffer.from(path).toString('latin1');
  const there = fileAt(root, name);
  if (there === null) return existsSync(join(root, path)) ? path : null;
  return there === name ? null : toUtf8(there);
};

const put = (root: string, path: string, bytes: Bytes): void => {
  try {
    if (bytes === null) removeInside(root, path);
    else writeInside(root, path, bytes);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw userError('io', join(root, path), systemProblem(error));
  }
};

/** The regular files at and below these paths, relative to the root. Links are not followed. */
export const filesAmong = (root: string, paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const stats = statsIfInside(root, path);
    if (stats?.isFile()) return [path];
    if (!stats?.isDirectory()) return [];
    return filesAmong(
      root,
      entriesOf(join(root, path)).map(({ name }) => join(path, name)),
    );
  });

const signatureOf = (root: string, plans: readonly string[]): string =>
  filesAmong(root, plans)
    .map((path) => `${path}\0${stampOf(statsOf(join(root, path)))}`)
    .join('\0');

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemProblem, userError } from '../errors.ts';
import { createFolder, entriesOf, readOwn, removeOwn, writeOwn } from '../files/own.ts';
import { fileAt } from '../git/git.ts';
import { mergeFiles } from '../git/merge.ts';
import { copy, statsOf } from '../files/read.ts';
import type { Project } from '../store/project.ts';
import { planningPaths } from './planning-paths.ts';
import { ralphFolder } from '../store/state.ts';
import { makeRalphFolder } from '../store/folders.ts';
import { mergeTasks } from './task-merge.ts';

/**
 * A run in a worktree works on a copy of the change, its module and the config file. The project's own is the
 * person's: what they change there is merged into the copy, never the other way round. The version that both had
 * last is kept in the state folder of the change.
 */
export interface Copied {
  readonly project: Project;
  readonly change: string;
  /** The folder of the project in the worktree. */
  readonly root: string;
}

export interface Synced {
  /** Files of the project that the copy has now; relative to the project. */
  readonly taken: readonly string[];
  /** Files that both have changed in the same lines. */
  readonly conflicts: readonly string[];
}

export interface Copies {
  /** Brings what has changed in the project over. Looks at times and sizes only while nothing has. */
  sync(): Promise<Synced>;
  /** Files in which the copy has got edits of the person since this was asked last, by whatever way. */
  takeSettled(): string[];
}

interface SyncedOnce extends Synced {
  readonly settled: readonly string[];
}

const nothing: SyncedOnce = { taken: [], conflicts: [], settled: [] };

/** Of a run in the project's own folder there is one copy only. */
export const oneCopy: Copies = { sync: async () => nothing, takeSettled: () => [] };

export const openCopies = (copied: Copied): Copies => {
  let seen: string | null = null;
  const settled = new Set<string>();
  return {
    takeSettled: () => {
      const paths = [...settled];
      settled.clear();
      return paths;
    },
    async sync() {
      const present = signatureOf(copied.project.root, await planningPaths(copied.project, copied.change));
      if (present === seen) return nothing;
      const synced = await syncOnce(copied);
      seen = synced.conflicts.length === 0 ? present : null;
      for (const path of synced.settled) settled.add(path);
      return synced;
    },
  };
};

/** The copy of a new branch is the project's, whatever is committed. */
export const takeOver = async (copied: Copied): Promise<void> => {
  const { project, change, root } = copied;
  dropCopies(project, change);
  const plans = await planningPaths(project, change);
  const known = new Set(filesAmong(project.root, plans));
  for (const path of filesAmong(root, plans)) if (!known.has(path)) removeOwn(join(root, path));
  for (const plan of plans) copy(join(project.root, plan), join(root, plan));
  await keepBase(copied);
};

const keepBase = async ({ project, change }: Copied): Promise<void> => {
  makeRalphFolder(project, change);
  createFolder(baseFolder(project, change));
  for (const plan of await planningPaths(project, change))
    copy(join(project.root, plan), join(baseFolder(project, change), plan));
};

/** Keeps the copy of a worktree that is about to be removed, together with the commit of its branch. */
export const keepWork = async ({ project, change, root }: Copied, tip: string): Promise<void> => {
  const folder = workFolder(project, change);
  removeOwn(folder);
  for (const plan of await planningPaths(project, change))
    if (existsSync(join(root, plan))) copy(join(root, plan), join(folder, plan));
  createFolder(copiesFolder(project, change));
  writeOwn(tipFile(project, change), tip);
};

/** Gives a worktree that is created again the copy that the last one had, unless its branch has moved since. */
export const bringWorkBack = async ({ project, change, root }: Copied, tip: string | null): Promise<void> => {
  const plans = await planningPaths(project, change);
  const kept = keptWork(project, change, tip);
  if (kept !== null)
    for (const plan of plans) if (existsSync(join(kept, plan))) copy(join(kept, plan), join(root, plan));
  for (const path of filesAmong(project.root, plans))
    if (!existsSync(join(root, path))) copy(join(project.root, path), join(root, path));
};

/** Where the copy of a worktree that is gone is kept; null when there is none of this commit of its branch. */
export const keptWork = (project: Project, change: string, tip: string | null): string | null => {
  const kept = bytesOf(tipFile(project, change))?.toString();
  return kept !== undefined && kept === tip && existsSync(workFolder(project, change))
    ? workFolder(project, change)
    : null;
};

export const dropCopies = (project: Project, change: string): void => removeOwn(copiesFolder(project, change));

/** The tasks.md of the project and that of a copy in one; null when the person has deleted it. */
export const mergedTasks = async (project: Project, change: string, theirs: Buffer): Promise<string | null> => {
  const file = tasksFile(change);
  const mine = bytesOf(join(project.root, file));
  const merged = await mergeCopies(file, { base: baseOf(project, change, file), mine, theirs });
  const best = merged.kind === 'conflict' ? theirs : merged.bytes;
  return best?.toString() ?? null;
};

const syncOnce = async (copied: Copied): Promise<SyncedOnce> => {
  const { project, change, root } = copied;
  const plans = await planningPaths(project, change);
  // A change that is gone, because another branch is checked out or it was archived, is nothing to take over.
  if (!existsSync(join(project.root, '.spool', 'changes', change))) return nothing;
  const isKnown = existsSync(baseFolder(project, change));
  const paths = new Set([...filesAmong(project.root, plans), ...filesAmong(baseFolder(project, change), ['.spool'])]);
  const [taken, conflicts, settled]: [string[], string[], string[]] = [[], [], []];
  for (const path of paths) {
    const [mine, theirs] = [bytesOf(join(project.root, path)), bytesOf(join(root, path))];
    const base = baseOf(project, change, path);
    const merged = await mergeCopies(path, { base, mine, theirs });
    if (merged.kind === 'conflict' || isBlocked(root, path)) {
      conflicts.push(path);
      continue;
    }
    if (!isSame(merged.bytes, theirs)) {
      put(join(root, path), merged.bytes);
      taken.push(path);
    }
    if (base !== undefined && !isSame(mine, base)) settled.push(path);
    if (isKnown) put(join(baseFolder(project, change), path), mine);
  }
  if (!isKnown) await keepBase(copied);
  return { taken, conflicts, settled };
};

type Bytes = Buffer | null;

/** `base` is undefined when it is not known: then what the agent has stays, with the tasks that the person added. */
interface Versions {
  readonly base: Bytes | undefined;
  readonly mine: Bytes;
  readonly theirs: Bytes;
}

export type Merged = { readonly kind: 'merged'; readonly bytes: Bytes } | { readonly kind: 'conflict' };

/** One file, three ways. */
export const mergeCopies = async (path: string, { base, mine, theirs }: Versions): Promise<Merged> => {
  const isTasks = path.endsWith('/tasks.md');
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

const copiesFolder = (project: Project, change: string) => join(ralphFolder(project, change), 'copies');
const baseFolder = (project: Project, change: string) => join(copiesFolder(project, change), 'base');
const workFolder = (project: Project, change: string) => join(copiesFolder(project, change), 'work');
const tipFile = (project: Project, change: string) => join(copiesFolder(project, change), 'tip');
export const tasksFile = (change: string) => join('.spool', 'changes', change, 'tasks.md');

/** undefined when no version was kept. */
export const baseOf = (project: Project, change: string, path: string): Bytes | undefined =>
  existsSync(baseFolder(project, change)) ? bytesOf(join(baseFolder(project, change), path)) : undefined;

/** Of a regular file; null for anything else, and for nothing. */
export const bytesOf = (path: string): Bytes => (statsOf(path)?.isFile() ? readOwn(path) : null);

/** A folder is where the file should be, or a link where one of its folders should be. */
const isBlocked = (root: string, path: string): boolean => {
  const name = Buffer.from(path).toString('latin1');
  const there = fileAt(root, name);
  return there === null ? existsSync(join(root, path)) : there !== name;
};

const put = (path: string, bytes: Bytes): void => {
  try {
    if (bytes === null) return removeOwn(path);
    createFolder(dirname(path));
    // A link is replaced, not followed.
    if (statsOf(path)?.isSymbolicLink()) removeOwn(path);
    writeOwn(path, bytes);
  } catch (error) {
    throw userError('io', path, systemProblem(error));
  }
};

/** The regular files at and below these paths, relative to the root; links are not followed. */
export const filesAmong = (root: string, paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const stats = statsOf(join(root, path));
    if (stats?.isFile()) return [path];
    if (!stats?.isDirectory()) return [];
    return filesAmong(
      root,
      entriesOf(join(root, path)).map(({ name }) => join(path, name)),
    );
  });

const signatureOf = (root: string, plans: readonly string[]): string =>
  filesAmong(root, plans)
    .map((path) => {
      const { ino = 0, size = 0, mtimeMs = 0 } = statsOf(join(root, path)) ?? {};
      return `${path}\0${ino} ${size} ${mtimeMs}`;
    })
    .join('\0');
